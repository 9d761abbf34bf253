package report

import (
	"slices"

	"github.com/umascope/umascope/exporter/ledger"
)

// band is an area of a chart, such as a band of the ledger.
type band struct {
	ledger.Band
	below string // why it is negative, for the band that may be
}

// bands are stacked from the bottom, in the order of the vocabulary. The remainder, unattributed, is signed.
func bands() []band {
	var all []band
	for _, b := range ledger.Bands() {
		below := ""
		if slices.Contains(b.Lines, ledger.Unattributed) {
			below = "lines count some bytes twice"
		}
		all = append(all, band{b, below})
	}
	return all
}

// colouredAs returns a band without lines in the colour of a band of the ledger.
func colouredAs(name, title, below string) band {
	return band{ledger.Band{Name: name, Title: title}, below}
}

// heldBands returns the memory that processes hold of each GPU, the rest of the occupied memory, and free memory.
// Colours repeat for many GPUs.
func heldBands(gpus []string) []band {
	colours := []string{"gpu", "managed", "anon", "shmem", "huge"}
	var all []band
	for i, gpu := range gpus {
		all = append(all, colouredAs(colours[i%len(colours)], gpu, ""))
	}
	return append(all,
		colouredAs("kernel", "occupied, not GPU-held", "the driver lists more than is occupied"),
		colouredAs("free", "free", ""))
}

// freeBands returns unavailable memory, memory that is available and not free, and free memory.
func freeBands() []band {
	return []band{
		colouredAs("kernel", "unavailable", ""),
		colouredAs("cache", "available, not free", "the kernel keeps more in reserve than it can reclaim"),
		colouredAs("free", "free", ""),
	}
}
