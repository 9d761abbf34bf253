package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/umascope/umascope/exporter/kernelfs"
)

// cgroupReading is a cgroup that was there, with what it told.
type cgroupReading struct {
	candidate
	files kernelfs.Cgroup
	stat  kernelfs.MemoryStat
}

// read reads the files of the cgroups. One that is gone is left out. The error is the first one, with
// how many cgroups had one; what else they told is among the readings.
func (c *cgroupCollector) read(ctx context.Context, sample *Sample, chosen []candidate) ([]cgroupReading, error) {
	tops, _ := sample.TopCgroupStats() // one that is not among them is read like the others
	results := make([]cgroupResult, len(chosen))
	inParallel(len(chosen), func(i int) {
		if err := ctx.Err(); err != nil {
			results[i].err = fmt.Errorf("not read in time: %w", err)
			return
		}
		results[i] = readCgroup(c.host.Cgroup, chosen[i], tops)
	})
	readings := make([]cgroupReading, 0, len(chosen))
	var first error
	troubled := 0
	for _, result := range results {
		if result.err != nil {
			first = cmp.Or(first, result.err)
			troubled++
		}
		if result.there {
			readings = append(readings, result.cgroupReading)
		}
	}
	if troubled > 1 {
		first = fmt.Errorf("%w; %d cgroups had trouble", first, troubled)
	}
	return readings, first
}

type cgroupResult struct {
	cgroupReading
	there bool
	err   error
}

// readCgroup reads one cgroup; tops are the memory.stat that have been read already.
func readCgroup(cgroups fs.FS, one candidate, tops map[string]kernelfs.MemoryStat) cgroupResult {
	result := cgroupResult{cgroupReading: cgroupReading{candidate: one}}
	stat, shared := tops[one.path]
	if !shared {
		var err error
		if stat, err = kernelfs.ReadMemoryStat(cgroups, one.path); !kernelfs.IsMissing(err) {
			result.err = err // what is missing is gone, or memory is not controlled in the cgroup
		}
	}
	files, err := kernelfs.ReadCgroup(cgroups, one.path)
	if errors.Is(err, fs.ErrNotExist) {
		return cgroupResult{}
	}
	result.files, result.stat, result.there = files, stat, true
	result.err = errors.Join(result.err, err)
	return result
}

// maxReaders bounds how many cgroups are read at a time. Reading is work of the kernel, not waiting, and
// most of a measured machine belongs to what is measured.
const maxReaders = 4

// inParallel calls do for 0 to n-1, several at a time. It returns when all calls have; a panic of one
// is one of the caller, so that it is contained with the collector.
func inParallel(n int, do func(i int)) {
	var next atomic.Int64
	var failed atomic.Pointer[any]
	work := func() {
		defer func() {
			if cause := recover(); cause != nil {
				failed.CompareAndSwap(nil, &cause)
			}
		}()
		for i := int(next.Add(1)) - 1; i < n && failed.Load() == nil; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var wait sync.WaitGroup
	for range min(n, maxReaders, runtime.GOMAXPROCS(0)) - 1 {
		wait.Go(work)
	}
	work()
	wait.Wait()
	if cause := failed.Load(); cause != nil {
		panic(*cause)
	}
}
