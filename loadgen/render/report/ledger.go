package report

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// band is an area of a chart, such as a band of the ledger.
type band struct {
	name  string // also the class of its colour
	title string
	lines []string
	below string // why it is negative, for the band that may be
}

// bands are stacked from the bottom, in the order of the vocabulary. The remainder, unattributed, is signed.
func bands() []band {
	var all []band
	for _, b := range metric.LedgerBands() {
		below := ""
		if slices.Contains(b.Lines, metric.LineUnattributed) {
			below = "lines count some bytes twice"
		}
		all = append(all, band{b.Name, b.Title, b.Lines, below})
	}
	return all
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
