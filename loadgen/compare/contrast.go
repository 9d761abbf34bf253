package compare

import (
	"errors"
	"fmt"
	"math"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// contrast holds a metric of two arms on the scale of its analysis.
type contrast struct {
	analysis
	metric figure.Figure
	margin figure.Margin
	meanA  float64 // as measured
	log    bool
	// x and y are the values on the scale; low and high bound the differences that do not matter, around 0.
	x, y      []float64
	low, high float64
	// test is the test of the method, which decides. welch is the unpaired test of the same values.
	test  stats.TTest
	welch *stats.TTest
	// constant is true if the difference is the same in all runs, or in all pairs: the verdict needs no test.
	constant bool
}

// newContrast converts the values of a metric to the scale of its analysis. It needs at least one value of each arm.
func newContrast(m figure.Figure, margin figure.Margin, an analysis) *contrast {
	c := &contrast{analysis: an, metric: m, margin: margin, x: an.a.values, y: an.b.values, meanA: mean(an.a.values)}
	// An absolute margin is a distance on the scale as it is; a relative one is a distance of logarithms.
	if m.Scale == figure.ScaleLog && margin.Relative {
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

// run runs the tests; it returns false if none can be run and adds a note with the reason.
func (c *contrast) run() bool {
	if min(len(c.x), len(c.y)) < 2 {
		what := "run"
		if c.method == MethodWelchOfStarts {
			what = "start"
		}
		c.note("one %s of an arm: only the difference is known", what)
		return false
	}
	if welch, err := stats.Welch(c.x, c.y); err == nil {
		c.welch = &welch
	}
	test, err := c.tested()
	switch {
	case err == nil:
		c.test = test
		return true
	case errors.Is(err, stats.ErrNoSpread) && c.paired() && c.welch != nil:
		c.constant = true
		c.note("no spread: the difference is the same in every pair, so the verdict goes by the difference and the margin")
	case errors.Is(err, stats.ErrNoSpread):
		c.constant = true
		c.note("no spread: in both arms every run has the same value, so the verdict goes by the difference and the margin")
	default:
		c.note("not tested: %v", err)
	}
	return false
}

// tested returns the test of the method.
func (c *contrast) tested() (stats.TTest, error) {
	switch c.method {
	case MethodBalancedPairs:
		test, err := stats.BalancedPairs(c.x, c.y, c.aFirst)
		if errors.Is(err, stats.ErrNoSpread) { // no spread within the halves; between them there may be some
			if plain, err := stats.Paired(c.x, c.y); err == nil {
				c.method = MethodPairs
				return plain, nil
			}
		}
		return test, err
	case MethodPairs:
		return stats.Paired(c.x, c.y)
	}
	return stats.Welch(c.x, c.y)
}

// constantDifference returns the difference on the scale, for a contrast without spread.
func (c *contrast) constantDifference() float64 { return mean(c.y) - mean(c.x) }

// ratios converts an interval on the scale to one of ratios.
func ratios(i stats.Interval) *Interval { return interval(math.Exp(i.Low), math.Exp(i.High)) }

// interval returns nil if JSON cannot hold one of the bounds.
func interval(low, high float64) *Interval {
	if finite(low) == nil || finite(high) == nil {
		return nil
	}
	return &Interval{low, high}
}

// differences converts an interval on the scale to one in the unit of the metric; logarithms are converted with the
// mean of the baseline.
func (c *contrast) differences(i stats.Interval) *Interval {
	if !c.log {
		return interval(i.Low, i.High)
	}
	return interval(math.Expm1(i.Low)*c.meanA, math.Expm1(i.High)*c.meanA)
}

// byMargin converts a distance on the scale to the unit of the margin: a share of the baseline, or an amount.
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
