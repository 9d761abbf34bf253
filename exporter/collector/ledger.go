package collector

import "github.com/umascope/umascope/exporter/ledger"

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

// Lines splits the pool. Cached contains shared memory and MemFree free memory in CMA, which are lines of their own.
func (in LedgerInput) Lines() []ledger.Line {
	var lines []ledger.Line
	for name, amount := range map[string]LedgerAmount{
		ledger.GPUProcess:        in.GPUProcess,
		ledger.Managed:           in.Managed,
		ledger.Anon:              in.AnonPages,
		ledger.Shmem:             in.Shmem,
		ledger.Hugetlb:           in.Hugetlb,
		ledger.KernelStack:       in.KernelStack,
		ledger.PageTables:        in.PageTables.plus(in.SecPageTables),
		ledger.Percpu:            in.Percpu,
		ledger.SlabUnreclaimable: in.SUnreclaim,
		ledger.ZFSArc:            in.ZFSArc,
		ledger.SlabReclaimable:   in.SReclaimable,
		ledger.SwapCache:         in.SwapCached,
		ledger.PageCache:         in.Buffers.plus(in.Cached).minus(in.Shmem),
		ledger.FreeCMA:           in.CmaFree,
		ledger.Free:              in.MemFree.minus(in.CmaFree),
	} {
		if amount.state != impossible {
			lines = append(lines, ledger.Line{Name: name, Bytes: float64(amount.bytes), Unknown: amount.state == unknown})
		}
	}
	return ledger.Split(float64(in.MemTotal), lines)
}
