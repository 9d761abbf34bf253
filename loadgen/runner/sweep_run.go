package runner

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

// SweepRun is one run of a sweep: its value and its outcome.
type SweepRun struct {
	// Number counts from 1 in the order of time.
	Number int
	Value  OverValue
	// Repeat is how often the same value was measured before.
	Repeat int
	// Seed is the run's seed.
	Seed uint64
	SweepOutcome
}

// SweepOutcome is the outcome of a run.
type SweepOutcome struct {
	Run    string
	Status RunStatus
	// Problem is why it failed, in words.
	Problem string
	// Summary is nil if the run failed before it had one.
	Summary *summary.Summary
}

// RunStatus is whether a run is valid, or that it was interrupted or failed.
type RunStatus string

// The statuses of a run.
const (
	Valid       RunStatus = "valid"
	Invalid     RunStatus = "invalid"
	Interrupted RunStatus = "interrupted"
	Failed      RunStatus = "failed"
)

// usable reports whether a run shows how the server handles its load: it is valid, or invalid only because requests
// failed, which is how many servers react to overload. The findings of any other rule (a late client, a machine that
// swapped) are not properties of the load.
func (t SweepRun) usable() bool {
	if t.Status == Valid {
		return true
	}
	return t.Status == Invalid && !slices.ContainsFunc(t.Summary.InvalidReasons, func(r summary.Reason) bool { return r.Code != summary.CodeErrorRate })
}

// clientFault reports whether the client was stopped or sent late, so that the run shows the client and not the server.
func (t SweepRun) clientFault() bool {
	return t.Status == Invalid && slices.ContainsFunc(t.Summary.InvalidReasons, func(r summary.Reason) bool {
		return r.Code == summary.CodeClientLag || r.Code == summary.CodeClientStall
	})
}

// gaveUp returns why a run was stopped at once, if it was: every other point would be stopped too.
func (t SweepRun) gaveUp() summary.Code {
	if t.Summary == nil {
		return ""
	}
	for _, r := range t.Summary.InvalidReasons {
		if r.Code == summary.CodeModelDropped || r.Code == summary.CodePromptLimit {
			return r.Code
		}
	}
	return ""
}

// State returns the status of the run, with the reasons for which it is invalid.
func (t SweepRun) State() string { return string(t.Status) + t.codes() }

// errorRatio returns the share of measured requests that did not end ok, 0 to 1.
func (t SweepRun) errorRatio() float64 {
	if t.Summary == nil {
		return 0
	}
	if ratio := summary.FailedRatio(t.Summary.Requests); ratio != nil {
		return *ratio
	}
	return 0
}

// met reports whether the SLO was kept; known is false without an SLO, or if the run shows nothing.
func (t SweepRun) met() (met, known bool) {
	if !t.usable() || t.Summary.SLO == nil {
		return false, false
	}
	return t.Summary.SLO.Met, true
}

// throughputMeasure is a throughput that is comparable between runs, by the names of its figures.
type throughputMeasure struct{ steady, whole string }

// unit returns the unit in words.
func (m throughputMeasure) unit() string {
	f, _ := figure.Find(m.whole)
	return f.Title
}

// throughputMeasures returns the throughputs, the most meaningful first.
func throughputMeasures() []throughputMeasure {
	return []throughputMeasure{{figure.SteadyOutputTokensPerSecond, figure.OutputTokensPerSecond}, {figure.SteadyRequestsPerSecond, figure.RequestsPerSecond}}
}

// throughput returns that of the steady state, without ramp and drain, if there is one; else that of the run.
func (t SweepRun) throughput(m throughputMeasure) (float64, bool) {
	v := cmp.Or(figure.Value(t.Summary, m.steady), figure.Value(t.Summary, m.whole))
	if v == nil {
		return 0, false
	}
	return *v, true
}

// hasThroughput reports whether a run has any comparable throughput.
func (t SweepRun) hasThroughput() bool {
	return slices.ContainsFunc(throughputMeasures(), func(m throughputMeasure) bool { _, known := t.throughput(m); return known })
}

// measureOf returns the first throughput that all usable trials with any throughput have.
func measureOf(done []SweepRun) throughputMeasure {
	all := throughputMeasures()
	for _, m := range all {
		lacks := func(t SweepRun) bool { _, known := t.throughput(m); return !known && t.usable() && t.hasThroughput() }
		if !slices.ContainsFunc(done, lacks) {
			return m
		}
	}
	return all[len(all)-1]
}

// repeats returns how often a value was measured.
func repeats(done []SweepRun, v OverValue) int {
	n := 0
	for _, t := range done {
		if t.Value == v {
			n++
		}
	}
	return n
}
