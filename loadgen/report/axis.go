package report

import (
	"math"
	"slices"
	"strconv"
)

// steps returns about n round numbers from lo to hi: multiples of 1, 2 or 5 times a power of ten.
func steps(lo, hi float64, n int) []float64 {
	if !(hi > lo) || n < 1 {
		return []float64{lo}
	}
	raw := (hi - lo) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * unit
	for _, factor := range []float64{1, 2, 5} {
		if factor*unit >= raw {
			step = factor * unit
			break
		}
	}
	var at []float64
	for i := math.Ceil(lo / step); i*step <= hi*(1+1e-9); i++ {
		at = append(at, i*step)
	}
	return at
}

// linear is an axis whose upper end is round, in units of which a value has scale.
func linear(title string, lo, hi, scale float64, n int) axis {
	if !(hi > lo) {
		hi = lo + 1/scale
	}
	inside := steps(lo*scale, hi*scale, n)
	if len(inside) > 1 {
		step := inside[1] - inside[0]
		hi = math.Ceil(hi*scale/step-1e-9) * step / scale
		lo = math.Floor(lo*scale/step+1e-9) * step / scale
		inside = steps(lo*scale, hi*scale, n)
	}
	a := axis{title: title, lo: lo, hi: hi}
	for _, v := range inside {
		a.ticks = append(a.ticks, tick{v / scale, number(v)})
	}
	return a
}

// logarithmic is an axis over powers of ten, with ticks at 1, 2 and 5 of each.
func logarithmic(title string, lo, hi, scale float64) axis {
	a := axis{title: title, lo: lo, hi: hi, log: true}
	for decade := math.Floor(math.Log10(lo * scale)); decade <= math.Log10(hi*scale); decade++ {
		for _, factor := range []float64{1, 2, 5} {
			v := factor * math.Pow(10, decade)
			if v >= lo*scale && v <= hi*scale {
				a.ticks = append(a.ticks, tick{v / scale, number(v)})
			}
		}
	}
	return a
}

// secondsUnit is the unit in which durations up to hi are written on an axis.
func secondsUnit(hi float64) (scale float64, unit string) {
	switch {
	case hi < 1e-3:
		return 1e6, "µs"
	case hi < 1:
		return 1e3, "ms"
	default:
		return 1, "s"
	}
}

// timeAxis runs from the run's start to its end.
func timeAxis(end float64, n int) axis {
	if end > 600 {
		return linear("minutes since the run's start", 0, end, 1./60, n).between(0, end)
	}
	return linear("seconds since the run's start", 0, end, 1, n).between(0, end)
}

// between cuts an axis at exactly these values: a run has no time after its end, and a pool is no
// round number.
func (a axis) between(lo, hi float64) axis {
	if hi <= lo {
		return a
	}
	a.lo, a.hi = lo, hi
	a.ticks = slices.DeleteFunc(a.ticks, func(t tick) bool { return t.at < lo || t.at > hi })
	return a
}

// bytesAxis is in GiB, or in MiB where all is small, and ends a little beyond the values.
func bytesAxis(lo, hi float64) axis {
	a := linear("GiB", lo, hi, 1./(1<<30), 5)
	if hi < 2<<30 {
		a = linear("MiB", lo, hi, 1./(1<<20), 5)
	}
	return a.between(lo*1.03, hi*1.03)
}

// number writes a tick without the noise of binary fractions.
func number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}
