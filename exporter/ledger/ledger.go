// Package ledger splits the memory of a machine into lines that add up to it. It is arithmetic only: numbers in, lines
// out.
//
// The lines are the memory that the kernel attributes, the memory that only the driver attributes, and a signed
// remainder, unattributed. A line whose input is unknown has no bytes: they are in unattributed then. So the sum is
// exact by construction. Tests must look for a line that does not move when its kind of memory is allocated, or that
// moves with another.
package ledger

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// Amount is a number of bytes, or the reason why it is missing. The zero value is Impossible.
type Amount struct {
	bytes int64
	state state
}

type state int

const (
	impossible state = iota
	unknown
	known
)

// Known is an amount that was read.
func Known(bytes int64) Amount { return Amount{bytes, known} }

// Unknown is an amount that exists but could not be read.
func Unknown() Amount { return Amount{state: unknown} }

// Impossible is an amount of memory of a kind that the machine does not have, such as GPU memory in
// the pool of a machine without such a GPU. It makes no line.
func Impossible() Amount { return Amount{} }

// plus adds amounts that make one line: unknown when one of them is, impossible when all are.
func (a Amount) plus(b Amount) Amount {
	return Amount{a.bytes + b.bytes, mixed(a.state, b.state)}.tidy()
}

// minus subtracts the part of a that another line contains.
func (a Amount) minus(b Amount) Amount {
	if a.state == impossible {
		return a
	}
	return Amount{a.bytes - b.bytes, mixed(a.state, b.state)}.tidy()
}

func mixed(a, b state) state {
	if a == unknown || b == unknown {
		return unknown
	}
	return max(a, b)
}

func (a Amount) tidy() Amount {
	if a.state != known {
		a.bytes = 0
	}
	return a
}

// Input is the input of the lines, in bytes. Fields named as in /proc/meminfo are its fields.
type Input struct {
	// MemTotal is the pool.
	MemTotal int64

	MemFree, AnonPages, Buffers, Cached, Shmem, SwapCached, SReclaimable, SUnreclaim,
	KernelStack, PageTables, SecPageTables, Percpu, Hugetlb Amount

	// GPUProcess is the memory of the pool that processes hold according to the driver.
	GPUProcess Amount
	// Managed is the kernel memory of all cgroups that is of no named kind.
	Managed Amount
	// ZFSArc is the cache of ZFS, which is in no field of meminfo.
	ZFSArc Amount
}

// Line is one line of the ledger.
type Line struct {
	Name string
	// Bytes is signed: unattributed and managed are differences of figures of different moments. It is 0 and has no
	// meaning when the line is not Known.
	Bytes int64
	Known bool
}

// Lines splits the pool, in the order of the vocabulary. Cached contains shared memory, which is a line of its own.
func (in Input) Lines() []Line {
	amounts := []struct {
		name string
		Amount
	}{
		{metric.LineGPUProcess, in.GPUProcess},
		{metric.LineManaged, in.Managed},
		{metric.LineAnon, in.AnonPages},
		{metric.LineShmem, in.Shmem},
		{metric.LineHugetlb, in.Hugetlb},
		{metric.LineKernelStack, in.KernelStack},
		{metric.LinePageTables, in.PageTables.plus(in.SecPageTables)},
		{metric.LinePercpu, in.Percpu},
		{metric.LineSlabUnreclaimable, in.SUnreclaim},
		{metric.LineUnattributed, Known(0)}, // until all others are known
		{metric.LineZFSArc, in.ZFSArc},
		{metric.LineSlabReclaimable, in.SReclaimable},
		{metric.LineSwapCache, in.SwapCached},
		{metric.LinePageCache, in.Buffers.plus(in.Cached).minus(in.Shmem)},
		{metric.LineFree, in.MemFree},
	}
	lines := make([]Line, 0, len(amounts))
	rest, unattributed := in.MemTotal, 0
	for _, amount := range amounts {
		if amount.name == metric.LineUnattributed {
			unattributed = len(lines)
		}
		if amount.state != impossible {
			lines = append(lines, Line{amount.name, amount.bytes, amount.state == known})
			rest -= amount.bytes
		}
	}
	lines[unattributed].Bytes = rest
	return lines
}

// BySize returns the lines with the largest first and the unknown ones last: a table of one moment.
func BySize(lines []Line) []Line {
	return slices.SortedStableFunc(slices.Values(lines), func(a, b Line) int {
		switch {
		case a.Known != b.Known && a.Known:
			return -1
		case a.Known != b.Known:
			return 1
		}
		return cmp.Compare(b.Bytes, a.Bytes)
	})
}
