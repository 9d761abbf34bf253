package collector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/hostfs"
)

// list chooses the processes to show: those that hold GPU memory, largest holder first, then those whose name matches,
// by resident memory, up to the limit in all. On an error it returns the processes that could be listed too.
func (c *processCollector) list(ctx context.Context, sample *Sample) ([]uint32, error) {
	holders, err := c.holders(ctx, sample)
	if c.options.Processes.Match == nil {
		return c.limited(holders), err
	}
	if errors.Is(err, ErrAbsent) {
		err = nil // processes that match may still exist
	}
	if len(holders) >= c.options.ProcessLimit {
		return c.limited(holders), err
	}
	matching, matchErr := c.matching(ctx, holders)
	return c.limited(append(holders, matching...)), errors.Join(err, matchErr)
}

func (c *processCollector) limited(pids []uint32) []uint32 {
	return pids[:min(len(pids), max(c.options.ProcessLimit, 0))]
}

// holders lists the processes that hold memory of any GPU.
func (c *processCollector) holders(ctx context.Context, sample *Sample) ([]uint32, error) {
	if c.host.ForeignGPU {
		return nil, fmt.Errorf("%w: the GPU is another machine's, and --process is not given", ErrAbsent)
	}
	reading, err := sample.Memory(ctx)
	if err != nil {
		return nil, err
	}
	if reading.Architecture == "" {
		return nil, fmt.Errorf("%w: no GPU, and --process is not given", ErrAbsent)
	}
	var pids []uint32
	for _, holder := range reading.Processes {
		if !slices.Contains(pids, holder.PID) {
			pids = append(pids, holder.PID)
		}
	}
	return pids, sample.gpuProcessesKnown(ctx)
}

// matching lists further processes with a matching name, the one with most resident memory first.
func (c *processCollector) matching(ctx context.Context, listed []uint32) ([]uint32, error) {
	all, err := hostfs.ListProcesses(c.host.Proc)
	errs := []error{err}
	var found []sized
	for _, pid := range all {
		if err := ctx.Err(); err != nil {
			errs = append(errs, fmt.Errorf("looking for processes by name: %w", err))
			break
		}
		comm, err := hostfs.Comm(c.host.Proc, pid)
		if err != nil || !c.options.Processes.Match.MatchString(comm) || slices.Contains(listed, pid) {
			continue // it has ended, or does not match
		}
		status, err := hostfs.ReadProcessStatus(c.host.Proc, pid)
		if err == nil {
			found = append(found, sized{pid, residentBytes(status)})
		} else if err = unlessHidden(err); len(errs) < maxProblems {
			errs = append(errs, err)
		}
	}
	slices.SortFunc(found, func(a, b sized) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.pid, b.pid)) })
	var pids []uint32
	for _, p := range found {
		pids = append(pids, p.pid)
	}
	return pids, errors.Join(errs...)
}

// sized is a process with its resident memory.
type sized struct {
	pid   uint32
	bytes uint64
}

func residentBytes(status hostfs.ProcessStatus) uint64 {
	var sum uint64
	for _, kind := range residentKinds(status) {
		if kind.bytes != nil {
			sum += *kind.bytes
		}
	}
	return sum
}

func pidLabel(pid uint32) string { return strconv.FormatUint(uint64(pid), 10) }
