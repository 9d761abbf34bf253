package compare

import (
	"math"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// Verdict is the result for a metric of a pair.
type Verdict string

// The verdicts, for b against a.
const (
	Equivalent Verdict = "equivalent"
	Irrelevant Verdict = "irrelevant" // different, but by less than the margin
	// Better, Worse and Different: the 95 % interval lies wholly beyond the margin. Different is of a metric of which
	// neither direction is better.
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	Different Verdict = "different"
	// The interval excludes 0 but crosses the margin: whether the difference matters is not decided.
	BetterExtentOpen    Verdict = "better_extent_not_decided"
	WorseExtentOpen     Verdict = "worse_extent_not_decided"
	DifferentExtentOpen Verdict = "different_extent_not_decided"
	// Confounded: time explains the figures as well as the arms do, by the order of the runs or a drift.
	Confounded   Verdict = "confounded"
	Inconclusive Verdict = "inconclusive"
	Undecided    Verdict = "difference_only" // only the difference is known: n = 1
)

// extentOpen has the verdict of each direction whose interval crosses the margin.
var extentOpen = map[Verdict]Verdict{Better: BetterExtentOpen, Worse: WorseExtentOpen, Different: DifferentExtentOpen}

// ExtentOpen reports whether there is a difference that may be smaller or larger than the margin.
func (v Verdict) ExtentOpen() bool {
	return v == BetterExtentOpen || v == WorseExtentOpen || v == DifferentExtentOpen
}

// IsDifference reports whether the verdict states a difference that is not shown to be irrelevant.
func (v Verdict) IsDifference() bool {
	return v == Better || v == Worse || v == Different || v.ExtentOpen()
}

// Decides reports whether the verdict says which side of the margin the difference is on.
func (v Verdict) Decides() bool {
	switch v {
	case Equivalent, Irrelevant, Better, Worse, Different:
		return true
	}
	return false
}

// Text returns the verdict in words: "worse, extent not decided".
func (v Verdict) Text() string {
	if v == Confounded {
		return "confounded with time"
	}
	if which, open := strings.CutSuffix(string(v), "_extent_not_decided"); open {
		return which + ", extent not decided"
	}
	return strings.ReplaceAll(string(v), "_", " ")
}

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
			switch r.out.Verdict = r.verdict(); {
			case r.out.Verdict == Inconclusive:
				r.setNeeded()
			case r.out.Verdict.ExtentOpen():
				r.setNeededForExtent()
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
	which := side(r.metric.Direction, r.test.Difference)
	if beyond := ci95.Low >= r.high || ci95.High <= r.low; !beyond {
		return extentOpen[which]
	}
	return which
}

// side returns better or worse by the sign of a difference and the direction of its metric; different if neither
// direction is better.
func side(direction figure.Direction, difference float64) Verdict {
	switch {
	case direction == figure.NeitherBetter:
		return Different
	case (direction == figure.HigherIsBetter) == (difference > 0):
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
