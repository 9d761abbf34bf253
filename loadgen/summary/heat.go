package summary

import (
	"math"
	"math/bits"
)

// Heat counts durations by when they were and how long, so that a run of any length is shown whole. A
// quarter of an octave is a row, from a microsecond up to more than an hour.
type Heat struct {
	Cells [TimelineBins][HeatRows]uint32
	N     int
}

const (
	heatFirst = 10 // the octave of a microsecond, in nanoseconds
	heatLast  = 42
	// HeatRows is how many rows there are.
	HeatRows = 4 * (heatLast - heatFirst)
)

func (h *Heat) add(bin int, ns int64) {
	h.Cells[bin][heatRow(ns)]++
	h.N++
}

// heatRow is the row of a duration. What is shorter or longer than the rows is in the last of them.
func heatRow(ns int64) int {
	octave := bits.Len64(uint64(max(1, ns))) - 1
	if octave < heatFirst {
		return 0
	}
	return min(HeatRows-1, 4*(octave-heatFirst)+int(ns>>(octave-2)&3))
}

// HeatEdge is the lower end of a row, in nanoseconds.
func HeatEdge(row int) float64 {
	return math.Ldexp(1+float64(row%4)/4, heatFirst+row/4)
}
