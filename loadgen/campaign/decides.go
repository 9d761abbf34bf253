package campaign

import (
	"fmt"
	"maps"
	"slices"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Decides is what decides the verdict on a campaign. It is fixed before the first run, since a choice made after the
// figures are known biases the verdict.
type Decides struct {
	// N is how many runs the plan has for each model, arm and scenario.
	N int `json:"n"`
	// Primary is the metric that decides, by scenario.
	Primary map[string]string `json:"primary"`
	// Margins are the largest differences that do not matter, by metric.
	Margins map[string]string `json:"margins"`
}

// decides returns what decides the verdict; nil for a plan whose arms are not compared.
func (r *Invocation) decides() *Decides {
	if r.c.Decides.N == 0 {
		return nil
	}
	return &r.c.Decides
}

// takeDecides records what an invocation decides by. N may change until the arms are compared for the first time.
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

// holdDecides refuses a changed plan whose primary metric or margin differs from that of the campaign's first run.
func (r *Invocation) holdDecides() error {
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
				return fmt.Errorf("%s: --plan-changed: %s %s was %s when the campaign began and is %q now: it is fixed since the first run. Give another --out",
					r.c.Dir, of.what, key, of.was[key], of.now[key])
			}
		}
	}
	return nil
}

// raisedFrom returns the plan's N at the first comparison of the arms, for a slot of the plan that was added after it;
// 0 for other slots.
func (r *Invocation) raisedFrom(slot plan.Slot) int {
	if slot.Repeats > 0 || slot.Iteration <= r.known.nRaisedFrom {
		return 0
	}
	return r.known.nRaisedFrom
}
