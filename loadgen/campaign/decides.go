package campaign

import (
	"fmt"
	"maps"
	"slices"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Decides is what a verdict on a campaign goes by. It stands before the first run, since a choice by the figures biases
// the verdict.
type Decides struct {
	// N is how many runs of each model, arm and scenario the plan has.
	N int `json:"n"`
	// Primary is the metric that decides, by scenario.
	Primary map[string]string `json:"primary"`
	// Margins are the largest differences that do not matter, by metric.
	Margins map[string]string `json:"margins"`
}

// takeDecides enters what an invocation decides by. N may change until the arms are compared for the first time.
func (p *progress) takeDecides(e Event) {
	switch {
	case e.Decides == nil:
	case p.decides == nil:
		own := *e.Decides
		p.decides = &own
	case !e.Compared:
		p.decides.N = e.Decides.N
	case e.Decides.N > p.decides.N && p.nRaisedFrom == 0:
		p.nRaisedFrom = p.decides.N
	}
}

// holdDecides refuses a changed plan with another primary metric or margin than the campaign began with.
func (r *runner) holdDecides() error {
	began := r.known.decides
	if began == nil {
		return nil
	}
	for _, of := range []struct {
		what     string
		was, now map[string]string
	}{{"primary metric of scenario", began.Primary, r.c.Decides.Primary}, {"margin of", began.Margins, r.c.Decides.Margins}} {
		for _, key := range slices.Sorted(maps.Keys(of.was)) {
			if of.now[key] != of.was[key] {
				return fmt.Errorf("%s: --plan-changed: %s %s was %s when the campaign began and is %q now: it stands since the first run. Give another --out",
					r.c.Dir, of.what, key, of.was[key], of.now[key])
			}
		}
	}
	return nil
}

// raisedFrom is the n of the plan when its arms were compared, of a slot of the plan that came in after that; 0 of others.
func (r *runner) raisedFrom(slot plan.Slot) int {
	if slot.Repeats > 0 || slot.Iteration <= r.known.nRaisedFrom {
		return 0
	}
	return r.known.nRaisedFrom
}
