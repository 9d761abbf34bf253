package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync/atomic"

	"github.com/umascope/umascope/exporter/hostfs"
)

// cgroupReading is what was read of one cgroup.
type cgroupReading struct {
	candidate
	at    int // in the order of the tree
	there bool
	files hostfs.Cgroup
	stat  hostfs.MemoryStat
	err   error
}

// read reads the files of the cgroups and hands over each cgroup that exists, in any order, while it reads the others.
// The error is that of the first cgroup that failed, with the number of failures; what was read of those is handed over
// too.
func (c *cgroupCollector) read(ctx context.Context, sample *Sample, chosen []candidate, take func(cgroupReading)) error {
	tops, _ := sample.TopCgroupStats() // a cgroup that is not in the map is read like the others
	first := cgroupReading{at: len(chosen)}
	troubled := 0
	inParallel(len(chosen), func(i int) cgroupReading {
		if err := ctx.Err(); err != nil {
			return cgroupReading{at: i, err: fmt.Errorf("not read in time: %w", err)}
		}
		reading := readCgroup(c.host.Cgroup, chosen[i], tops)
		reading.at = i
		return reading
	}, func(reading cgroupReading) {
		if reading.err != nil {
			troubled++
			if reading.at < first.at {
				first = reading
			}
		}
		if reading.there {
			take(reading)
		}
	})
	if troubled > 1 {
		return fmt.Errorf("%w; %d cgroups had trouble", first.err, troubled)
	}
	return first.err
}

// readCgroup reads one cgroup; tops are the memory.stat that have been read already.
func readCgroup(cgroups hostfs.Dir, one candidate, tops map[string]hostfs.MemoryStat) cgroupReading {
	inode := hostfs.CgroupInode(cgroups, one.path)
	stat, shared := tops[one.path]
	var statErr error
	if !shared {
		// A missing file means that the cgroup is gone or that its memory is not controlled.
		if stat, statErr = hostfs.ReadMemoryStat(cgroups, one.path); hostfs.IsMissing(statErr) {
			statErr = nil
		}
	}
	files, err := hostfs.ReadCgroup(cgroups, one.path)
	if errors.Is(err, fs.ErrNotExist) || hostfs.CgroupInode(cgroups, one.path) != inode {
		return cgroupReading{} // gone, or another cgroup has its path now
	}
	return cgroupReading{candidate: one, there: true, files: files, stat: stat, err: errors.Join(statErr, err)}
}

// maxReaders is the maximum number of cgroups read at a time. Reading is work of the kernel, not waiting, and most of
// the CPU time belongs to the load that is measured.
const maxReaders = 4

// inParallel calls do for 0 to n-1, several at a time, and take with each result, one at a time and in any order. A
// panic of do becomes a panic of the caller, so that it is contained with the collector.
func inParallel[T any](n int, do func(i int) T, take func(T)) {
	type result struct {
		value    T
		panicked any
	}
	readers := min(n, maxReaders, runtime.GOMAXPROCS(0))
	results := make(chan result, n+readers) // buffered, so that no reader blocks if the receiver has left
	var next atomic.Int64
	work := func() {
		defer func() {
			if cause := recover(); cause != nil {
				next.Store(int64(n)) // stop the other readers
				results <- result{panicked: cause}
			}
		}()
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			results <- result{value: do(i)}
		}
	}
	for range readers {
		go work()
	}
	for range n {
		one := <-results
		if one.panicked != nil {
			panic(one.panicked)
		}
		take(one.value)
	}
}
