package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
)

// amounts returns the units that a margin can be given in, each with its size in the unit of the metric.
func amounts(unit figure.Unit) map[string]float64 {
	switch unit {
	case figure.Bytes:
		return map[string]float64{"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "KB": 1e3, "MB": 1e6, "GB": 1e9}
	case figure.Seconds:
		return map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
	case figure.Celsius:
		return map[string]float64{"C": 1, "°C": 1}
	case figure.Watts:
		return map[string]float64{"W": 1}
	case figure.Joules:
		return map[string]float64{"J": 1, "kJ": 1e3}
	case figure.PerSecond:
		return map[string]float64{"/s": 1}
	default:
		return map[string]float64{"": 1}
	}
}

// ParseMargin reads METRIC=2%, or an amount in a unit of the metric: METRIC=1GiB, METRIC=2C, METRIC=5ms.
func ParseMargin(text string) (name string, m figure.Margin, err error) {
	name, amount, found := strings.Cut(text, "=")
	if !found {
		return "", figure.Margin{}, fmt.Errorf("%q: want METRIC=2%% or an amount with its unit, as in memory_unavailable_peak_bytes=1GiB", text)
	}
	metric, known := figure.FindCompared(name)
	if !known {
		return "", figure.Margin{}, fmt.Errorf("%q: %q is no metric; near it are %s", text, name, strings.Join(Near(name), ", "))
	}
	m, err = parseAmount(strings.TrimSpace(amount), metric.Unit)
	if err != nil {
		return "", figure.Margin{}, fmt.Errorf("%q: %w", text, err)
	}
	return name, m, nil
}

func parseAmount(text string, unit figure.Unit) (figure.Margin, error) {
	digits := strings.TrimRightFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return figure.Margin{}, fmt.Errorf("%q is no amount", text)
	}
	suffix := strings.TrimSpace(text[len(digits):])
	factor, known := amounts(unit)[suffix]
	m := figure.Margin{Value: value * factor}
	if suffix == "%" {
		m = figure.Margin{Value: value / 100, Relative: true}
	} else if !known {
		return figure.Margin{}, fmt.Errorf("%q is no unit of %s; %% is one of everything", suffix, unit)
	}
	if m.Value <= 0 || math.IsInf(m.Value, 0) || m.Relative && m.Value >= 1 {
		return figure.Margin{}, fmt.Errorf("%s: want more than nothing and, of a share, less than 100 %%", text)
	}
	return m, nil
}
