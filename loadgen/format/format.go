// Package format formats quantities for people: three digits, in the unit that fits.
package format

import (
	"strconv"
	"strings"
)

// None is shown in place of a missing figure.
const None = "–"

// Seconds formats a duration with three digits in the unit that fits: 183 ms, 2.41 s.
func Seconds(s float64) string {
	switch a := max(s, -s); {
	case a == 0:
		return "0 s"
	case a < 1e-3:
		return Digits(s*1e6) + " µs"
	case a < 1:
		return Digits(s*1e3) + " ms"
	default:
		return Digits(s) + " s"
	}
}

// Bytes formats an amount of memory in the unit that fits: 81.3 GiB, 64 MiB.
func Bytes(b float64) string {
	switch a := max(b, -b); {
	case a >= 1<<30:
		return Digits(b/(1<<30)) + " GiB"
	case a >= 1<<20:
		return Digits(b/(1<<20)) + " MiB"
	case a >= 1<<10:
		return Digits(b/(1<<10)) + " KiB"
	default:
		return Digits(b) + " B"
	}
}

func Celsius(v float64) string { return Digits(v) + " °C" }

func Joules(v float64) string {
	switch {
	case v >= 1e6:
		return Digits(v/1e6) + " MJ"
	case v >= 1e4:
		return Digits(v/1e3) + " kJ"
	default:
		return Digits(v) + " J"
	}
}

func Ratio(ratio float64) string { return Digits(100*ratio) + " %" }

// Digits formats a number with three significant digits, and more before the point if it has more.
func Digits(v float64) string {
	a := max(v, -v)
	switch {
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return trimZeros(strconv.FormatFloat(v, 'f', 1, 64))
	case a >= 1:
		return trimZeros(strconv.FormatFloat(v, 'f', 2, 64))
	default:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}

func trimZeros(text string) string {
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// Optional formats a figure that may be absent.
func Optional(value *float64, format func(float64) string) string {
	if value == nil {
		return None
	}
	return format(*value)
}
