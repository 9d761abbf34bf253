package comparison

import (
	"math"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// scale is the unit in which a chart shows a metric, and its factor from the unit of the metric.
type scale struct {
	unit string
	by   float64
}

// scaleOf returns the scale that suits amounts up to largest.
func scaleOf(unit figure.Unit, largest float64) scale {
	switch unit {
	case figure.Seconds:
		by, name := render.SecondsUnit(largest)
		return scale{name, by}
	case figure.Bytes:
		if largest < 2<<30 {
			return scale{"MiB", 1. / (1 << 20)}
		}
		return scale{"GiB", 1. / (1 << 30)}
	case figure.Ratio:
		return scale{"%", 100}
	case figure.Celsius:
		return scale{"°C", 1}
	case figure.Watts:
		return scale{"W", 1}
	case figure.Joules:
		return scale{"J", 1}
	case figure.PerSecond:
		return scale{"per second", 1}
	default:
		return scale{string(unit), 1}
	}
}

// closeAxis spans values that lie close together; its title notes that it does not begin at 0.
func closeAxis(unit figure.Unit, lo, hi float64, n int) render.Axis {
	s := scaleOf(unit, max(math.Abs(lo), math.Abs(hi)))
	room := max(0.08*(hi-lo), 0.002*max(math.Abs(lo), math.Abs(hi)), 1e-9)
	low, high := lo-room, hi+room
	if lo >= 0 {
		low = max(0, low)
	}
	a := render.LinearAxis(s.unit, low, high, s.by, n).Between(low, high)
	if low > 0 {
		a.Title += ", not from 0"
	}
	return a
}

// wholeAxis begins at 0, as bars must.
func wholeAxis(unit figure.Unit, hi float64, n int) render.Axis {
	s := scaleOf(unit, hi)
	return render.LinearAxis(s.unit, 0, hi*1.06, s.by, n).Between(0, hi*1.06)
}
