package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestBuffersOfARecordedLog(t *testing.T) {
	log, err := os.ReadFile("testdata/llama-cpp-python-0.3.36-cpu.log")
	if err != nil {
		t.Fatal(err)
	}
	b, err := readBuffers(string(log))
	if err != nil {
		t.Fatal(err)
	}
	for key, mib := range map[string]float64{"CPU_Mapped model": 5.29, "CPU output": 0.01, "CPU KV": 256, "CPU compute": 12.51} {
		if b[key] != mib*mebibyte {
			t.Errorf("%s is %v MiB, in the log %v", key, b[key]/mebibyte, mib)
		}
	}
	if b.of("KV", onCPU) != 256*mebibyte || b.of("KV", onGPU) != 0 {
		t.Errorf("KV of the CPU %v, of GPUs %v", b.of("KV", onCPU), b.of("KV", onGPU))
	}
}

func TestBuffersOfALogWithCUDA(t *testing.T) {
	log, err := os.ReadFile("../../../loadgen/enginelog/testdata/llamacpp-0.5.0-cuda.log")
	if err != nil {
		t.Fatal(err)
	}
	b, err := readBuffers(string(log))
	if err != nil {
		t.Fatal(err)
	}
	for key, mib := range map[string]float64{
		"CUDA0 model": 5410.77, "CPU_Mapped model": 2.26, "CUDA_Host output": 0.01, "CUDA0 KV": 8192, "CUDA0 compute": 1344.01, "CUDA_Host compute": 48.01,
	} {
		if b[key] != mib*mebibyte {
			t.Errorf("%s is %v MiB, in the log %v", key, b[key]/mebibyte, mib)
		}
	}
	if got := b.of("KV", onGPU) + b.of("compute", onGPU); got != 9536.01*mebibyte {
		t.Errorf("%v bytes of KV and compute buffers on the GPU", got)
	}
}

// cudaLog has the lines of llama.cpp's format strings, with the names of its CUDA buffers.
func cudaLog(kv, compute float64) string {
	return fmt.Sprintf(`load_tensors:        CUDA0 model buffer size =  5414.00 MiB
load_tensors:   CPU_Mapped model buffer size =     2.30 MiB
llama_context:  CUDA_Host  output buffer size =     0.01 MiB
llama_kv_cache:      CUDA0 KV buffer size = %8.2f MiB
sched_reserve:      CUDA0 compute buffer size = %8.2f MiB
sched_reserve:  CUDA_Host compute buffer size =   272.00 MiB
`, kv, compute)
}

func TestPinnedBuffersAreNoneOfTheGPU(t *testing.T) {
	b, err := readBuffers(cudaLog(4096, 548) + cudaLog(4096, 548))
	if err != nil || b.of("KV", onGPU)+b.of("compute", onGPU) != 4644*mebibyte {
		t.Errorf("%v, %v", b, err)
	}
}

