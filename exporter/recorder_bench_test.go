package exporter

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/recorder"
)

// BenchmarkRecorderSample is the CPU time of what a sample reads each second, of which engines and cgroups are a fifth: they
// are read every five seconds. The driver's own time is not in it.
func BenchmarkRecorderSample(b *testing.B) {
	cpu := func() time.Duration {
		var usage unix.Rusage
		must(b, unix.Getrusage(unix.RUSAGE_SELF, &usage))
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	host := openRecorded(b, "gb10-load")
	e := exporterOf(b, host, Settings{Options: hostOptions("gb10-load")})
	began := cpu()
	for b.Loop() {
		outcomes, err := e.runner.Recent(b.Context(), 0, "memory")
		must(b, err)
		var sample recorder.Sample
		addMemorySample(&sample, outcomes[0])
		addGPUSample(b.Context(), &sample, outcomes[0])
	}
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(b.N), "cpu-µs/op")
}
