package compare

import (
	"slices"

	"github.com/umascope/umascope/loadgen/stats"
)

// seriesOf are the metrics of an arm over its valid runs, with how each goes with time.
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

// driftOf says how a metric goes with the start of its runs.
func driftOf(s sample) Drift {
	var d Drift
	if len(s.values) > 1 {
		d.HighestAt = 1 + slices.Index(s.values, slices.Max(s.values))
		d.LowestAt = 1 + slices.Index(s.values, slices.Min(s.values))
	}
	var starts []float64
	for _, r := range s.runs {
		if r.StartedAt.IsZero() {
			return d // in no order
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
