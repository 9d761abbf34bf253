package compare

import (
	"math"

	"github.com/umascope/umascope/loadgen/stats"
)

// verdicts adjusts the p values of the metrics that are not primary as one family, and says of each
// metric what can be said.
func verdicts(rows []*row, o Options) {
	var family []*row
	var p []float64
	for _, r := range rows {
		if r.tested && !r.out.Primary {
			family, p = append(family, r), append(p, r.p())
		}
	}
	adjust(family, stats.Holm(p), func(r *row, p *float64) { r.out.HolmP = p })
	if o.wants(ColumnBonferroni) {
		adjust(family, stats.Bonferroni(p), func(r *row, p *float64) { r.out.BonferroniP = p })
	}
	if o.wants(ColumnBH) {
		adjust(family, stats.BenjaminiHochberg(p), func(r *row, p *float64) { r.out.BHP = p })
	}
	for _, r := range rows {
		r.out.Verdict = r.verdict()
		if r.out.Verdict == Inconclusive {
			r.out.NeedN = r.need(len(family))
		}
	}
}

func adjust(family []*row, adjusted []float64, set func(r *row, p *float64)) {
	for i, r := range family {
		set(r, &adjusted[i])
	}
}

// verdict goes by the precedence that is fixed before any figure is seen: what lies within the margin is
// no finding, however sure it is.
func (r *row) verdict() Verdict {
	if !r.tested {
		return Undecided
	}
	ci95, ci90 := r.test.Interval(0.95), r.test.Interval(0.90)
	switch {
	case ci95.Inside(r.low, r.high) && ci95.Holds(0):
		return Equivalent
	case ci95.Inside(r.low, r.high):
		return Irrelevant
	case ci90.Inside(r.low, r.high):
		return Equivalent
	case ci95.Holds(0), r.out.HolmP != nil && *r.out.HolmP > significance:
		return Inconclusive
	}
	return side(r.metric.Direction, r.test.Difference)
}

// side is which way a difference goes.
func side(direction Direction, difference float64) Verdict {
	switch {
	case direction == NeitherBetter:
		return Different
	case (direction == HigherIsBetter) == (difference > 0):
		return Better
	}
	return Worse
}

// mostNeeded is beyond what anybody runs.
const mostNeeded = 100_000

// need is how many runs each arm would need for a verdict: for two equal arms to be shown equivalent, and
// a difference as large as the margin to be found, in four of five repetitions. Where there are as many
// already, the difference lies about where the margin ends, and it is what tells it from there. One of a
// family has to be found among all of it.
func (r *row) need(family int) *int {
	alpha := significance
	if !r.out.Primary {
		alpha /= float64(family)
	}
	n := 2 / (1/float64(len(r.x)) + 1/float64(len(r.y)))
	if r.paired != nil {
		n = float64(r.pairs)
	}
	sd := r.test.SE * math.Sqrt(n/2)
	margin := min(-r.low, r.high) / sd
	equal, errEqual := stats.EquivalenceSampleSize(margin, wantedPower, significance)
	found, errFound := stats.SampleSize(margin, wantedPower, alpha)
	if errEqual != nil || errFound != nil {
		return nil
	}
	needed := max(equal, found)
	if needed <= n {
		edge := math.Abs(math.Abs(r.test.Difference)-min(-r.low, r.high)) / sd
		apart, err := stats.SampleSize(edge, wantedPower, alpha)
		if err != nil {
			return nil
		}
		needed = max(apart, n+1)
	}
	if needed > mostNeeded {
		return nil
	}
	whole := int(math.Ceil(needed))
	return &whole
}
