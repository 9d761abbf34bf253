package hostfs

import (
	"strconv"
	"testing"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"
	"github.com/prometheus/procfs/sysfs"
)

// The benchmarks read the files of the machine that they run on, by us and by procfs in the same run.

func BenchmarkMeminfo(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		proc := Dir{Path: "/proc"}
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
		proc := Dir{Path: "/proc"}
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

func BenchmarkBuddyinfo(b *testing.B) {
	b.Run("ours", func(b *testing.B) {
		proc := Dir{Path: "/proc"}
		for b.Loop() {
			must(b, ReadBuddyinfo, proc)
		}
	})
	b.Run("procfs", func(b *testing.B) {
		proc, err := procfs.NewFS("/proc")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := proc.BuddyInfo(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkNVMeControllers reads the drive of a Spark: the machine that this runs on may have none.
func BenchmarkNVMeControllers(b *testing.B) {
	root := written(b, nvmeClassFiles())
	b.Run("ours", func(b *testing.B) {
		sys := Dir{Path: root}
		for b.Loop() {
			must(b, ReadNVMeControllers, sys)
		}
	})
	b.Run("procfs", func(b *testing.B) {
		sys, err := sysfs.NewFS(root)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := sys.NVMeClass(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkNodes and BenchmarkCacheResident have no comparison: procfs reads neither.
func BenchmarkNodes(b *testing.B) {
	sys := onDisk(b, nodeFiles(map[string]string{"node0": "Node 0 MemTotal: 502431744 kB\n", "node1": sampleNode}))
	for b.Loop() {
		must(b, ReadNodes, sys)
	}
}

// BenchmarkCacheResident looks at a hundred files.
func BenchmarkCacheResident(b *testing.B) {
	contents := map[string]string{}
	for i := range 100 {
		contents["shard"+strconv.Itoa(i)] = "weights"
	}
	root := written(b, contents)
	for b.Loop() {
		if _, err := CacheResident(b.Context(), root); err != nil {
			b.Fatal(err)
		}
	}
}
