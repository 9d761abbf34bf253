package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Ratio is a share, 0 to 1; in a plan a number such as 0.1 or a percentage such as 10%.
type Ratio float64

// ParseRatio reads a number or a percentage. It does not bound them.
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

// String is the share as a percentage with three digits.
func (r Ratio) String() string { return strconv.FormatFloat(100*float64(r), 'g', 3, 64) + "%" }
