package power

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/umascope/umascope/loadgen/stats"
)

// Spread is the variation between runs of one arm.
type Spread struct {
	// CV is the variation between runs within their groups. Low and High are its 95 % confidence interval, which is
	// wide for few runs.
	CV, Low, High float64
	// Groups counts the groups with at least two runs. Freedom is the number of their runs minus the number of groups.
	Groups, Freedom int
}

// ErrNoRepeats is the error if no two runs belong to the same group.
var ErrNoRepeats = errors.New("no two runs of one arm")

// Pool computes the spread of values within their groups. Groups may have different means: each value is compared with
// the mean of its own group.
func Pool(groups [][]float64) (Spread, error) {
	var s Spread
	squares := 0.0
	for _, values := range groups {
		if len(values) < 2 {
			continue
		}
		logs, err := stats.Logs(values)
		if err != nil {
			return Spread{}, err
		}
		d, err := stats.Describe(logs)
		if err != nil {
			return Spread{}, err
		}
		n := len(values) - 1
		squares += *d.SD * *d.SD * float64(n)
		s.Freedom += n
		s.Groups++
	}
	if s.Freedom == 0 {
		return Spread{}, ErrNoRepeats
	}
	of := distuv.ChiSquared{K: float64(s.Freedom)}
	cv := func(variance float64) float64 { return math.Sqrt(math.Expm1(variance)) }
	s.CV = cv(squares / float64(s.Freedom))
	s.Low, s.High = cv(squares/of.Quantile(0.975)), cv(squares/of.Quantile(0.025))
	return s, nil
}
