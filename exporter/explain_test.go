package exporter

import (
	"bytes"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// hostile is what a process can call itself.
const hostile = "\x1b[2J<script>|"

// integratedRecording is what the driver of integratedHost answers.
const integratedRecording = `{"format":"umascope nvml recording","version":1,"driver_version":"580.95.05"}
{"device":-1,"call":"nvmlInit_v2","return":0}
{"device":-1,"call":"nvmlDeviceGetCount_v2","return":0,"value":{"number":1}}
{"device":0,"call":"nvmlDeviceGetUUID","return":0,"value":{"text":"GPU-1"}}
{"device":0,"call":"nvmlDeviceGetName","return":0,"value":{"text":"NVIDIA GB10"}}
{"device":0,"call":"nvmlDeviceGetMemoryInfo_v2","return":3}
{"device":0,"call":"nvmlDeviceGetComputeRunningProcesses","return":0,"value":{"processes":[{"pid":7,"used_bytes":42949672960}]}}
{"device":0,"call":"nvmlDeviceGetTemperature","return":0,"value":{"number":60}}
{"device":0,"call":"nvmlDeviceGetPowerUsage","return":0,"value":{"number":50000}}
{"device":0,"call":"nvmlDeviceGetClockInfo_SM","return":0,"value":{"number":2000}}
`

// integratedHost is a small machine of 100 GiB whose GPU memory is in the pool: 20 GiB are free,
// 30 GiB cache, 40 GiB held by process 7 in /box, whose cgroup is charged 1 GiB.
func integratedHost(t *testing.T, comm string) collector.Host {
	t.Helper()
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	driver, err := nvml.Replay(strings.NewReader(integratedRecording))
	must(t, err)
	reader := nvml.NewReader(driver, nvml.ReaderOptions{})
	t.Cleanup(reader.Close)
	return collector.Host{
		Proc: onDisk(t, fstest.MapFS{
			"meminfo": text("MemTotal: 104857600 kB\nMemFree: 20971520 kB\nMemAvailable: 50331648 kB\n" +
				"Buffers: 0 kB\nCached: 31457280 kB\nSwapCached: 0 kB\nAnonPages: 5242880 kB\nShmem: 0 kB\nSReclaimable: 0 kB\n" +
				"SUnreclaim: 0 kB\nKernelStack: 0 kB\nPageTables: 0 kB\nPercpu: 0 kB\n"),
			"self/ns/pid": {Data: []byte("pid:[4026531836]"), Mode: fs.ModeSymlink},
			"7/comm":      text(comm + "\n"),
			"7/cgroup":    text("0::/box\n"),
		}),
		Sys: onDisk(t, nil),
		Cgroup: onDisk(t, fstest.MapFS{
			"cgroup.controllers": text("memory\n"),
			"box/memory.stat":    text("kernel 0\nslab 0\n"),
			"box/memory.current": text("1073741824\n"),
		}),
		GPU: reader, Mode: collector.Simulated, Now: time.Now,
	}
}

func explained(t *testing.T, host collector.Host) string {
	t.Helper()
	e := exporterOf(t, host, Settings{})
	var out bytes.Buffer
	must(t, e.Explain(t.Context(), &out))
	return out.String()
}

func TestExplainShowsWhereTheMemoryIs(t *testing.T) {
	text := explained(t, integratedHost(t, "VLLM::EngineCor"))
	wantIn(t, text,
		"SIMULATED: 80.0 of 100.0 GiB occupied: vLLM 40.0, page cache 30.0, anonymous 5.0, unattributed 5.0; CUDA reports 20.0 GiB free; up to 48.0 GiB if page cache is given up (not tried on a GB10); fit grants 42.0, since machines were seen to die below 7 of 119 GiB.\nmode SIMULATED",
		"GPU 0: NVIDIA GB10, memory integrated: it comes out of the pool",
		"Memory pool  100.00 GiB",
		"  free                     20.00    20.0%  ███████\n",
		"  page cache               30.00    30.0%  ███████████\n",
		"  GPU-held                 40.00    40.0%  ██████████████\n",
		"  unattributed              5.00     5.0%  ██\n", // 100 - 20 - 30 - 5 anonymous - 40
		"      40.00    0         7  VLLM::EngineCor  /box\n",
		"       1.00     40.00  /box\n",
		"charged to none, so no limit stops it",
		"\nWhat CUDA reports, and what can be allocated, GiB\n      20.00  CUDA reports free (MemFree: page cache does not count)\n      48.00  up to this if page cache is given up (MemAvailable; not tried on a GB10)\n",
		"\n      -6.00  reserve: below it alert MemoryAvailableLow can fire (8 GiB or 6 % of the pool, whichever is less)\n             floor: a Spark died with about 7 of 119 GiB available (https://github.com/vllm-project/vllm/issues/46307)\n      42.00  fit grants,",
		"\n  Engines that size their KV cache by what CUDA reports as free: TensorRT-LLM of November 2026. By other figures: vLLM 0.32.0, ",
	)
}

func TestExplainListsWhatIsNotKnown(t *testing.T) {
	host := integratedHost(t, "x")
	host.Cgroup = onDisk(t, nil)
	remove(t, host.Proc, "self/ns/pid")
	text := explained(t, host)
	wantIn(t, text,
		"other kernel-charged   unknown\n", "GPU-held               unknown",
		"line other kernel-charged is not known, its bytes are in unattributed: not the host's cgroup v2 tree",
		"Collector gpu lacks host_pid_namespace", "none in it does not mean an idle GPU",
	)
}

func TestExplainOfAMachineWithNothingToReadShowsWhy(t *testing.T) {
	host := integratedHost(t, "x")
	host.Proc, host.Cgroup, host.Sys = onDisk(t, nil), onDisk(t, nil), onDisk(t, nil)
	if text := explained(t, host); !strings.Contains(text, "Collector memory is failed") || strings.Contains(text, "Memory pool") {
		t.Errorf("explain says:\n%s", text)
	}
}

func TestForeignNamesCannotCommandTheTerminal(t *testing.T) {
	host := integratedHost(t, hostile)
	text := explained(t, host)
	if !strings.Contains(text, "<script>|") {
		t.Errorf("the name is lost:\n%s", text)
	}
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }) {
		t.Errorf("control characters are printed: %q", text)
	}
}

