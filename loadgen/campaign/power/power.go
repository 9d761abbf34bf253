// Package power knows how many runs a campaign takes before it can say something: that two arms are
// alike, or that they differ.
package power

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/stats"
)

// Question is what a campaign shall be able to say. All are shares: 0.02 is 2 %.
type Question struct {
	// CV is how much runs of one arm differ: their standard deviation as a share of their mean.
	CV float64
	// Margin is within which two arms are as good as equal, Difference what shall be found if it is there.
	Margin, Difference float64
	// Power is how often it shall succeed, Alpha how often it may say something wrong.
	Power, Alpha float64
}

// Answer is what it takes.
type Answer struct {
	Question
	// Deviation is the CV as a standard deviation of logarithms, on which a ratio is compared.
	Deviation float64
	// ToEqual and ToFind are runs of each arm: to show two equal arms equivalent within the margin, and
	// to find the difference.
	ToEqual, ToFind int
	// Rows are what a number of runs can say.
	Rows []Row
}

// Row is what a number of runs of each arm can say.
type Row struct {
	Runs int
	// Finds is the least difference that is found, Equal the least margin that equal arms are shown
	// to be within, as shares. Nil is more than any margin that is one.
	Finds, Equal *float64
}

// Needed is the runs of each arm for either verdict.
func (a *Answer) Needed() int { return max(a.ToEqual, a.ToFind) }

// Balanced is Needed, and even: an order forth and back ends with its way back.
func (a *Answer) Balanced() int { return a.Needed() + a.Needed()%2 }

// logs is a share as a distance of logarithms. It is that of more: 2 % less is a little farther.
func logs(share float64) float64 { return math.Log1p(share) }

// Ask answers a question. A comparison takes ratios as differences of logarithms and so does this: what
// it says is needed is what a comparison will say is needed.
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
