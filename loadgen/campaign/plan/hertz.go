package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
