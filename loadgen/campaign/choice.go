package campaign

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Choice is what follows the slots of a campaign that have ended.
type Choice struct {
	// Scenario is the load of the next slot; nil if the campaign ends, in this State and for this Reason.
	Scenario *plan.Scenario
	State    State
	Reason   string
	// Finding is what a search has found so far.
	Finding *Finding
}

// Finding is the result of a search: the two loads that the limit lies between.
type Finding struct {
	Search string `json:"search"`
	// Rule is the rule by which a load counts as beyond the limit, in words.
	Rule string `json:"rule"`
	// Within is the highest load within the limit with no lower load beyond it; Beyond is the lowest load beyond it.
	// The unit is requests in flight, or requests a second. A load that was not found between the two ends is absent.
	Within *float64 `json:"within,omitempty"`
	Beyond *float64 `json:"beyond,omitempty"`
	// Tolerance is the allowed distance between the two, as a share of the lower.
	Tolerance float64 `json:"tolerance_ratio"`
	// HighestThroughput is the highest of all usable runs, in the unit that is given with it, and HighestAt the load of
	// that run. If that load is low, it was measured with too few requests.
	HighestThroughput *float64 `json:"highest_throughput,omitempty"`
	HighestAt         *float64 `json:"highest_throughput_at,omitempty"`
	ThroughputUnit    string   `json:"throughput_unit,omitempty"`
	// Says is the finding as a sentence.
	Says string `json:"says"`
	// Contradictions are runs that a sharp limit would not show; a limit with many of them is a broad one.
	Contradictions []string `json:"contradictions,omitempty"`
}

// choose returns the slot at a place in the order, from 0, or the state in which the campaign ends there. The slots of a
// campaign with Next follow from its runs, so that a resumed campaign makes the same choices again up to the slot where it
// was cut off.
func (r *Invocation) choose(at int) (slot plan.Slot, ends State, reason string) {
	if r.c.Next == nil {
		if at == len(r.slots) {
			return slot, Complete, ""
		}
		return r.slots[at], "", ""
	}
	var made []SlotFacts
	for _, s := range r.slots[:at] {
		made = append(made, r.known.facts(s))
	}
	choice := r.c.Next(made)
	r.finding = choice.Finding
	if choice.Scenario == nil {
		return slot, choice.State, choice.Reason
	}
	next := *choice.Scenario
	if at == len(r.slots) && !slices.ContainsFunc(r.slots, func(s plan.Slot) bool { return s.Scenario == next.Name }) {
		next.Run = plan.Literals(next.Run)
		r.c.Plan.Scenarios = append(r.c.Plan.Scenarios, next)
		r.slots = r.c.Plan.Schedule()
	}
	was := "new"
	if at < len(r.slots) {
		slot = r.slots[at]
		was = slot.Scenario
		if before := r.known.slots[slot.Number]; before != nil {
			was = before.slot.Scenario
		}
	}
	if was != next.Name {
		return slot, Broken, fmt.Sprintf("slot %d is of %s, and by the runs before it would be of %s: these are gone, or their figures have changed", at+1, was, next.Name)
	}
	return slot, "", ""
}
