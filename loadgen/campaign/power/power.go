// Package power computes how many runs a campaign needs to show that two arms are equivalent, or that they differ.
package power

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/stats"
)

// Question is what a campaign should be able to show. All values are shares: 0.02 is 2 %.
type Question struct {
	// CV is the variation between runs of one arm: their standard deviation as a share of their mean.
	CV float64
	// Margin is the largest difference between equivalent arms, Difference the smallest difference that should be
	// found.
	Margin, Difference float64
	// Power is the probability that it succeeds, Alpha the probability of a wrong verdict.
	Power, Alpha float64
}

// Answer is the number of runs that the question needs.
type Answer struct {
	Question
	// Deviation is the CV as a standard deviation of logarithms, on which ratios are compared.
	Deviation float64
	// ToEqual and ToFind are numbers of runs of each arm: to show that two equal arms are equivalent within the
	// margin, and to find the difference.
	ToEqual, ToFind int
	// Rows show what given numbers of runs can detect.
	Rows []Row
}

// Row is what a number of runs of each arm can detect.
type Row struct {
	Runs int
	// Finds is the smallest difference that is found, Equal the smallest margin within which equal arms are shown to
	// be equivalent, as shares. nil means that no margin below 100 % is large enough.
	Finds, Equal *float64
}

// Needed returns the runs of each arm that both verdicts need.
func (a *Answer) Needed() int { return max(a.ToEqual, a.ToFind) }

// Balanced returns Needed as an even number: an ABBA order ends with its second half.
func (a *Answer) Balanced() int { return a.Needed() + a.Needed()%2 }

// logs converts a share to a difference of logarithms, as an increase. A decrease of 2 % is a slightly larger
// difference.
func logs(share float64) float64 { return math.Log1p(share) }

// Ask answers a question. It treats ratios as differences of logarithms, as a comparison does, so that both report the
// same number of needed runs.
func Ask(q Question) (*Answer, error) {
	a := &Answer{Question: q, Deviation: math.Sqrt(math.Log1p(q.CV * q.CV))}
	if !(a.Deviation > 0) {
		return nil, errors.New("runs that do not differ at all need no statistics: one of each arm shows what there is")
	}
	equal, err := stats.EquivalenceSampleSize(logs(q.Margin)/a.Deviation, q.Power, q.Alpha)
	if err != nil {
		return nil, fmt.Errorf("to show arms equal within %s: %w", percent(q.Margin), err)
	}
	find, err := stats.SampleSize(logs(q.Difference)/a.Deviation, q.Power, q.Alpha)
	if err != nil {
		return nil, fmt.Errorf("to find a difference of %s: %w", percent(q.Difference), err)
	}
	a.ToEqual, a.ToFind = int(math.Ceil(equal)), int(math.Ceil(find))
	counts := []int{3, 5, 6, 8, 10, 15, 20, 30, a.ToEqual, a.ToFind}
	slices.Sort(counts)
	for _, n := range slices.Compact(counts) {
		a.Rows = append(a.Rows, a.row(n))
	}
	return a, nil
}

func (a *Answer) row(n int) Row {
	share := func(d float64, err error) *float64 {
		v := math.Expm1(d * a.Deviation)
		if err != nil || v >= 1 { // a margin of 100 % has no lower end
			return nil
		}
		return &v
	}
	return Row{
		Runs:  n,
		Finds: share(stats.MinimumDetectable(float64(n), a.Power, a.Alpha)),
		Equal: share(stats.EquivalenceMargin(float64(n), a.Power, a.Alpha)),
	}
}
