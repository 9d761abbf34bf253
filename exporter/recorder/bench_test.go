package recorder

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/ledger"
)

func cpu() time.Duration {
	var usage unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkAppend is what a record of usual size costs each second: wall time with the wait for the disk, and CPU time.
func BenchmarkAppend(b *testing.B) {
	ring, _, err := Open(b.TempDir(), "a")
	if err != nil {
		b.Fatal(err)
	}
	defer ring.Close()
	bytes := uint64(90 << 30)
	ratio := 0.97
	s := Sample{Memory: &Memory{Pool: bytes, Free: &bytes, Available: &bytes, Lines: ledger.Ledger{}}, Pressure: map[string]Pressure{"memory": {&ratio, &ratio}, "io": {&ratio, &ratio}, "cpu": {Some: &ratio}},
		Holders: []Holder{{1, "vllm", 0, &bytes}}, GPUs: []GPU{{Utilization: &ratio, ClockHertz: &ratio, Watts: &ratio, Celsius: &ratio, HeldBytes: &bytes}},
		Engines: []Engine{{"127.0.0.1:8000/metrics", "qwen", &ratio}}, Groups: []Group{{"/system.slice/docker-0123456789abcdef.scope", bytes}}}
	for _, line := range []string{"gpu_process", "managed", "anon", "shmem", "hugetlb", "kernel_stack", "page_tables", "percpu", "slab_unreclaimable", "unattributed", "slab_reclaimable", "swap_cache", "page_cache", "free"} {
		s.Memory.Lines[line] = 12345678901
	}
	written := 0
	began := cpu()
	for b.Loop() {
		n, err := ring.Append(Record{Boot: "3b2a4a4e-7a5e-4d6f-9d7e-6d1f0d3c7a11", PID: 7, Sample: &s})
		if err != nil {
			b.Fatal(err)
		}
		written += n
	}
	b.ReportMetric(float64((cpu()-began).Microseconds())/float64(b.N), "cpu-µs/op")
	b.ReportMetric(float64(written)/float64(b.N), "B-written/op")
}

// BenchmarkRead is what explain --last-boot, and a start, read: a ring that is full.
func BenchmarkRead(b *testing.B) {
	folder := filled(b, 1000)
	for b.Loop() {
		if _, err := Read(folder); err != nil {
			b.Fatal(err)
		}
	}
}
