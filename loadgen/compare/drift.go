package compare

import (
	"fmt"
	"slices"
	"strings"

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

// leastForDrift is the smallest number of pairs whose differences are tested for a drift.
const leastForDrift = 6

// pairDrift tests whether the differences of pairs drift over time, after the means of their halves are removed; nil
// for runs that are not tested by pairs.
func (r *row) pairDrift() *PairDrift {
	if !r.paired() {
		return nil
	}
	d := &PairDrift{Metric: r.key.name, Pairs: len(r.x)}
	times := r.times()
	switch {
	case len(times) == 0:
		d.Note = "not testable: the start of a run is not known"
		return d
	case d.Pairs < leastForDrift:
		d.Note = fmt.Sprintf("not testable: %d of at least %d pairs", d.Pairs, leastForDrift)
		return d
	}
	differences := make([]float64, len(r.x))
	for i := range r.x {
		differences[i] = r.y[i] - r.x[i]
	}
	groups := make([]bool, len(r.x))
	if r.method == MethodBalancedPairs {
		groups = r.aFirst
	}
	trend, err := stats.Trend(times, differences, groups)
	if err != nil {
		d.Note = "not testable: the differences do not vary"
		return d
	}
	d.P, d.Change = &trend.P, finite(r.byMargin(trend.Difference*(slices.Max(times)-slices.Min(times))))
	d.Significant = trend.P < significance
	return d
}

// driftWarning lists the metrics of an arm that drift over time, and of how many: one in twenty does by chance.
func driftWarning(name string, a Arm) []Warning {
	var texts []string
	looked := 0
	for _, s := range a.Metrics {
		m, known := FindMetric(s.Name)
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
