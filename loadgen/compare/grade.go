package compare

import (
	"fmt"
	"slices"
)

// proven is the grade of a signal that independent observations agree on.
const proven = "proven"

// refOf names a run and grades it; against lists what is wrong with the runs of its arm together.
func refOf(r *Run, against []string) RunRef {
	ref := RunRef{Run: r.ID, StartedAt: r.StartedAt, Grade: GradeInvalid, Why: slices.Clone(r.InvalidReasons)}
	if !r.Valid {
		return ref
	}
	ref.Why = notDecisive(r, against)
	if ref.Grade = GradeValid; len(ref.Why) == 0 {
		ref.Grade = GradeDecision
	}
	return ref
}

// notDecisive returns why a valid run cannot support a decision.
func notDecisive(r *Run, against []string) []string {
	var why []string
	if r.Simulated || simulatedMode(r.Mode) {
		why = append(why, "simulated")
	}
	if r.Imported != "" {
		why = append(why, "imported: its validity was not checked here")
	}
	why = append(why, against...)
	for _, signal := range r.Expected {
		if grade := r.Signals[signal]; grade != proven {
			why = append(why, fmt.Sprintf("%s is not proven", signal))
		}
	}
	return why
}

// raisedGrounds returns why runs cannot support a decision if their campaign raised n after its arms had been compared:
// repeated looks find a difference by chance.
func raisedGrounds(runs []*Run) []string {
	for _, r := range runs {
		if r.NRaisedFrom > 0 {
			return []string{fmt.Sprintf("n was raised from %d after a comparison of the campaign", r.NRaisedFrom)}
		}
	}
	return nil
}

// liveMode is the telemetry mode of a real machine, read during the run.
const liveMode = "live"

// simulatedMode reports whether the telemetry is not of a real machine, read during the run.
func simulatedMode(mode string) bool { return mode != "" && mode != liveMode }
