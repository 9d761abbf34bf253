package demo

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// pair returns the only pair of arms of a campaign of the demo, with its stratum.
func (c *shownCampaign) pair() (compare.Stratum, compare.Pair, bool) {
	if c.comparison == nil || len(c.comparison.Strata) == 0 || len(c.comparison.Strata[0].Pairs) == 0 {
		return compare.Stratum{}, compare.Pair{}, false
	}
	s := c.comparison.Strata[0]
	return s, s.Pairs[0], true
}

// occupied returns the compared memory occupied without KV cache, as the simulated machine measures it; nil without a
// comparison of it.
func (c *shownCampaign) occupied() *compare.Metrics {
	_, p, _ := c.pair()
	for i, m := range p.Metrics {
		if m.Name == figure.MemoryOccupiedWithoutKV && !m.EngineReported && m.Difference != nil {
			return &p.Metrics[i]
		}
	}
	return nil
}

// groundTruth is the ground truth of a difference that a comparison has found: the same runs, by the simulator's figures.
type groundTruth struct {
	difference float64
	a, b       int // number of starts of each arm
}

// groundTruth returns the ground truth of b minus a for the memory occupied without KV cache, over the starts of the
// runs that have that figure. It is nil unless there is one start for each run, of the same arm: after a run that
// failed, or one whose start is missing, all later runs would have the start of another run.
func (c *shownCampaign) groundTruth() *groundTruth {
	type run struct {
		compare.RunRef
		arm   string
		value *float64
	}
	s, p, _ := c.pair()
	var runs []run
	for name, arm := range s.Arms {
		var values []*float64
		for _, series := range arm.Metrics {
			if series.Name == figure.MemoryOccupiedWithoutKV && !series.EngineReported {
				values = series.Values
			}
		}
		for i, ref := range arm.Runs {
			r := run{RunRef: ref, arm: name}
			if i < len(values) {
				r.value = values[i]
			}
			runs = append(runs, r)
		}
		for _, ref := range arm.Excluded {
			runs = append(runs, run{RunRef: ref, arm: name})
		}
	}
	if len(runs) != len(c.accounts) {
		return nil
	}
	slices.SortFunc(runs, func(a, b run) int { return a.StartedAt.Compare(b.StartedAt) })
	var truth groundTruth
	var a, b float64
	for i, r := range runs {
		start := c.accounts[i]
		switch {
		case r.arm != start.arm:
			return nil
		case r.value == nil:
		case r.arm == p.A:
			truth.a, a = truth.a+1, a+float64(start.occupiedWithoutKVBytes)
		case r.arm == p.B:
			truth.b, b = truth.b+1, b+float64(start.occupiedWithoutKVBytes)
		}
	}
	if truth.a == 0 || truth.b == 0 {
		return nil
	}
	truth.difference = b/float64(truth.b) - a/float64(truth.a)
	return &truth
}

// describe describes the ground truth next to an interval; the tone is Bad if the interval does not contain it.
func (t *groundTruth) describe(ci *compare.Interval) (text string, tone render.Tone) {
	if t == nil {
		return "none that can be matched with the runs", render.Note
	}
	text = fmt.Sprintf("%+.2f GiB (n = %d and %d starts)", t.difference/gib, t.a, t.b)
	switch {
	case ci == nil:
		return text + ", no interval", render.Note
	case t.difference >= ci[0] && t.difference <= ci[1]:
		return text + ", inside the interval", render.Good
	default:
		return text + ", outside the interval", render.Bad
	}
}
