package exporter

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/cuda"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

// takenForLive is a recorded machine that is taken for this one, with text of its recording replaced.
func takenForLive(t *testing.T, name string, replaced ...string) collector.Host {
	t.Helper()
	text, err := os.ReadFile("hosts/" + name + ".txtar")
	must(t, err)
	changed := strings.NewReplacer(replaced...).Replace(string(text))
	if len(replaced) > 0 && changed == string(text) {
		t.Fatalf("%s has none of %q", name, replaced)
	}
	archive, err := snapshot.Read([]byte(changed))
	must(t, err)
	host, err := collector.ArchivedHost(archive, nvml.ReaderOptions{})
	must(t, err)
	t.Cleanup(host.Close)
	host.Mode = collector.Live
	return host
}

func TestMemoryOfIdleGPUsIsMeasured(t *testing.T) {
	for _, name := range []string{"h200-idle", "gb10-idle"} { // a desktop runs on the second
		if err := bandwidthRefusal(t.Context(), takenForLive(t, name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMemoryIsNotMeasuredBesideAnEngine(t *testing.T) {
	for _, c := range []struct {
		host     string
		replaced []string
		says     string
	}{
		{"h200-llamacpp", nil, "GPU 0 (NVIDIA H200): process 4824 (llama-server) holds 15.3 GiB of GPU memory: stop it first, since one would slow the other"},
		{"gb10-load", nil, "GPU 0 (NVIDIA GB10): process 6330 (VLLM::EngineCor) holds 93.8 GiB of GPU memory: stop it first, since one would slow the other"},
		{"gb10-idle", []string{`"used_bytes":45088768`, `"used_bytes":945088768`}, "GPU 0 (NVIDIA GB10): process 3150 (Xorg) holds 0.9 GiB of GPU memory: stop it first, since one would slow the other"},
		{"gb10-idle", []string{`RunningProcesses","return":0,"value":{"processes":[]}`, `RunningProcesses","return":0,"value":{"processes":[{"pid":9}]}`},
			"GPU 0 (NVIDIA GB10): process 9 (of unknown name) holds GPU memory: stop it first, since one would slow the other"},
		{"gb10-idle", []string{"MemAvailable:   118566368 kB", "MemAvailable:     1048576 kB"}, "GPU 0 (NVIDIA GB10): 1 GiB can be allocated of the pool, less than 2 GiB"},
		{"gb10-idle", []string{"pid:[4026531836]", "pid:[4026532455]"}, "processes of other PID namespaces are not seen here, so an engine may be running: measure on the host, or in a container with its PID namespace (docker run --pid=host)"},
		{"h200-idle", []string{`"free":150109880320`, `"free":536870912`}, "GPU 0 (NVIDIA H200): 512 MiB is free, less than 2 GiB"},
		{"h200-idle", []string{`"nvmlDeviceGetMigMode","return":0,"value":{}`, `"nvmlDeviceGetMigMode","return":0,"value":{"number":1}`}, "GPU 0 (NVIDIA H200): it is partitioned (MIG), and a part has a share of the bandwidth"},
		{"no-gpu", nil, "no GPU driver: "},
	} {
		err := bandwidthRefusal(t.Context(), takenForLive(t, c.host, c.replaced...))
		if err == nil || !strings.HasPrefix(err.Error(), c.says) || c.host != "no-gpu" && err.Error() != c.says {
			t.Errorf("%s, %q: %v", c.host, c.replaced, err)
		}
	}
}

func TestDoctorRefusesABandwidthThatItCannotMeasure(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--replay=hosts/h200-idle.txtar"}, "--memory-bandwidth: memory is measured on a machine, not in a recording"},
		{[]string{"--link=127.0.0.1"}, "--memory-bandwidth: not together with --link or --link-listen: one measurement at a time"},
	} {
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), append([]string{"doctor", "--memory-bandwidth"}, c.args...), &stdout, &stderr)
		if code != exitInput || stdout.Len() > 0 || stderr.String() != "uma-exporter: "+c.says+"\n" {
			t.Errorf("%q: exit %d: %s%s", c.args, code, stdout.String(), stderr.String())
		}
	}
}

func TestMeasuredMemoryIsComparedWithItsMakersFigure(t *testing.T) {
	const copied = float64(cuda.BufferBytes) * cuda.Copies
	var out bytes.Buffer
	must(t, printBandwidth(&out, []cuda.Device{
		{Name: "NVIDIA H200", Seconds: []float64{copied / 4.0e12, copied / 4.2e12, copied / 4.1e12}},
		{Name: "NVIDIA GeForce\x1b[2J", Seconds: []float64{copied / 900e9}},
	}))
	const want = `NVIDIA H200, CUDA device 0
  measured   4200 GB/s at best, 4100 in the median of 3 measures; each is 10 copies of 128 MiB, bytes read and written
  published  4800 GB/s by NVIDIA; measured is 88 % of it
  limit      uma-load report RUN --memory-bandwidth=4200
  note       half of the bytes are writes; what only reads, as decoding mostly does, may be a tenth faster
NVIDIA GeForce, CUDA device 1
  measured   900 GB/s at best, 900 in the median of 1 measures; each is 10 copies of 128 MiB, bytes read and written
  published  not known here
  limit      uma-load report RUN --memory-bandwidth=900
  note       half of the bytes are writes; what only reads, as decoding mostly does, may be a tenth faster
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
	if err := printBandwidth(&out, []cuda.Device{{Name: "NVIDIA H200", Seconds: []float64{0}}}); err == nil {
		t.Error("a clock that stands still gives a bandwidth")
	}
}
