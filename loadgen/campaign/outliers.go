package campaign

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Outlier is a round of a model and scenario with a run that is too far from the median of its arm.
type Outlier struct {
	Model, Scenario string
	Round           int
	// Text names the run and its distance.
	Text string
}

// schedule returns every slot of the plan, followed by the slots that the campaign has added.
func (r *Invocation) schedule() []plan.Slot {
	slots := r.c.Plan.Schedule()
	for _, e := range r.known.added {
		for _, slot := range r.c.Plan.Round(e.Model, e.Scenario, e.Iteration, e.Slot) {
			slot.Repeats = e.Repeats
			slots = append(slots, slot)
		}
	}
	return slots
}

// holdAdded refuses a changed plan whose number of slots differs from when rounds were added after them.
func (r *Invocation) holdAdded() error {
	if n := len(r.c.Plan.Schedule()); len(r.known.added) > 0 && r.known.added[0].Slot != n+1 {
		return fmt.Errorf("%s: --plan-changed: the plan had %d slots when rounds with a run that was off were repeated behind them, and has %d now. Give another --out",
			r.c.Dir, r.known.added[0].Slot-1, n)
	}
	return nil
}

// selectAdded selects the slots that an earlier invocation has added, so that pairs become complete.
func (r *Invocation) selectAdded() {
	only := r.c.Only
	only.Iterations = 0
	for _, slot := range r.schedule()[len(r.c.Plan.Schedule()):] {
		if only.Takes(slot) {
			r.slots = append(r.slots, slot)
		}
	}
}

// repeatOutliers adds a round for each round of the plan that has an outlier: once, with a run of every arm. It
// replaces no run. It returns how many slots were added.
func (r *Invocation) repeatOutliers() (int, error) {
	if !r.c.RepeatOutliers {
		return 0, nil
	}
	outliers, err := r.c.Operations.Outliers()
	if err != nil {
		r.c.Log.Warn("no round is repeated: the runs cannot be compared", "why", err)
		return 0, nil
	}
	before := len(r.slots)
	for _, o := range outliers {
		if round := r.nextRound(o); round > 0 {
			r.addRound(o, round)
		}
	}
	return len(r.slots) - before, r.failure
}

// nextRound returns the number of the round that repeats an outlier; 0 if the outlier's round is not of the plan, or
// was repeated already.
func (r *Invocation) nextRound(o Outlier) int {
	next := r.c.Plan.Iterations + 1
	for _, e := range r.known.added {
		if e.Model == o.Model && e.Scenario == o.Scenario {
			if e.Repeats == o.Round {
				return 0
			}
			next++
		}
	}
	if o.Round < 1 || o.Round > r.c.Plan.Iterations {
		return 0
	}
	return next
}

// addRound adds a round, unless the invocation's selection leaves out a part of it.
func (r *Invocation) addRound(o Outlier, round int) {
	only := r.c.Only
	only.Iterations = 0
	first := len(r.schedule()) + 1
	slots := r.c.Plan.Round(o.Model, o.Scenario, round, first)
	if slices.ContainsFunc(slots, func(s plan.Slot) bool { return !only.Takes(s) }) {
		return
	}
	r.note(Event{Event: eventAdd, Slot: first, Model: o.Model, Scenario: o.Scenario, Iteration: round, Repeats: o.Round, Text: o.Text})
	for _, slot := range slots {
		slot.Repeats = o.Round
		r.slots = append(r.slots, slot)
	}
	r.c.Log.Info("round added", "model", o.Model, "scenario", o.Scenario, "round", round, "repeats", o.Round, "why", o.Text)
}
