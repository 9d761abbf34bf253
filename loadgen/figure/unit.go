package figure

import (
	"math"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
)

// Unit is the unit of a figure.
type Unit string

// The units. A ratio is a share of 1.
const (
	Seconds   Unit = "seconds"
	PerSecond Unit = "per_second"
	Ratio     Unit = "ratio"
	Bytes     Unit = "bytes"
	Tokens    Unit = "tokens"
	Celsius   Unit = "celsius"
	Watts     Unit = "watts"
	Joules    Unit = "joules"
	Count     Unit = "count"
)

// Direction is the direction that is better.
type Direction string

// The directions.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
	NeitherBetter  Direction = "neither"
)

// direction returns the direction that is better for most figures of a unit.
func (u Unit) direction() Direction {
	if u == PerSecond || u == Tokens {
		return HigherIsBetter
	}
	return LowerIsBetter
}

// Scales of analysis: relative differences are analysed as logarithms, absolute ones as they are.
const (
	ScaleLog    = "log"
	ScaleLinear = "linear"
)

// Margin is the largest difference that does not matter: relative to the baseline, or in the unit.
type Margin struct {
	Value    float64 `json:"value"`
	Relative bool    `json:"relative"`
}

// margin returns the margin of the figures of a unit in comparisons, and the scale that fits it.
func (u Unit) margin() (m Margin, scale string) {
	switch u {
	case Ratio:
		return Margin{Value: 0.01}, ScaleLinear // a hundredth of a share
	case Bytes:
		return Margin{Value: 1 << 30}, ScaleLinear
	case Celsius:
		return Margin{Value: 2}, ScaleLinear
	default:
		return Margin{Value: 0.02, Relative: true}, ScaleLog
	}
}

// Text formats the margin for display: 2 %, 1.00 GiB.
func (m Margin) Text(unit Unit) string {
	if m.Relative {
		return Percent(m.Value)
	}
	return unit.Text(m.Value)
}

// Rounded formats a figure with its unit in three digits: 70.5 GiB.
func (u Unit) Rounded(v float64) string {
	switch u {
	case Seconds:
		return format.Seconds(v)
	case Bytes:
		return format.Bytes(v)
	case Ratio:
		return format.Ratio(v)
	case Celsius:
		return format.Celsius(v)
	case Joules:
		return format.Joules(v)
	default:
		return format.Digits(v)
	}
}

// step is a unit for display, by its size in the unit of the figure.
type step struct {
	size float64
	name string
}

// steps returns the units that a figure is shown in, the largest first.
func (u Unit) steps() []step {
	switch u {
	case Seconds:
		return []step{{1, " s"}, {1e-3, " ms"}, {1e-6, " µs"}}
	case Bytes:
		return []step{{1 << 30, " GiB"}, {1 << 20, " MiB"}, {1 << 10, " KiB"}, {1, " B"}}
	case PerSecond:
		return []step{{1, " /s"}}
	case Ratio:
		return []step{{0.01, " %"}}
	case Celsius:
		return []step{{1, " °C"}}
	case Watts:
		return []step{{1, " W"}}
	case Joules:
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
	if u == Bytes && math.Abs(v) < 0.5 {
		v = 0 // rounding: there is no part of a byte
	}
	s := u.step(v)
	return u.digits(v/s.size) + s.name
}

// InUnitOf formats a figure in the unit of another, without the unit: a spread of 0.94 for 70.47 GiB.
func (u Unit) InUnitOf(v, other float64) string { return u.digits(v / u.step(other).size) }

func (u Unit) digits(v float64) string {
	switch u {
	case Celsius:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case Ratio:
		return trimmed(digits(v))
	default:
		return digits(v)
	}
}

// Percent formats a share: 2 %, 0.75 %.
func Percent(share float64) string { return Ratio.Text(share) }

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