func TestLandingPageShowsStatesLedgerAndWhatIsMissing(t *testing.T) {
	host := integratedHost(t, hostile)
	e := exporterOf(t, host, Settings{})
	response := get(t, e.Handler(), "/")
	page := body(t, response)
	wantIn(t, page,
		"<strong>SIMULATED: 80.0 of 100.0 GiB occupied", `role="alert">mode SIMULATED`, `class="absent">absent`, "no NVMe drive",
		"Memory pool: 100.00 GiB", ">gpu_process<", ">40.00<", "/box", ">1.00<", "charged to none", `href="/metrics"`, "&lt;script&gt;|", "<td class=\"n\">20.00</td><td>CUDA reports free (MemFree", "<td class=\"n\">42.00</td><td>fit grants,",
	)
	if strings.Contains(page, "<script>") || strings.ContainsRune(page, '\x1b') {
		t.Error("a process name is on the page as it is")
	}
	if got := response.Header.Get("Content-Security-Policy"); response.StatusCode != http.StatusOK || !strings.Contains(got, "default-src 'none'") {
		t.Errorf("%s, policy %q", response.Status, got)
	}
	if status := get(t, e.Handler(), "/nosuch").StatusCode; status != http.StatusNotFound {
		t.Errorf("unknown page: %d", status)
	}
}

func TestDoctorShowsWhatIsLackingAndHowToFixIt(t *testing.T) {
	host := integratedHost(t, "x")
	remove(t, host.Proc, "self/ns/pid")
	e := exporterOf(t, host, Settings{})
	var out bytes.Buffer
	must(t, e.Doctor(t.Context(), &out))
	wantIn(t, out.String(), "cgo", "mode SIMULATED", "memory   ok", "nvme     absent", "why    no NVMe drive", "lacks  host_pid_namespace", "costs  its ", " metrics are not on the page", "fix    ")
}

// TestDoctorCountsWhatItDoesNotReadOfAnEngine reads the pages of the machine engines.
func TestDoctorCountsWhatItDoesNotReadOfAnEngine(t *testing.T) {
	var out bytes.Buffer
	must(t, openHostNamed(t, "engines").Doctor(t.Context(), &out))
	wantIn(t, out.String(),
		"reads  127.0.0.1:30000/metrics: sglang, 20 of its 21 metrics; 1 are not read\n",
		"reads  127.0.0.1:8000/prometheus/metrics: trtllm 1.2.0, 16 of its 18 metrics; 2 are not read\n",
	)
}

// TestExplainOfAProcessThatMayBeAnEngine reads a machine on which a process holds GPU memory, without a source.
func TestExplainOfAProcessThatMayBeAnEngine(t *testing.T) {
	var out bytes.Buffer
	must(t, openHostNamed(t, "h200-load").Explain(t.Context(), &out))
	const want = "Collector engine is absent: no page is read: neither --engine.url nor --targets.file names engines. " +
		"Fix: python3 (pid 432) holds 61.85 GiB of GPU memory: if it is an engine, give its page, such as --engine.url=http://127.0.0.1:8000/metrics.\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("explain lacks %q:\n%s", want, out.String())
	}
}

// TestExplainOfARecordedEngine has figures that stand in the recording, in other units: 16466837504 bytes that llama.cpp holds of the
// GPU, 9448615936 that are charged to its scope, 133633802240 free on the device and 114695180 kB in the pool.
func TestExplainOfARecordedEngine(t *testing.T) {
	var out bytes.Buffer
	must(t, openHostNamed(t, "h200-llamacpp").Explain(t.Context(), &out))
	wantIn(t, out.String(),
		"      15.34    0      4824  llama-server     /inference.slice/engine.scope\n",
		"       8.80     15.34  /inference.slice/engine.scope\n",
		"GPU 0: 124.46 of 139.80 GiB free", "  free                    109.38    86.9%",
	)
}

