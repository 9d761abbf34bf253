package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/stats"
)

// seriesOf returns the metrics of an arm over its valid runs, each with its drift over time.
func seriesOf(a *arm) []Series {
	all := []Series{}
	for _, k := range keys() {
		s := a.sample(k)
		if len(s.values) == 0 {
			continue
		}
		series := Series{Name: k.name, EngineReported: k.engine, Drift: a.drift(k)}
		for _, r := range a.valid {
			if v, known := r.metric(k); known {
				series.Values = append(series.Values, &v)
			} else {
				series.Values = append(series.Values, nil)
			}
		}
		all = append(all, series)
	}
	return all
}

// driftOf returns the drift of a metric with the start of its runs.
func driftOf(s sample) Drift {
	var d Drift
	if len(s.values) > 1 {
		d.HighestAt = 1 + slices.Index(s.values, slices.Max(s.values))
		d.LowestAt = 1 + slices.Index(s.values, slices.Min(s.values))
	}
	var starts []float64
	for _, r := range s.runs {
		if r.StartedAt.IsZero() {
			return d // the order is unknown
		}
		starts = append(starts, r.StartedAt.Sub(s.runs[0].StartedAt).Seconds())
	}
	if with, err := stats.Spearman(starts, s.values); err == nil {
		d.Spearman, d.P = &with.R, &with.P
		d.Significant = with.P <= significance
	}
	if rho, err := stats.Lag1(s.values); err == nil {
		d.Lag1 = &rho
		d.EffectiveN = pointer(stats.EffectiveN(len(s.values), rho))
	}
	return d
}

// leastForDrift is the smallest number of pairs, or of runs of each arm that are tested apart, that are tested for a drift
// of their difference.
const leastForDrift = 4

// Levels of the tests of drift, for all tests of a comparison together. A test of few pairs finds up to 1.8 times as many
// by chance (stats.PairTrend), so that 0.5 % of clean campaigns are confounded by chance.
const (
	primaryDriftLevel = 0.003
	otherDriftLevel   = 0.0005
	wantedDriftPower  = 0.90
)

// findDrifts tests the drift of each row of a pair whose arms are interleaved, first of the metric that decides. If that
// drifts, the conditions did not stay the same: the others then need no more than significance each. In clean campaigns
// that adds no drift by chance.
func (c *comparing) findDrifts(p *Pair, rows []*row) {
	if p.Order.Kind == OrderBlocked {
		return // arm and time are confounded whatever drifts
	}
	decides, others := 0, map[int]bool{}
	for _, r := range rows {
		if r.out.Primary {
			decides = r.quantity
		}
	}
	for _, r := range rows {
		if r.quantity != decides {
			others[r.quantity] = true // metrics of one quantity count as one test
		}
	}
	pairs := float64(len(c.cells) * (len(c.arms) - 1))
	primary := primaryDriftLevel / pairs
	for _, r := range rows {
		if r.out.Primary && r.tested {
			p.Order.Drift, p.Order.CommonDrift = r.findDrift(p.Order.Kind, primary)
		}
	}
	other := otherDriftLevel / pairs / float64(max(len(others), 1))
	if found(p.Order.Drift) || found(p.Order.CommonDrift) {
		other = significance
	}
	for _, r := range rows {
		switch {
		case r.out.Primary || !r.tested:
		case r.quantity == decides:
			r.findDrift(p.Order.Kind, primary)
		default:
			r.findDrift(p.Order.Kind, other)
		}
	}
}

// findDrift tests whether the difference of a row drifts and, where the arms alternate strictly, whether both do.
func (r *row) findDrift(order string, level float64) (own, common *PairDrift) {
	if order == OrderAlternating {
		level /= 2
		common = r.commonDrift(level)
	}
	own = r.differenceDrift(level)
	switch {
	case own.Significant:
		r.out.Drift = own
	case found(common):
		r.out.Drift = common
	}
	return own, common
}

// differenceDrift tests whether the difference between the arms drifts over time.
func (r *row) differenceDrift(level float64) *PairDrift {
	d := &PairDrift{Metric: r.key.name, Level: level}
	a, b := r.starts()
	n, what := min(len(r.x), len(r.y)), "runs of each arm"
	if r.paired() {
		d.Pairs, what = n, "pairs"
	}
	switch {
	case a == nil:
		d.Note = "the start of a run is not known"
		return d
	case n < leastForDrift:
		d.Note = fmt.Sprintf("%d of at least %d %s", n, leastForDrift, what)
		return d
	case !r.paired():
		r.judgeDrift(d, func() (stats.TTest, error) { return stats.TrendDifference(a, r.x, b, r.y) })
		return d
	}
	middles := make([]float64, n)
	for i := range middles {
		middles[i] = (a[i] + b[i]) / 2
	}
	groups := make([]bool, n)
	if r.method == MethodBalancedPairs {
		groups = r.aFirst
	}
	r.judgeDrift(d, func() (stats.TTest, error) { return stats.PairTrend(middles, r.x, r.y, groups) })
	return d
}

