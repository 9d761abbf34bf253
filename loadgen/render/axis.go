package render

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Steps returns about n round numbers from lo to hi: multiples of 1, 2 or 5 times a power of ten.
func Steps(lo, hi float64, n int) []float64 {
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

// LinearAxis returns an axis with a round upper end; scale converts a value to the unit of the axis.
func LinearAxis(title string, lo, hi, scale float64, n int) Axis {
	if !(hi > lo) {
		hi = lo + 1/scale
	}
	inside := Steps(lo*scale, hi*scale, n)
	for len(inside) < 2 && n < 16 { // a single tick shows no scale
		n *= 2
		inside = Steps(lo*scale, hi*scale, n)
	}
	if len(inside) > 1 {
		step := inside[1] - inside[0]
		hi = math.Ceil(hi*scale/step-1e-9) * step / scale
		lo = math.Floor(lo*scale/step+1e-9) * step / scale
		inside = Steps(lo*scale, hi*scale, n)
	}
	a := Axis{Title: title, Lo: lo, Hi: hi, Scale: scale}
	for _, v := range inside {
		a.Ticks = append(a.Ticks, Tick{At: v / scale, Text: Number(v)})
	}
	return a
}

// LogAxis returns an axis over powers of ten, with ticks at 1, 2 and 5 of each.
func LogAxis(title string, lo, hi, scale float64) Axis {
	a := Axis{Title: title, Lo: lo, Hi: hi, Scale: scale, Log: true}
	for decade := math.Floor(math.Log10(lo * scale)); decade <= math.Log10(hi*scale); decade++ {
		for _, factor := range []float64{1, 2, 5} {
			v := factor * math.Pow(10, decade)
			if v >= lo*scale && v <= hi*scale {
				a.Ticks = append(a.Ticks, Tick{At: v / scale, Text: Number(v)})
			}
		}
	}
	return a
}

// Spaced leaves out ticks that would overlap on an axis of that height: of 1, 2 and 5, all except 1.
func (a Axis) Spaced(height float64) Axis {
	room := (height - marginTop - marginBottom) / 14
	if float64(len(a.Ticks)) > room {
		a.Ticks = slices.DeleteFunc(slices.Clone(a.Ticks), func(t Tick) bool { return strings.Trim(t.Text, "0.") != "1" })
	}
	return a
}

// SecondsUnit returns the unit for durations up to hi on an axis.
func SecondsUnit(hi float64) (scale float64, unit string) {
	switch {
	case hi < 1e-3:
		return 1e6, "µs"
	case hi < 1:
		return 1e3, "ms"
	default:
		return 1, "s"
	}
}

// TimeAxis runs from the run's start to its end.
func TimeAxis(end float64, n int) Axis {
	if end > 600 {
		return LinearAxis("minutes since the run's start", 0, end, 1./60, n).Between(0, end)
	}
	return LinearAxis("seconds since the run's start", 0, end, 1, n).Between(0, end)
}

// Between cuts an axis at exactly these values: a run has no time after its end, and a pool is not a round number.
func (a Axis) Between(lo, hi float64) Axis {
	if hi <= lo {
		return a
	}
	a.Lo, a.Hi = lo, hi
	a.Ticks = slices.DeleteFunc(a.Ticks, func(t Tick) bool { return t.At < lo || t.At > hi })
	return a
}

// BytesAxis is in GiB, or in MiB where all is small, and ends a little beyond the values.
func BytesAxis(lo, hi float64) Axis {
	a := LinearAxis("GiB", lo, hi, 1./(1<<30), 5)
	if hi < 2<<30 {
		a = LinearAxis("MiB", lo, hi, 1./(1<<20), 5)
	}
	return a.Between(lo*1.03, hi*1.03)
}

// Number formats a tick without the noise of binary fractions, and -0 as 0.
func Number(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e6+0, 'f', -1, 64)
}

// DurationAxis returns an axis that begins at 0, or a logarithmic one if the durations differ by more than a decade: the
// short ones would lie on the base. A duration of 0, such as the time per token where all came at once, is not on a
// logarithmic axis.
func DurationAxis(lowest, highest float64) Axis {
	scale, name := SecondsUnit(highest)
	if lowest > 0 && highest > 10*lowest {
		return LogAxis(name+", logarithmic", lowest*0.8, highest*1.2, scale)
	}
	return LinearAxis(name, 0, highest*1.05, scale, 4)
}

// LoadAxis returns an axis with a tick at each measured load. If the largest load is at least 8 times the smallest it is
// logarithmic, so that doubled loads are equally spaced.
func LoadAxis(title string, loads []float64) Axis {
	loads = slices.Compact(slices.Sorted(slices.Values(loads)))
	a := Axis{Title: title, Lo: loads[0], Hi: loads[len(loads)-1]}
	if a.Log = a.Hi/a.Lo >= 8; !a.Log {
		a.Lo = 0
	}
	for _, load := range loads {
		a.Ticks = append(a.Ticks, Tick{load, Number(load)})
	}
	return a
}

// Axis maps values to a stretch of the drawing.
type Axis struct {
	Title  string
	Lo, Hi float64
	// Scale converts a value to the unit of the title; 0 is 1.
	Scale float64
	Log   bool
	// Names is true if the ticks are categories: all of them are shown.
	Names bool
	Ticks []Tick
}

// CategoryAxis returns an axis with a place for each name, at 0, 1, 2 and so on.
func CategoryAxis(title string, names []string) Axis {
	a := Axis{Title: title, Lo: -0.5, Hi: float64(len(names)) - 0.5, Names: true}
	for i, name := range names {
		a.Ticks = append(a.Ticks, Tick{float64(i), name})
	}
	return a
}

// Tick is a labelled value of an axis.
type Tick struct {
	At   float64
	Text string
}

// Share returns the position of a value between the ends of the axis, 0 to 1.
func (a Axis) Share(v float64) float64 {
	lo, hi := a.Lo, a.Hi
	if a.Log {
		v, lo, hi = math.Log(max(v, lo)), math.Log(lo), math.Log(hi)
	}
	if hi <= lo {
		return 0
	}
	return min(1, max(0, (v-lo)/(hi-lo)))
}

// At returns the value at a share of the axis.
func (a Axis) At(share float64) float64 {
	if a.Log {
		return a.Lo * math.Pow(a.Hi/a.Lo, share)
	}
	return a.Lo + share*(a.Hi-a.Lo)
}
