package demo

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// run is a run of a campaign in the order of time, with the start of its engine in the ground truth.
type run struct {
	compare.RunRef
	arm     string
	invalid bool
	place   int // among the valid runs of its arm
	start   *Start
}

// truthRuns returns the runs of a campaign in the order of time. They have their starts if there is one for each, of the
// same arm: after a run that failed, or one whose start is missing, all later runs would have the start of another run.
func truthRuns(c Campaign) (runs []run, matched bool) {
	s, there := stratum(c)
	if !there {
		return nil, false
	}
	for arm, a := range s.Arms {
		for i, r := range a.Runs {
			runs = append(runs, run{RunRef: r, arm: arm, place: i})
		}
		for _, r := range a.Excluded {
			runs = append(runs, run{RunRef: r, arm: arm, invalid: true})
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return a.StartedAt.Compare(b.StartedAt) })
	matched = len(runs) == len(c.Starts) && len(runs) > 0
	for i := range runs {
		matched = matched && runs[i].arm == c.Starts[i].Arm
	}
	for i := range runs {
		if matched {
			runs[i].start = &c.Starts[i]
		}
	}
	return runs, matched
}

// stratum returns the only stratum of a campaign of the demo.
func stratum(c Campaign) (compare.Stratum, bool) {
	if c.Comparison == nil || len(c.Comparison.Strata) == 0 {
		return compare.Stratum{}, false
	}
	return c.Comparison.Strata[0], true
}

// pairOf returns its only pair of arms.
func pairOf(c Campaign) (compare.Pair, bool) {
	s, there := stratum(c)
	if !there || len(s.Pairs) == 0 {
		return compare.Pair{}, false
	}
	return s.Pairs[0], true
}

// find returns a metric of a pair from its best source: measured before reported by the engine.
func find(p compare.Pair, name string) *compare.Metrics {
	var found *compare.Metrics
	for i := range p.Metrics {
		if m := &p.Metrics[i]; m.Name == name && (found == nil || found.EngineReported) {
			found = m
		}
	}
	return found
}

// valueOf returns the figure of a run, of the same source as the metric that is compared.
func valueOf(s compare.Stratum, r run, m *compare.Metrics) *float64 {
	if m == nil || r.invalid {
		return nil
	}
	for _, series := range s.Arms[r.arm].Metrics {
		if series.Name == m.Name && series.EngineReported == m.EngineReported && r.place < len(series.Values) {
			return series.Values[r.place]
		}
	}
	return nil
}

// groundTruth is the ground truth of a difference that a comparison has found: the same runs, by the simulator's figures.
type groundTruth struct {
	difference float64
	a, b       int // number of starts of each arm
}

// groundTruthOf returns the ground truth of b minus a, over the starts of the runs that have a figure of the metric; nil
// unless both arms have starts, and every run can be matched with its own.
func groundTruthOf(c Campaign, p compare.Pair, m *compare.Metrics, of func(Start) float64) *groundTruth {
	runs, matched := truthRuns(c)
	s, _ := stratum(c)
	var a, b []float64
	for _, r := range runs {
		switch {
		case !matched || valueOf(s, r, m) == nil:
		case r.arm == p.A:
			a = append(a, of(*r.start))
		case r.arm == p.B:
			b = append(b, of(*r.start))
		}
	}
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	return &groundTruth{mean(b) - mean(a), len(a), len(b)}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// describe describes the ground truth next to an interval; the tone shows whether the interval contains it.
func (b *groundTruth) describe(unit figure.Unit, ci *compare.Interval) (text string, tone render.Tone) {
	if b == nil {
		return "none that can be matched with the runs", render.Note
	}
	text = signed(unit, b.difference)
	n := fmt.Sprintf(" (n = %d and %d starts)", b.a, b.b)
	switch {
	case ci == nil:
		return text + ", no interval" + n, render.Note
	case b.difference >= ci[0] && b.difference <= ci[1]:
		return text + ", inside the interval" + n, render.Good
	default:
		return text + ", outside the interval" + n, render.Bad
	}
}