func TestLogsThatAreRefused(t *testing.T) {
	for what, log := range map[string]string{
		"no buffers, as without -lv 4": "load_model: loading model", "starts that differ": cudaLog(4096, 548) + cudaLog(8192, 548),
		"no compute buffer": "llama_kv_cache: CUDA0 KV buffer size = 1.00 MiB\n",
	} {
		if _, err := readBuffers(log); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

// powerRows are rows of nvidia-smi from a second on, ten a second: instant power as given, and 1 W as the mean.
func powerRows(from time.Time, seconds int, watts func(second float64) float64) string {
	var csv strings.Builder
	for i := range 10*seconds + 1 {
		s := float64(i) / 10
		fmt.Fprintf(&csv, "%s, %.2f, 1.00\n", from.Add(time.Duration(i)*100*time.Millisecond).Format("2006/01/02 15:04:05.000"), watts(s))
	}
	return csv.String() + "2026/11/23 12"
}

func TestEnergyIsTheAreaBelowPower(t *testing.T) {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	samples, err := readPower(powerRows(start, 10, func(s float64) float64 { return 100 + 10*s }))
	if err != nil {
		t.Fatal(err)
	}
	// From 1.25 s to 8.75 s the mean of a line is its middle: 150 W.
	got, err := joules(samples, start.Add(1250*time.Millisecond), start.Add(8750*time.Millisecond), func(s sample) float64 { return s.instant })
	if err != nil || math.Abs(got-150*7.5) > 1e-6 {
		t.Errorf("%v J, %v", got, err)
	}
	for what, window := range map[string][2]time.Duration{"before the samples": {-time.Second, time.Second}, "after them": {9 * time.Second, 11 * time.Second}} {
		if _, err := joules(samples, start.Add(window[0]), start.Add(window[1]), func(s sample) float64 { return s.instant }); err == nil {
			t.Errorf("a window that begins or ends %s is accepted", what)
		}
	}
	gap := append(samples[:20:20], samples[40:]...)
	if _, err := joules(gap, start, start.Add(10*time.Second), func(s sample) float64 { return s.instant }); err == nil {
		t.Error("two seconds without samples are accepted")
	}
}

// measuredWorld are results of a GPU whose arms differ by 4 GiB of KV and 128 MiB of compute buffers.
func measuredWorld(t *testing.T) fstest.MapFS {
	t.Helper()
	world := fstest.MapFS{}
	put := func(name, text string) { world[name] = &fstest.MapFile{Data: []byte(text)} }
	pack := func(name, text string) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write([]byte(text))
		w.Close()
		world[name] = &fstest.MapFile{Data: b.Bytes()}
	}
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	run := func(folder, arm string, held float64) {
		put(folder+"/summary.json", fmt.Sprintf(`{"valid":true,"labels":{"arm":%q},"signals":{"reuse":{"grade":"proven"}},"memory":{"gpu_held_peak_bytes":%.0f},"energy":{"joules":24100}}`, arm, held))
		put(folder+"/manifest.json", `{"started_at":"2026-11-23T12:00:00Z"}`)
		put(folder+"/phases.json", `{"phases":[{"name":"warmup","start_ns":0,"end_ns":2000000000},{"name":"measure","start_ns":2000000000,"end_ns":62000000000}]}`)
		pack(folder+"/snapshots/00-ready-box.prom.gz", "uma_host_info 1\n")
	}
	var slots []string
	for i, arm := range []string{"context-65536", "context-131072", "context-131072", "context-65536"} {
		run(fmt.Sprintf("runs/kv-size/%d", i), arm, map[string]float64{"context-65536": 10.5e9, "context-131072": 10.5e9 + 4230*mebibyte}[arm])
		slots = append(slots, fmt.Sprintf(`{"status":"finished","runs":["aborted","%d"]}`, i))
	}
	put("runs/kv-size/campaign.json", `{"slots":[`+strings.Join(slots, ",")+`]}`)
	put("runs/kv-size/arms/random-llama/context-65536/logs/engine.log", cudaLog(4096, 548))
	put("runs/kv-size/arms/random-llama/context-131072/logs/engine.log", cudaLog(8192, 676))
	run("runs/steady", "default", 15e9)
	run("runs/reuse", "default", 15e9)
	pack("runs/reuse/snapshots/02-reuse_2-llamacpp.prom.gz", "# TYPE x counter\nllamacpp:prompt_tokens_cached_total 100\n")
	pack("runs/reuse/snapshots/04-stop-llamacpp.prom.gz", "llamacpp:prompt_tokens_cached_total 1.0e+03\n")
	put("runs/reuse/requests.jsonl", `{"phase":"reuse_1","tokens_cached":30}
{"phase":"reuse_2","tokens_cached":440}
{"phase":"reuse_3","tokens_cached":460}
`)
	put("host", "box\n")
	put("gpus.csv", "NVIDIA H200, 580\n")
	put("power.csv", powerRows(start, 70, func(float64) float64 { return 400 }))
	put("load.prom", "uma_memory_ledger_bytes{line=\"free\"} 1048576\numa_memory_ledger_bytes{line=\"unattributed\"} 1024\numa_memory_ledger_bytes_other 7\n")
	put("load.meminfo", "MemTotal:        1025 kB\nMemFree: 1024 kB\n")
	put("ready.prom", "uma_gpu_memory_held_bytes{gpu=\"0\"} 1.5728640e+10\n")
	put("ready-processes.csv", "15000\n")
	put("comparison.json", `{"strata":[{"pairs":[{"metrics":[{"name":"gpu_held_peak_bytes","difference":4.4e9,"ratio":1.4,"verdict":"different"},{"name":"requests_per_second","ratio":1.001,"verdict":"equivalent"}]}]}]}`)
	return world
}

func TestResultsWithinTheirBoundsAreProven(t *testing.T) {
	world := measuredWorld(t)
	// The mean of the driver is 1 W in powerRows: give it the instant.
	world["power.csv"].Data = bytes.ReplaceAll(world["power.csv"].Data, []byte(", 1.00\n"), []byte(", 401.00\n"))
	rows, err := judge(world)
	if err != nil {
		t.Fatal(err)
	}
	if code := exitCode(rows); code != 0 {
		t.Errorf("exit code %d:\n%s", code, table(rows))
	}
	if text := table(rows); !strings.Contains(text, "4230.00 MiB") || !strings.Contains(text, "4224.00 MiB") || !strings.Contains(text, "+0.14 %") {
		t.Errorf("the difference of the arms is not in\n%s", text)
	} else if !strings.Contains(text, "  context-65536: all that is held, KV and compute buffers ") {
		t.Errorf("what the row of an arm holds side by side is not in\n%s", text)
	}
}

func TestEachFigureOutOfItsBoundFails(t *testing.T) {
	for what, change := range map[string]struct{ file, old, text string }{
		"difference of the arms":   {"runs/kv-size/arms/random-llama/context-131072/logs/engine.log", "8192.00", "8292.00"},
		"GPU-held, by nvidia-smi":  {"ready-processes.csv", "15000", "15100"},
		"energy":                   {"runs/steady/summary.json", "24100", "25000"},
		"steady run is invalid":    {"runs/steady/summary.json", `"valid":true`, `"valid":false`},
		"ledger":                   {"load.meminfo", "1025", "1026"},
		"unattributed":             {"load.prom", "\"} 1024", "\"} 102400"},
		"evidence":                 {"runs/reuse/summary.json", "proven", "consistent"},
		"cached tokens":            {"runs/reuse/requests.jsonl", "460", "461"},
		"verdict on what differs":  {"comparison.json", `"different"`, `"equivalent"`},
		"no verdict on it":         {"comparison.json", `"different"`, `"difference_only"`},
		"mean power of the driver": {"power.csv", ", 401.00\n", ", 501.00\n"},
	} {
		world := measuredWorld(t)
		world["power.csv"].Data = bytes.ReplaceAll(world["power.csv"].Data, []byte(", 1.00\n"), []byte(", 401.00\n"))
		before := string(world[change.file].Data)
		world[change.file].Data = []byte(strings.ReplaceAll(before, change.old, change.text))
		if before == string(world[change.file].Data) {
			t.Errorf("%s: nothing was changed", what)
		}
		if rows, err := judge(world); err != nil || exitCode(rows) != 1 {
			t.Errorf("%s: %v\n%s", what, err, table(rows))
		}
	}
}

func TestResultsThatAreNotThereAreNoProof(t *testing.T) {
	for name := range measuredWorld(t) {
		world := measuredWorld(t)
		delete(world, name)
		rows, err := judge(world)
		if err == nil && exitCode(rows) == 0 && !strings.Contains(name, "box.prom") {
			t.Errorf("without %s: proven", name)
		}
	}
}

func TestWithoutAGPUNothingIsProvenOfIt(t *testing.T) {
	world := measuredWorld(t)
	world["gpus.csv"].Data = nil
	for i, arm := range []float64{300, 556, 556, 300} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		fmt.Fprintf(w, "uma_process_resident_bytes{comm=\"llama-server\",kind=\"anon\",pid=\"1\"} %.0f\numa_process_resident_bytes{comm=\"llama-server\",kind=\"file\",pid=\"1\"} 7\n", arm*mebibyte)
		w.Close()
		world[fmt.Sprintf("runs/kv-size/%d/snapshots/00-ready-box.prom.gz", i)].Data = b.Bytes()
	}
	for arm, kv := range map[string]float64{"context-65536": 256, "context-131072": 512} {
		world["runs/kv-size/arms/random-llama/"+arm+"/logs/engine.log"].Data = fmt.Appendf(nil, "x: CPU KV buffer size = %.2f MiB\nx: CPU compute buffer size = 9.00 MiB\n", kv)
	}
	rows, err := judge(world)
	if err != nil || exitCode(rows) != 77 {
		t.Errorf("%v\n%s", err, table(rows))
	}
}

func TestTheModelIsAsLongAsItsHeaderHasIt(t *testing.T) {
	path := t.TempDir() + "/m.gguf"
	if err := writeModel(path, sizes{width: 64, layers: 1, feedForward: 96, heads: 2, kvHeads: 1, context: 128}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	weights := 0
	for _, tensor := range (sizes{width: 64, layers: 1, feedForward: 96, heads: 2, kvHeads: 1}).tensors(3 + 256 + 29) {
		weights += tensor.bytes() + padding(tensor.bytes())
	}
	if !bytes.HasPrefix(b, []byte("GGUF\x03\x00\x00\x00")) || len(b)%alignment != 0 || len(b) < weights || len(b) > weights+64<<10 {
		t.Errorf("%d bytes, of which the weights are %d", len(b), weights)
	}
}

func TestHalfPrecision(t *testing.T) {
	for f, want := range map[float64]uint16{1: 0x3c00, -2: 0xc000, 0.02: 0x251e, 0: 0, 1e-9: 0, -1e-9: 0x8000, 65504: 0x7bff} {
		if got := float16(f); got != want {
			t.Errorf("%v is %#x, want %#x", f, got, want)
		}
	}
}
