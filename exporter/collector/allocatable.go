package collector

import (
	"fmt"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

// Allocatable is what can be allocated of a pool from which a GPU allocates, in bytes. Three figures are told apart: what
// CUDA reports as free, what an allocation can get, and what fit grants to an engine.
type Allocatable struct {
	Pool int64 `json:"pool_bytes"`
	// CUDAFree is MemFree. cudaMemGetInfo reports it as free.
	CUDAFree int64 `json:"cuda_free_bytes"`
	// FreeCMA is the part of CUDAFree that is in CMA: a driver cannot pin it.
	FreeCMA int64 `json:"free_cma_bytes"`
	// UpTo is what an allocation can get if the kernel gives up page cache: MemAvailable without FreeCMA. No GB10 was
	// tried.
	UpTo int64 `json:"up_to_bytes"`
	// Reserve stays with the system and with other programs.
	Reserve int64 `json:"reserve_bytes"`
}

// NewAllocatable returns the figures of a pool with the default reserve: the floor at which MemoryAvailableLow warns.
// memFree and available are MemFree and MemAvailable, freeCMA is CmaFree, in bytes.
func NewAllocatable(pool, memFree, freeCMA, available int64) Allocatable {
	freeCMA = max(0, min(freeCMA, memFree))
	return Allocatable{
		Pool: pool, CUDAFree: memFree, FreeCMA: freeCMA, UpTo: max(0, min(pool, available)-freeCMA),
		Reserve: metric.AlertThresholds().AvailableWarning.Of(pool),
	}
}

// Granted is what fit grants to one engine.
func (a Allocatable) Granted() int64 { return max(0, a.UpTo-a.Reserve) }

// Sentence returns the three figures in GiB, without an end: CUDA reports 1.3 GiB free; up to 30.5 GiB if page cache is
// given up (not tried on a GB10); fit grants 23.2, since machines were seen to die below 7 of 119 GiB.
func (a Allocatable) Sentence() string {
	free, upTo, cma := ledger.InTenths(a.CUDAFree), ledger.InTenths(a.UpTo), ledger.InTenths(a.FreeCMA)
	text := fmt.Sprintf("CUDA reports %s GiB free", free)
	if cma > 0 {
		text += fmt.Sprintf(", %s of it in CMA, which a driver cannot pin", cma)
	}
	note := "not tried on a GB10"
	if kept := free - cma - upTo; kept > 0 {
		note += fmt.Sprintf("; the kernel keeps %s in reserve", kept)
	}
	died := metric.AlertThresholds().Died
	why := "since"
	if a.Reserve < died.Of(a.Pool) {
		why = "though"
	}
	return fmt.Sprintf("%s; up to %s GiB if page cache is given up (%s); fit grants %s, %s machines were seen to die below %s",
		text, upTo, note, ledger.InTenths(a.Granted()), why, died)
}

// Between returns what is between what can be allocated and what fit grants: the reserve, and the floor with its source. It
// is empty for nil.
func (a *Allocatable) Between() string {
	if a == nil {
		return ""
	}
	t := metric.AlertThresholds()
	return fmt.Sprintf("Reserve: %s GiB (%s, where alert MemoryAvailableLow begins). Floor: a Spark died with about %s available (%s).",
		ledger.InTenths(a.Reserve), t.AvailableWarning, t.Died, t.Died.Source)
}
