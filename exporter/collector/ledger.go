package collector

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// The ledger splits the memory of a machine into lines that add up to it: the memory that the kernel attributes, the
// memory that only the driver attributes, and a signed remainder, unattributed. A line whose input is unknown has no
// bytes: they are in unattributed then. So the sum is exact by construction. Tests must look for a line that does not
// move when its kind of memory is allocated, or that moves with another.

// LedgerAmount is a number of bytes, or the reason why it is missing. The zero value is ImpossibleAmount.
type LedgerAmount struct {
	bytes int64
	state amountState
}

type amountState int

const (
	impossible amountState = iota
	unknown
	known
)

// KnownAmount is an amount that was read.
func KnownAmount(bytes int64) LedgerAmount { return LedgerAmount{bytes, known} }

// UnknownAmount is an amount that exists but could not be read.
func UnknownAmount() LedgerAmount { return LedgerAmount{state: unknown} }

// ImpossibleAmount is an amount of memory of a kind that the machine does not have, such as GPU memory in
// the pool of a machine without such a GPU. It makes no line.
func ImpossibleAmount() LedgerAmount { return LedgerAmount{} }

// plus adds amounts that make one line: unknown when one of them is, impossible when all are.
func (a LedgerAmount) plus(b LedgerAmount) LedgerAmount {
	return LedgerAmount{a.bytes + b.bytes, mixed(a.state, b.state)}.tidy()
}

// minus subtracts the part of a that another line contains.
func (a LedgerAmount) minus(b LedgerAmount) LedgerAmount {
	if a.state == impossible {
		return a
	}
	return LedgerAmount{a.bytes - b.bytes, mixed(a.state, b.state)}.tidy()
}

func mixed(a, b amountState) amountState {
	if a == unknown || b == unknown {
		return unknown
	}
	return max(a, b)
}

func (a LedgerAmount) tidy() LedgerAmount {
	if a.state != known {
		a.bytes = 0
	}
	return a
}

// LedgerInput is the input of the lines, in bytes. Fields named as in /proc/meminfo are its fields.
type LedgerInput struct {
	// MemTotal is the pool.
	MemTotal int64

	MemFree, AnonPages, Buffers, Cached, Shmem, SwapCached, SReclaimable, SUnreclaim,
	KernelStack, PageTables, SecPageTables, Percpu, Hugetlb, CmaFree LedgerAmount

	// GPUProcess is the memory of the pool that processes hold according to the driver.
	GPUProcess LedgerAmount
	// Managed is the kernel memory of all cgroups that is of no named kind.
	Managed LedgerAmount
	// ZFSArc is the cache of ZFS, which is in no field of meminfo.
	ZFSArc LedgerAmount
}

// LedgerLine is one line of the ledger.
type LedgerLine struct {
	Name string
	// Bytes is signed: unattributed and managed are differences of figures of different moments. It is 0 and has no
	// meaning when the line is not Known.
	Bytes int64
	Known bool
}

// Lines splits the pool, in the order of the vocabulary. Cached contains shared memory and MemFree free memory in CMA,
// which are lines of their own.
func (in LedgerInput) Lines() []LedgerLine {
	amounts := []struct {
		name string
		LedgerAmount
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
		{metric.LineUnattributed, KnownAmount(0)}, // until all others are known
		{metric.LineZFSArc, in.ZFSArc},
		{metric.LineSlabReclaimable, in.SReclaimable},
		{metric.LineSwapCache, in.SwapCached},
		{metric.LinePageCache, in.Buffers.plus(in.Cached).minus(in.Shmem)},
		{metric.LineFreeCMA, in.CmaFree},
		{metric.LineFree, in.MemFree.minus(in.CmaFree)},
	}
	lines := make([]LedgerLine, 0, len(amounts))
	rest, unattributed := in.MemTotal, 0
	for _, amount := range amounts {
		if amount.name == metric.LineUnattributed {
			unattributed = len(lines)
		}
		if amount.state != impossible {
			lines = append(lines, LedgerLine{amount.name, amount.bytes, amount.state == known})
			rest -= amount.bytes
		}
	}
	lines[unattributed].Bytes = rest
	return lines
}

// LinesBySize returns the lines with the largest first and the unknown ones last: a table of one moment.
func LinesBySize(lines []LedgerLine) []LedgerLine {
	return slices.SortedStableFunc(slices.Values(lines), func(a, b LedgerLine) int {
		switch {
		case a.Known != b.Known && a.Known:
			return -1
		case a.Known != b.Known:
			return 1
		}
		return cmp.Compare(b.Bytes, a.Bytes)
	})
}
