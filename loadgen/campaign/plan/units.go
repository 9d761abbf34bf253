package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a size in bytes; in a plan with a unit, such as 60GiB.
type Bytes uint64

// unit is a unit of a size.
type unit struct {
	name  string
	bytes float64
}

// units returns the longest units first: a size in GiB ends with B too.
func units() []unit {
	return []unit{
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
		{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
	}
}

// ParseBytes parses a size: a number with its unit, or 0.
func ParseBytes(s string) (Bytes, error) {
	for _, u := range units() {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		// Sizes are parsed as floats, so the limit is the largest float below 2^64.
		if err == nil && n >= 0 && n*u.bytes < math.MaxUint64 {
			return Bytes(math.Round(n * u.bytes)), nil
		}
		break
	}
	if s == "0" {
		return 0, nil
	}
	return 0, fmt.Errorf("%q is no size with a unit, such as 60GiB or 512MiB", s)
}

// String returns the size in the largest binary unit that is not above it, with two decimals.
func (b Bytes) String() string {
	all := units()
	for i := 3; i >= 0; i-- {
		if float64(b) >= all[i].bytes {
			return strconv.FormatFloat(math.Round(float64(b)/all[i].bytes*100)/100, 'f', -1, 64) + " " + all[i].name
		}
	}
	return strconv.FormatUint(uint64(b), 10) + " B"
}

// Hertz is a GPU clock in hertz, in whole megahertz; in a plan with its unit, such as 1500MHz.
type Hertz uint64

const megahertz = 1e6

// Limits of a GPU clock.
const (
	leastClock = 100 * megahertz
	mostClock  = 10_000 * megahertz
)

// ParseHertz parses a clock in MHz or GHz.
func ParseHertz(s string) (Hertz, error) {
	digits, factor := strings.TrimSuffix(s, "MHz"), megahertz
	if digits == s {
		digits, factor = strings.TrimSuffix(s, "GHz"), 1000*megahertz
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if rounded := math.Round(n*factor/megahertz) * megahertz; err == nil && digits != s && rounded >= leastClock && rounded <= mostClock {
		return Hertz(rounded), nil
	}
	return 0, fmt.Errorf("%q is no clock of a GPU with its unit, such as 1500MHz or 1.5GHz", s)
}

// Megahertz returns the clock in MHz.
func (h Hertz) Megahertz() int { return int(h / megahertz) }

func (h Hertz) String() string { return strconv.Itoa(h.Megahertz()) + "MHz" }

// Ratio is a share, 0 to 1; in a plan a number such as 0.1 or a percentage such as 10%.
type Ratio float64

// ParseRatio parses a number or a percentage. It does not check its range.
func ParseRatio(s string) (Ratio, error) {
	digits, percent := strings.CutSuffix(s, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%q is neither a share nor a percentage, such as 0.1 or 10%%", s)
	}
	if percent {
		n /= 100
	}
	return Ratio(n), nil
}

// String returns the share as a percentage with three significant digits.
func (r Ratio) String() string { return strconv.FormatFloat(100*float64(r), 'g', 3, 64) + "%" }