// commonDrift tests whether both arms drift over time.
func (r *row) commonDrift(level float64) *PairDrift {
	d := &PairDrift{Metric: r.key.name, Common: true, Level: level}
	a, b := r.starts()
	if a == nil {
		d.Note = "the start of a run is not known"
		return d
	}
	arm := make([]bool, len(a)+len(b))
	for i := range b {
		arm[len(a)+i] = true
	}
	r.judgeDrift(d, func() (stats.TTest, error) {
		return stats.Trend(slices.Concat(a, b), slices.Concat(r.x, r.y), arm)
	})
	return d
}

// judgeDrift fills a drift with the result of its test. A drift that is smaller than the margin does not matter.
func (r *row) judgeDrift(d *PairDrift, test func() (stats.TTest, error)) {
	trend, err := test()
	if err != nil {
		d.Note = "the figures do not vary, or are too few"
		return
	}
	a, b := r.starts()
	all := slices.Concat(a, b)
	span := slices.Max(all) - slices.Min(all)
	change := trend.Difference * span
	d.P, d.Change = &trend.P, finite(r.byMargin(change))
	d.Significant = trend.P <= d.Level && (change >= r.high || change <= r.low)
	if seen, err := trend.Detectable(wantedDriftPower, d.Level); err == nil {
		d.Detectable = finite(max(r.byMargin(seen*span), r.margin.Value))
	}
}

// blockShift returns by how much the drift within the arms may shift their difference when they ran in blocks: the larger
// change over an arm that drifts, on the scale of the analysis. The middles of two blocks are about one block apart.
func (r *row) blockShift(driftsA, driftsB bool) float64 {
	startsA, startsB := r.starts()
	shift := 0.0
	for _, arm := range []struct {
		drifts bool
		at, y  []float64
	}{{driftsA, startsA, r.x}, {driftsB, startsB, r.y}} {
		if !arm.drifts || len(arm.at) == 0 {
			continue
		}
		if trend, err := stats.Trend(arm.at, arm.y, make([]bool, len(arm.at))); err == nil {
			shift = max(shift, math.Abs(trend.Difference)*(slices.Max(arm.at)-slices.Min(arm.at)))
		}
	}
	return shift
}

// leavesMargin reports whether the interval that showed arms to be alike reaches out of the margin when it is shifted.
func (r *row) leavesMargin(shift float64) bool {
	if !r.tested {
		difference := r.constantDifference()
		return difference-shift < r.low || difference+shift > r.high
	}
	i := r.test.Interval(0.90)
	return i.Low-shift < r.low || i.High+shift > r.high
}

// starts returns the starts of the runs of both arms, in seconds from the first run of a; nil if one is unknown.
func (r *row) starts() (a, b []float64) {
	of := func(runs []*Run) []float64 {
		var seconds []float64
		for _, one := range runs {
			if one.StartedAt.IsZero() {
				return nil
			}
			seconds = append(seconds, one.StartedAt.Sub(r.a.runs[0].StartedAt).Seconds())
		}
		return seconds
	}
	if a, b = of(r.a.runs), of(r.b.runs); a == nil || b == nil {
		return nil, nil
	}
	return a, b
}

// driftWarning lists the metrics of an arm that drift over time, and of how many: one in twenty does by chance.
func driftWarning(name string, a Arm) []Warning {
	var texts []string
	looked := 0
	for _, s := range a.Metrics {
		m, known := figure.FindCompared(s.Name)
		if !known || s.Drift.P == nil {
			continue
		}
		if looked++; s.Drift.Significant {
			texts = append(texts, m.Title+" "+s.Drift.text(len(a.Runs)))
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return []Warning{warn(CodeDrift, "%s drifts with time over %s: %s; of %s looked at, one in 20 would by chance",
		name, Runs(len(a.Runs)), strings.Join(texts, "; "), figures(looked))}
}

// text describes the direction of a drift, and the effective number of runs if each run resembles the one before.
func (d Drift) text(runs int) string {
	direction := "rises"
	if *d.Spearman < 0 {
		direction = "falls"
	}
	worth := ""
	if d.EffectiveN != nil && *d.EffectiveN < float64(runs) {
		worth = fmt.Sprintf(", %s worth %.1f", Runs(runs), *d.EffectiveN)
	}
	return fmt.Sprintf("%s (Spearman %.2f, p %.2g%s)", direction, *d.Spearman, *d.P, worth)
}

func figures(n int) string {
	if n == 1 {
		return "1 figure"
	}
	return fmt.Sprintf("%d figures", n)
}
