package hostfs

import (
	"os"
	"strconv"
	"testing"

	"github.com/prometheus/procfs/sysfs"
)

// The benchmarks read the files of the machine that they run on.

func BenchmarkMeminfo(b *testing.B) {
	proc := Dir{Path: "/proc"}
	for b.Loop() {
		must(b, ReadMeminfo, proc)
	}
}

func BenchmarkDiskstats(b *testing.B) {
	proc := Dir{Path: "/proc"}
	for b.Loop() {
		must(b, ReadDiskstats, proc)
	}
}

func BenchmarkBuddyinfo(b *testing.B) {
	proc := Dir{Path: "/proc"}
	for b.Loop() {
		must(b, ReadBuddyinfo, proc)
	}
}

func BenchmarkProcessStat(b *testing.B) {
	proc, pid := Dir{Path: "/proc"}, uint32(os.Getpid())
	for b.Loop() {
		if _, err := ReadProcessStat(proc, pid); err != nil {
			b.Fatal(err)
		}
	}
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
