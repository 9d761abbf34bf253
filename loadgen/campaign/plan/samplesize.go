package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/umascope/umascope/loadgen/stats"
)

// SampleSizeQuestion is what a campaign should be able to show. All values are shares: 0.02 is 2 %.
type SampleSizeQuestion struct {
	// CV is the variation between runs of one arm: their standard deviation as a share of their mean.
	CV float64
	// Margin is the largest difference between equivalent arms, Difference the smallest difference that should be
	// found.
	Margin, Difference float64
	// Power is the probability that it succeeds, Alpha the probability of a wrong verdict.
	Power, Alpha float64
}

// SampleSize is the number of runs that the question needs.
type SampleSize struct {
	SampleSizeQuestion
	// Deviation is the CV as a standard deviation of logarithms, on which ratios are compared.
	Deviation float64
	// ToEqual and ToFind are numbers of runs of each arm: to show that two equal arms are equivalent within the
	// margin, and to find the difference.
	ToEqual, ToFind int
	// Rows show what given numbers of runs can detect.
	Rows []SampleSizeRow
}

// SampleSizeRow is what a number of runs of each arm can detect.
type SampleSizeRow struct {
	Runs int
	// Finds is the smallest difference that is found, Equal the smallest margin within which equal arms are shown to
	// be equivalent, as shares. nil means that no margin below 100 % is large enough.
	Finds, Equal *float64
}

// Needed returns the runs of each arm that both verdicts need.
func (a *SampleSize) Needed() int { return max(a.ToEqual, a.ToFind) }

// Balanced returns Needed as an even number: an ABBA order ends with its second half.
func (a *SampleSize) Balanced() int { return a.Needed() + a.Needed()%2 }

// logs converts a share to a difference of logarithms, as an increase. A decrease of 2 % is a slightly larger
// difference.
func logs(share float64) float64 { return math.Log1p(share) }

// AskSampleSize answers a question. It treats ratios as differences of logarithms, as a comparison does, so that both report the
// same number of needed runs.
func AskSampleSize(q SampleSizeQuestion) (*SampleSize, error) {
	a := &SampleSize{SampleSizeQuestion: q, Deviation: math.Sqrt(math.Log1p(q.CV * q.CV))}
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

func (a *SampleSize) row(n int) SampleSizeRow {
	share := func(d float64, err error) *float64 {
		v := math.Expm1(d * a.Deviation)
		if err != nil || v >= 1 { // a margin of 100 % has no lower end
			return nil
		}
		return &v
	}
	return SampleSizeRow{
		Runs:  n,
		Finds: share(stats.MinimumDetectable(float64(n), a.Power, a.Alpha)),
		Equal: share(stats.EquivalenceMargin(float64(n), a.Power, a.Alpha)),
	}
}

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

// PoolSpread computes the spread of values within their groups. Groups may have different means: each value is compared with
// the mean of its own group.
func PoolSpread(groups [][]float64) (Spread, error) {
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

// Write writes the answer for people, with its calculation.
func (a *SampleSize) Write(w io.Writer) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "Runs of each arm, if runs of one arm differ by a CV of %s, at %s power and %s significance:\n\n",
		percent(a.CV), percent(a.Power), percent(a.Alpha))
	fmt.Fprintf(&text, "%6d  to show two equal arms equivalent within %s\n", a.ToEqual, percent(a.Margin))
	fmt.Fprintf(&text, "%6d  to find a difference of %s\n\n", a.ToFind, percent(a.Difference))
	fmt.Fprintf(&text, "A campaign that is to show either takes %d iterations", a.Needed())
	if a.Balanced() != a.Needed() {
		fmt.Fprintf(&text, "; in the order abba %d, so that the last way forth has its way back", a.Balanced())
	}
	fmt.Fprintf(&text, ".\n\nA ratio is compared as a difference of logarithms. The CV is a standard deviation of %.4f,\n", a.Deviation)
	fmt.Fprintf(&text, "the margin ln(1+%s) = %.4f, which is %.2f of them, the difference %.2f of them.\n\n",
		trim(a.Margin), logs(a.Margin), logs(a.Margin)/a.Deviation, logs(a.Difference)/a.Deviation)
	fmt.Fprintf(&text, "%6s  %20s  %23s\n", "runs", "find a difference of", "show equivalence within")
	for _, r := range a.Rows {
		fmt.Fprintf(&text, "%6d  %20s  %23s\n", r.Runs, orNone(r.Finds), orNone(r.Equal))
	}
	_, err := w.Write(text.Bytes())
	return err
}

func orNone(share *float64) string {
	if share == nil {
		return "nothing"
	}
	return fmt.Sprintf("%.2f %%", 100**share)
}

func percent(share float64) string { return trim(100*share) + " %" }

// trim formats a number without the digits that come only from its binary form.
func trim(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }
