package compare

import (
	"math"
	"strconv"
	"strings"
)

// step is a unit for display, by its size in the unit of the figure.
type step struct {
	size float64
	name string
}

// steps returns the units that a figure is shown in, the largest first.
func (u Unit) steps() []step {
	switch u {
	case UnitSeconds:
		return []step{{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}}
	case UnitBytes:
		return []step{{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}
	case UnitPerSecond:
		return []step{{1, " /s"}}
	case UnitRatio:
		return []step{{0.01, " %"}}
	case UnitCelsius:
		return []step{{1, " °C"}}
	case UnitWatts:
		return []step{{1, " W"}}
	case UnitJoules:
		return []step{{1, " J"}}
	default:
		return []step{{1, ""}}
	}
}

// step returns the largest unit that a figure fills, or the smallest; for 0 it is the unit itself.
func (u Unit) step(v float64) step {
	steps := u.steps()
	for _, s := range steps {
		if math.Abs(v) >= s.size || v == 0 && s.size == 1 {
			return s
		}
	}
	return steps[len(steps)-1]
}

// Text formats a figure with its unit: 70.47 GiB, 119.79 /s. It has two digits after the point where it can, so that
// published figures can be found in it.
func (u Unit) Text(v float64) string {
	if u == UnitBytes && math.Abs(v) < 0.5 {
		v = 0 // rounding: there is no part of a byte
	}
	s := u.step(v)
	return u.digits(v/s.size) + s.name
}

// Beside formats a figure in the unit of another, without the unit: a spread of 0.94 for 70.47 GiB.
func (u Unit) InUnitOf(v, other float64) string { return u.digits(v / u.step(other).size) }

func (u Unit) digits(v float64) string {
	switch u {
	case UnitCelsius:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case UnitRatio:
		return trimmed(digits(v))
	default:
		return digits(v)
	}
}

// Percent formats a share: 2 %, 0.75 %.
func Percent(share float64) string { return UnitRatio.Text(share) }

// Change formats a ratio as a change: +1.25 %.
func Change(ratio float64) string {
	text := Percent(ratio - 1)
	if ratio >= 1 {
		text = "+" + text
	}
	return text
}

// digits formats two digits after the point, none for a large number and three for small numbers.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a >= 10_000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

// trimmed returns a number without trailing zeros.
func trimmed(text string) string {
	if !strings.Contains(text, ".") || strings.Contains(text, "e") {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
