package report

import "github.com/umascope/umascope/exporter/metric"

// band is a group of ledger lines that the chart draws as one area: more than nine areas cannot
// be told apart.
type band struct {
	name  string // also the class of its colour
	title string
	lines []string
	below string // why it is negative, for the band that may be
}

// bands are stacked from the bottom, in the order of the vocabulary. The remainder, unattributed, is signed.
func bands() []band {
	return []band{
		{"gpu", "held by GPU processes", []string{metric.LineGPUProcess}, ""},
		{"managed", "managed and other kernel-charged", []string{metric.LineManaged}, ""},
		{"anon", "anonymous", []string{metric.LineAnon}, ""},
		{"shmem", "shared", []string{metric.LineShmem}, ""},
		{"huge", "huge pages reserved", []string{metric.LineHugetlb}, ""},
		{"kernel", "kernel", []string{metric.LineKernelStack, metric.LinePageTables, metric.LinePercpu, metric.LineSlabUnreclaimable}, ""},
		{"rest", "unattributed", []string{metric.LineUnattributed}, "lines count some bytes twice"},
		{"cache", "page cache and reclaimable", []string{metric.LineZFSArc, metric.LineSlabReclaimable, metric.LineSwapCache, metric.LinePageCache}, ""},
		{"free", "free", []string{metric.LineFree}, ""},
	}
}

// heldBands returns the memory that processes hold of each GPU, the rest of the occupied memory, and free memory.
// Colours repeat for many GPUs.
func heldBands(gpus []string) []band {
	colours := []string{"gpu", "managed", "anon", "shmem", "huge"}
	var all []band
	for i, gpu := range gpus {
		all = append(all, band{colours[i%len(colours)], gpu, nil, ""})
	}
	return append(all,
		band{"kernel", "occupied, not GPU-held", nil, "the driver lists more than is occupied"},
		band{"free", "free", nil, ""})
}

// freeBands returns unavailable memory, memory that is available and not free, and free memory.
func freeBands() []band {
	return []band{
		{"kernel", "unavailable", nil, ""},
		{"cache", "available, not free", nil, "the kernel keeps more in reserve than it can reclaim"},
		{"free", "free", nil, ""},
	}
}
