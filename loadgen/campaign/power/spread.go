package power

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/umascope/umascope/loadgen/stats"
)

// Spread is how much runs of one arm differed.
type Spread struct {
	// CV is what is left of the difference between runs within their groups; Low and High are its 95 %
	// confidence interval: of few runs it is wide.
	CV, Low, High float64
	// Groups have two runs at least, Freedom is their runs less one for each group.
	Groups, Freedom int
}

// ErrNoRepeats is of runs of which no two belong together.
var ErrNoRepeats = errors.New("no two runs of one arm")

// Pool is the spread of the values within their groups. Arms may differ: each is held against its own mean.
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
