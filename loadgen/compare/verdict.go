package compare

import (
	"math"

	"github.com/umascope/umascope/loadgen/stats"
)

// verdicts sets the verdict of each metric of a stratum, in all its pairs. The p values of the metrics that decide are
// adjusted as one family, those of all others as another: each further arm enlarges both.
func verdicts(pairs [][]*row, o Options) {
	var primaries, others []*row
	next := 1
	for _, rows := range pairs {
		next = findQuantities(rows, next)
		decides := 0
		for _, r := range rows {
			if r.out.Primary {
				decides = r.quantity
			}
		}
		for _, r := range rows {
			switch {
			case !r.tested:
			case r.quantity == decides:
				primaries = append(primaries, r)
			default:
				others = append(others, r)
			}
		}
	}
	for _, family := range [][]*row{primaries, others} {
		adjust(family, o)
	}
	for _, rows := range pairs {
		for _, r := range rows {
			if r.out.Verdict = r.verdict(); r.out.Verdict == Inconclusive {
				r.setNeeded()
			}
		}
	}
}

// adjust adjusts the p values of a family. A metric that decides alone needs no adjustment.
func adjust(family []*row, o Options) {
	var p []float64
	var of []int
	distinct := map[int]bool{}
	for _, r := range family {
		p, of = append(p, r.p()), append(of, r.quantity)
		distinct[r.quantity] = true
	}
	holm, bh := stats.HolmOnce(p, of), stats.BenjaminiHochberg(p)
	for i, r := range family {
		r.family = len(distinct)
		if r.out.Primary && r.family == 1 {
			continue
		}
		r.out.HolmP = &holm[i]
		if o.wants(ColumnBonferroni) {
			r.out.BonferroniP = pointer(min(1, p[i]*float64(r.family)))
		}
		if o.wants(ColumnBH) {
			r.out.BHP = &bh[i]
		}
	}
}

// verdict follows a precedence that is fixed before any figure is seen: a difference within the margin is no finding,
// however certain it is.
func (r *row) verdict() Verdict {
	switch {
	case r.constant:
		return r.constantVerdict()
	case !r.tested:
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

// side returns better or worse by the sign of a difference and the direction of its metric; different if neither
// direction is better.
func side(direction Direction, difference float64) Verdict {
	switch {
	case direction == NeitherBetter:
		return Different
	case (direction == HigherIsBetter) == (difference > 0):
		return Better
	}
	return Worse
}

// constantVerdict returns the verdict of a difference that is the same in all runs.
func (r *row) constantVerdict() Verdict {
	difference := r.constantDifference()
	const rounding = 1e-9
	switch within := rounding * (r.high - r.low); {
	case math.Abs(difference) <= within:
		return Equivalent
	case r.low-within <= difference && difference <= r.high+within:
		return Irrelevant
	}
	return side(r.metric.Direction, difference)
}
