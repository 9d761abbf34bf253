package kernelfs

import (
	"testing"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
)

// The benchmarks read the files of the machine that they run on, by us and by procfs in the same run.

func BenchmarkMeminfo(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		proc := Dir("/proc")
		for b.Loop() {
			must(b, ReadMeminfo, proc)
		}
	})
	b.Run("procfs", func(b *testing.B) {
		proc, err := procfs.NewFS("/proc")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := proc.Meminfo(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDiskstats(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		proc := Dir("/proc")
		for b.Loop() {
			must(b, ReadDiskstats, proc)
		}
	})
	b.Run("procfs", func(b *testing.B) {
		devices, err := blockdevice.NewFS("/proc", "/sys")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := devices.ProcDiskstats(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
