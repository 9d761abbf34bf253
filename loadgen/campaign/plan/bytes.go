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