// TestExplainCountsWhatCUDACounts reads an idle H200, whose driver keeps 615 MiB of its 143771 MiB: of the same machine
// llama.cpp's log has "CUDA0 : NVIDIA H200 (143155 MiB, 142629 MiB free)", which is cudaMemGetInfo after its own first call.
func TestExplainCountsWhatCUDACounts(t *testing.T) {
	var out bytes.Buffer
	must(t, openHostNamed(t, "h200-idle").Explain(t.Context(), &out))
	const want = "GPU 0: 139.80 of 139.80 GiB free" // 143155 / 1024
	if !strings.Contains(out.String(), want) {
		t.Errorf("explain lacks %q:\n%s", want, out.String())
	}
}

func TestDoctorAsksNothingForAGPUThatIsNotThere(t *testing.T) {
	host := integratedHost(t, "x")
	remove(t, host.Proc, "self/ns/pid")
	host.GPU = nvml.NewReader(noLibrary{}, nvml.ReaderOptions{})
	e := exporterOf(t, host, Settings{})
	var out bytes.Buffer
	must(t, e.Doctor(t.Context(), &out))
	if strings.Contains(out.String(), "lacks  host_pid_namespace") || !strings.Contains(out.String(), "gpu      absent") {
		t.Errorf("doctor says\n%s", out.String())
	}
}

// noLibrary is the driver of a machine without one.
type noLibrary struct{ nvml.Driver }

func (noLibrary) Init() nvml.Return { return nvml.LibraryNotFound }

func TestWhatCUDAReportsDependsOnWhereTheMemoryIs(t *testing.T) {
	const gibibyte = 1 << 30
	own := func(gib float64) *float64 { bytes := gib * gibibyte; return &bytes }
	board := nvml.Device{Index: 1, MemoryFreeBytes: own(100), MemoryTotalBytes: own(141)}
	usual := hostfs.Meminfo{"MemTotal": 120 * gibibyte, "MemFree": 10 * gibibyte, "MemAvailable": 30 * gibibyte}
	tests := []struct {
		name    string
		where   nvml.Architecture
		meminfo hostfs.Meminfo
		devices []nvml.Device
		says    string
	}{
		{"integrated", nvml.Integrated, usual, nil, "CUDA reports 10.0 GiB free; up to 30.0 GiB if page cache is given up (not tried on a GB10); fit grants 22.8,"},
		{"reserve", nvml.Integrated, hostfs.Meminfo{"MemTotal": 120 * gibibyte, "MemFree": 3 * gibibyte, "MemAvailable": 2 * gibibyte}, nil, "the kernel keeps 1.0 in reserve"},
		{"CMA", nvml.Integrated, hostfs.Meminfo{"MemTotal": 120 * gibibyte, "MemFree": 20 * gibibyte, "MemAvailable": 40 * gibibyte, "CmaFree": 9 * gibibyte}, nil, "20.0 GiB free, 9.0 of it in CMA, which a driver cannot pin; up to 31.0 GiB"},
		{"discrete with CMA", nvml.Discrete, hostfs.Meminfo{"MemFree": 20 * gibibyte, "MemAvailable": 40 * gibibyte, "CmaFree": 9 * gibibyte}, []nvml.Device{board}, "the 40.00 GiB available are of the pool, which is another memory"},
		{"fields missing", nvml.Integrated, hostfs.Meminfo{}, nil, "Not known: the kernel"},
		{"discrete", nvml.Discrete, usual, []nvml.Device{board}, "GPU 1: 100.00 of 141.00 GiB free; the 30.00 GiB available are of the pool, which is another memory"},
		{"coherent", nvml.CoherentNUMA, usual, []nvml.Device{board}, "of the whole pool, which contains it"},
		{"unknown", nvml.ArchitectureUnset, usual, nil, "could not be told"},
		{"none", "", usual, nil, "No GPU"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var x explanation
			for _, device := range test.devices {
				x.GPUs = append(x.GPUs, memoryOf(device))
			}
			if got := x.cudaSentence(collector.MemoryReading{Meminfo: test.meminfo, Architecture: test.where}); !strings.Contains(got, test.says) {
				t.Errorf("says %q, want %q in it", got, test.says)
			}
		})
	}
	var foreign explanation
	if got := foreign.cudaSentence(collector.MemoryReading{Meminfo: usual, ForeignGPU: true}); !strings.Contains(got, "another machine's") {
		t.Errorf("of a machine whose own GPUs were not asked it says %q", got)
	}
}

func TestACommandThatReadsARecordingLeavesNoFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, verb := range []string{"explain", "fit", "doctor", "--once"} {
		if code := Run(t.Context(), []string{verb, "--replay=hosts/no-gpu.txtar"}, io.Discard, io.Discard); code != 0 {
			t.Errorf("%s: exit %d", verb, code)
		}
		left, err := os.ReadDir(os.TempDir())
		if err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v: %v", verb, left, err)
		}
	}
}
