package report

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// ledgerOrder is the order in which the lines of the memory ledger are stacked and listed: what
// an engine takes first, what the kernel can take back and what is free last.
func ledgerOrder() []string {
	return []string{
		metric.LineGPUProcess, metric.LineManaged, metric.LineAnon, metric.LineShmem, metric.LineHugetlb,
		metric.LineKernelStack, metric.LinePageTables, metric.LinePercpu, metric.LineSlabUnreclaimable,
		metric.LineZFSArc, metric.LinePageCache, metric.LineSwapCache, metric.LineSlabReclaimable,
		metric.LineUnattributed, metric.LineFree,
	}
}

// inLedgerOrder sorts lines; one that is not in the vocabulary comes last.
func inLedgerOrder(names map[string]bool) []string {
	order := ledgerOrder()
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.SortFunc(sorted, func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
	return sorted
}

// band is a group of ledger lines that the chart draws as one area: more than nine areas cannot
// be told apart.
type band struct {
	name  string // also the class that colours it
	title string
	lines []string
}

// bands are stacked from the bottom. What no band names is left to the remainder, which is
// drawn apart because it is signed.
func bands() []band {
	return []band{
		{"gpu", "held by GPU processes", []string{metric.LineGPUProcess}},
		{"managed", "managed and other kernel-charged", []string{metric.LineManaged}},
		{"anon", "anonymous", []string{metric.LineAnon}},
		{"shmem", "shared", []string{metric.LineShmem}},
		{"huge", "huge pages reserved", []string{metric.LineHugetlb}},
		{"kernel", "kernel", []string{metric.LineKernelStack, metric.LinePageTables, metric.LinePercpu, metric.LineSlabUnreclaimable}},
		{"cache", "page cache and reclaimable", []string{metric.LinePageCache, metric.LineSwapCache, metric.LineSlabReclaimable, metric.LineZFSArc}},
	}
}
