package sweep

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

// Run is one run of a sweep: its value and its outcome.
type Run struct {
	// Number counts from 1 in the order of time.
	Number int
	Value  Value
	// Repeat is how often the same value was measured before.
	Repeat int
	Outcome
}

// Outcome is the outcome of a run.
type Outcome struct {
	Run    string
	Status campaign.Status
	// Problem is why it failed, in words.
	Problem string
	// Summary is nil if the run failed before it had one.
	Summary *summary.Summary
}

// usable reports whether a run shows how the server handles its load: it is valid, or invalid only because requests
// failed, which is how many servers react to overload. The findings of any other rule (a late client, a machine that
// swapped) are not properties of the load.
func (t Run) usable() bool {
	if t.Status == campaign.Finished {
		return true
	}
	return t.Status == campaign.Invalid && !slices.ContainsFunc(t.Summary.InvalidReasons, func(r summary.Reason) bool { return r.Code != summary.CodeErrorRate })
}

// clientFault reports whether the client was stopped or sent late, so that the run shows the client and not the server.
func (t Run) clientFault() bool {
	return t.Status == campaign.Invalid && slices.ContainsFunc(t.Summary.InvalidReasons, func(r summary.Reason) bool {
		return r.Code == summary.CodeClientLag || r.Code == summary.CodeClientStall
	})
}

// gaveUp returns why a run was stopped at once, if it was: every other point would be stopped too.
func (t Run) gaveUp() summary.Code {
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
func (t Run) State() string { return string(t.Status) + t.codes() }

// errorRatio returns the share of measured requests that did not end ok, 0 to 1.
func (t Run) errorRatio() float64 {
	if t.Summary == nil {
		return 0
	}
	if ratio := summary.FailedRatio(t.Summary.Requests); ratio != nil {
		return *ratio
	}
	return 0
}

// met reports whether the SLO was kept; known is false without an SLO, or if the run shows nothing.
func (t Run) met() (met, known bool) {
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
func (t Run) throughput(m throughputMeasure) (float64, bool) {
	v := cmp.Or(figure.Value(t.Summary, m.steady), figure.Value(t.Summary, m.whole))
	if v == nil {
		return 0, false
	}
	return *v, true
}

// hasThroughput reports whether a run has any comparable throughput.
func (t Run) hasThroughput() bool {
	return slices.ContainsFunc(throughputMeasures(), func(m throughputMeasure) bool { _, known := t.throughput(m); return known })
}

// measureOf returns the first throughput that all usable trials with any throughput have.
func measureOf(done []Run) throughputMeasure {
	all := throughputMeasures()
	for _, m := range all {
		lacks := func(t Run) bool { _, known := t.throughput(m); return !known && t.usable() && t.hasThroughput() }
		if !slices.ContainsFunc(done, lacks) {
			return m
		}
	}
	return all[len(all)-1]
}

// repeats returns how often a value was measured.
func repeats(done []Run, v Value) int {
	n := 0
	for _, t := range done {
		if t.Value == v {
			n++
		}
	}
	return n
}
