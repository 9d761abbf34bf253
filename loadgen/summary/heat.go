package summary

import (
	"math"
	"math/bits"
)

// Heat counts durations by their time in the run and their length, so that it covers a run of any length. A row is a
// quarter of an octave; the rows go from a microsecond to more than an hour.
type Heat struct {
	Cells [TimelineBins][HeatRows]uint32
	N     int
}

const (
	heatFirst = 10 // the octave of a microsecond, in nanoseconds
	heatLast  = 42
	// HeatRows is the number of rows.
	HeatRows = 4 * (heatLast - heatFirst)
)

func (h *Heat) add(bin int, ns int64) {
	h.Cells[bin][heatRow(ns)]++
	h.N++
}

// heatRow returns the row of a duration. Durations outside of all rows are in the first or the last row.
func heatRow(ns int64) int {
	octave := bits.Len64(uint64(max(1, ns))) - 1
	if octave < heatFirst {
		return 0
	}
	return min(HeatRows-1, 4*(octave-heatFirst)+int(ns>>(octave-2)&3))
}

// HeatEdge returns the lower end of a row, in nanoseconds.
func HeatEdge(row int) float64 {
	return math.Ldexp(1+float64(row%4)/4, heatFirst+row/4)
}
