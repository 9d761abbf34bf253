package compare

import (
	"errors"
	"fmt"
	"math"

	"github.com/umascope/umascope/loadgen/stats"
)

// contrast is a metric of two arms on the scale of its analysis.
type contrast struct {
	metric Metric
	margin Margin
	a, b   sample
	meanA  float64 // as it was measured
	log    bool
	// x and y are the values on the scale; low and high what does not matter, around 0.
	x, y      []float64
	low, high float64
	// test decides: paired if the runs are, else Welch's.
	test   stats.TTest
	welch  *stats.TTest
	paired *stats.TTest
	pairs  int
	notes  []string
}

// newContrast takes what is known of a metric to the scale of its analysis. It needs a value of each arm.
func newContrast(m Metric, margin Margin, a, b sample) *contrast {
	c := &contrast{metric: m, margin: margin, a: a, b: b, x: a.values, y: b.values, meanA: mean(a.values)}
	// An amount is a distance on the scale as it is; a share is one of logarithms.
	if m.Scale == ScaleLog && margin.Relative {
		c.takeLogs()
	}
	switch {
	case c.log:
		c.low, c.high = math.Log1p(-margin.Value), math.Log1p(margin.Value)
	case margin.Relative:
		c.high = margin.Value * math.Abs(c.meanA)
		c.low = -c.high
	default:
		c.low, c.high = -margin.Value, margin.Value
	}
	return c
}

func (c *contrast) takeLogs() {
	x, errA := stats.Logs(c.a.values)
	y, errB := stats.Logs(c.b.values)
	if errA != nil || errB != nil {
		c.note("a value is not above zero: analysed as it is, not as a logarithm")
		return
	}
	c.x, c.y, c.log = x, y, true
}

func (c *contrast) note(format string, values ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, values...))
}

// run runs the tests; false if none could be, with a note of why.
func (c *contrast) run() bool {
	if min(len(c.x), len(c.y)) < 2 {
		c.note("one run of an arm: nothing can be said beyond the difference")
		return false
	}
	welch, err := stats.Welch(c.x, c.y)
	if err != nil {
		c.note("%s", whyNot(err))
		return false
	}
	c.welch, c.test = &welch, welch
	c.runPaired()
	return true
}

// leastPairs is from how many pairs on they are analysed as such: fewer say less than the runs apart.
const leastPairs = 3

// runPaired tests the runs by pairs if there are enough of them, and most runs are in one.
func (c *contrast) runPaired() {
	pairs := pairsOf(c.a.runs, c.b.runs)
	if pairs.rebooted > 0 {
		c.note("not used as pairs, with a reboot within: %d", pairs.rebooted)
	}
	if pairs.ambiguous > 0 {
		c.note("not used as pairs, with more than one run of an arm: %d", pairs.ambiguous)
	}
	x, y := at(pairs.a, c.x), at(pairs.b, c.y)
	if len(x) < leastPairs || 2*len(x) <= max(len(c.x), len(c.y)) {
		return
	}
	paired, err := stats.Paired(x, y)
	if err != nil {
		c.note("not tested by pairs: %s", whyNot(err))
		return
	}
	if left := len(c.x) + len(c.y) - 2*len(x); left > 0 {
		c.note("%d runs are in no pair and do not enter the paired test", left)
	}
	c.paired, c.test, c.pairs = &paired, paired, len(x)
}

// whyNot is the outcome of a test that could not be made.
func whyNot(err error) string {
	switch {
	case errors.Is(err, stats.ErrNoSpread):
		return "no spread: in both arms every run has the same value, so there is nothing to test by; the difference stands as it is"
	case errors.Is(err, stats.ErrTooFew):
		return "too few runs to test"
	default:
		return "not tested: " + err.Error()
	}
}

// ratios turns an interval of the scale into one of ratios.
func ratios(i stats.Interval) *Interval { return interval(math.Exp(i.Low), math.Exp(i.High)) }

// interval is nil of ends that JSON cannot hold.
func interval(low, high float64) *Interval {
	if finite(low) == nil || finite(high) == nil {
		return nil
	}
	return &Interval{low, high}
}

// differences turns an interval of the scale into one in the unit of the metric: of logarithms, by the
// mean of the baseline.
func (c *contrast) differences(i stats.Interval) *Interval {
	if !c.log {
		return interval(i.Low, i.High)
	}
	return interval(math.Expm1(i.Low)*c.meanA, math.Expm1(i.High)*c.meanA)
}

// byMargin turns a distance on the scale into what a margin is: a share of the baseline, or an amount.
func (c *contrast) byMargin(distance float64) float64 {
	switch {
	case c.log:
		return math.Expm1(distance)
	case c.margin.Relative:
		return distance / math.Abs(c.meanA)
	}
	return distance
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
