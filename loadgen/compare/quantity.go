package compare

import (
	"math"
	"strconv"
	"strings"
)

// Text is a figure of the unit for people: 70.47 GiB, 119.79 /s. It has two digits after the point where
// it can, so that figures that were published can be found in it.
func (u Unit) Text(v float64) string {
	switch u {
	case UnitSeconds:
		return scaled(v, step{1, "s"}, step{1e-3, "ms"}, step{1e-6, "µs"})
	case UnitBytes:
		return scaled(v, step{1 << 30, "GiB"}, step{1 << 20, "MiB"}, step{1 << 10, "KiB"}, step{1, "B"})
	case UnitPerSecond:
		return digits(v) + " /s"
	case UnitRatio:
		return Percent(v)
	case UnitCelsius:
		return strconv.FormatFloat(v, 'f', 1, 64) + " °C"
	case UnitWatts:
		return digits(v) + " W"
	case UnitJoules:
		return digits(v) + " J"
	default:
		return digits(v)
	}
}

// step is a unit by its size in the unit of the figure.
type step struct {
	size float64
	name string
}

// scaled writes a figure in the largest of the steps that it fills, or in the smallest; nothing in its
// own unit.
func scaled(v float64, steps ...step) string {
	for i, s := range steps {
		if math.Abs(v) >= s.size || v == 0 && s.size == 1 || v != 0 && i == len(steps)-1 {
			return digits(v/s.size) + " " + s.name
		}
	}
	return digits(v)
}

// Percent is a share for people: 2 %, 0.75 %.
func Percent(share float64) string {
	text := digits(100 * share)
	if strings.Contains(text, ".") && !strings.Contains(text, "e") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

// Change is a ratio as a change for people: +1.25 %.
func Change(ratio float64) string {
	text := Percent(ratio - 1)
	if ratio >= 1 {
		text = "+" + text
	}
	return text
}

// digits writes two digits after the point, none of a large number and three in all of a small one.
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
