package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
