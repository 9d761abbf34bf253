package demo

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/compare"
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
	a, b       int  // number of starts of each arm
	all        bool // over all starts, since runs cannot be matched with starts
}

// groundTruthOf returns the ground truth of b minus a, over the starts of the runs that have a figure of the metric; nil
// unless both arms have starts.
func groundTruthOf(c Campaign, p compare.Pair, m *compare.Metrics, of func(Start) float64) *groundTruth {
	runs, matched := truthRuns(c)
	s, _ := stratum(c)
	var a, b []float64
	take := func(s Start) {
		switch s.Arm {
		case p.A:
			a = append(a, of(s))
		case p.B:
			b = append(b, of(s))
		}
	}
	if matched {
		for _, r := range runs {
			if valueOf(s, r, m) != nil {
				take(*r.start)
			}
		}
	} else {
		for _, s := range c.Starts {
			take(s)
		}
	}
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	return &groundTruth{mean(b) - mean(a), len(a), len(b), !matched}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// describe describes the ground truth next to an interval; the tone shows whether the interval contains it.
func (b *groundTruth) describe(unit compare.Unit, ci *compare.Interval) (text string, tone render.Tone) {
	if b == nil {
		return "The simulator’s books: none of both arms.", render.Note
	}
	text = fmt.Sprintf("The simulator’s books: %s (n = %d and %d starts", signed(unit, b.difference), b.a, b.b)
	if b.all {
		text += ", which could not be told apart by run"
	}
	text += ")"
	switch {
	case ci == nil:
		return text + ". There is no interval to hold it.", render.Note
	case b.difference >= ci[0] && b.difference <= ci[1]:
		return text + ": inside the interval.", render.Good
	default:
		return text + ": outside the interval.", render.Bad
	}
}

// truthRow is a part of the ground truth, as the mean over the starts of each arm.
type truthRow struct {
	name string
	a, b float64
	n    int
}

// parts returns the parts of all starts, as means by arm, in the order of the starts.
func parts(c Campaign, p compare.Pair) (rows []truthRow) {
	values := map[string]map[string][]float64{}
	var names []string
	for _, s := range c.Starts {
		for _, part := range slices.Concat(s.Cached, s.Other) {
			if values[part.Name] == nil {
				values[part.Name] = map[string][]float64{}
				names = append(names, part.Name)
			}
			values[part.Name][s.Arm] = append(values[part.Name][s.Arm], part.Bytes)
		}
	}
	for _, name := range names {
		a, b := values[name][p.A], values[name][p.B]
		if len(a) > 0 && len(b) > 0 {
			rows = append(rows, truthRow{name, mean(a), mean(b), len(a) + len(b)})
		}
	}
	return rows
}
