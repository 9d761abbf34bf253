package sweep

import (
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// Trial is one run of a sweep: the value that it was made with, and what became of it.
type Trial struct {
	// Number counts from 1 in the order of time.
	Number int
	Value  Value
	// Repeat is how often the same value was measured before.
	Repeat int
	// Seed is that of the run.
	Seed uint64
	Outcome
}

// Outcome is what became of a run.
type Outcome struct {
	Run    string
	Status Status
	// Problem is why it failed, in words.
	Problem string
	// Summary is nil of a run that failed before it had any.
	Summary *summary.Summary
}

// Status is what a run is worth.
type Status string

// What a run may be worth.
const (
	Valid       Status = "valid"
	Invalid     Status = "invalid"
	Interrupted Status = "interrupted"
	Failed      Status = "failed"
)

// usable says whether a run tells how the server bears its load: it is valid, or invalid only because
// requests failed, which is how many servers bear too much. What any other rule found (a client that
// was late, a machine that swapped) is no property of the load.
func (t Trial) usable() bool {
	if t.Status == Valid {
		return true
	}
	return t.Status == Invalid && !slices.ContainsFunc(t.Summary.InvalidReasons, func(r summary.Reason) bool { return r.Code != summary.CodeErrorRate })
}

// clientFault reports whether the client stood still or sent late, so that the run shows the client and not the server.
func (t Trial) clientFault() bool {
	return t.Status == Invalid && slices.ContainsFunc(t.Summary.InvalidReasons, func(r summary.Reason) bool {
		return r.Code == summary.CodeClientLag || r.Code == summary.CodeClientStall
	})
}

// gaveUp is why a run was stopped at once, if it was: every other point would be too.
func (t Trial) gaveUp() summary.Code {
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

// errorRatio is the share of measured requests that did not end ok, 0 to 1.
func (t Trial) errorRatio() float64 {
	if t.Summary == nil {
		return 0
	}
	all := 0
	for _, n := range t.Summary.Requests {
		all += n
	}
	if all == 0 {
		return 0
	}
	return float64(all-t.Summary.Requests[openai.StatusOK]) / float64(all)
}

// met says whether the SLO was kept; known is false without one, or of a run that tells nothing.
func (t Trial) met() (met, known bool) {
	if !t.usable() || t.Summary.Goodput == nil {
		return false, false
	}
	return t.Summary.Goodput.Met, true
}

// measure is a throughput that may be compared between runs.
type measure struct {
	unit string
	of   func(summary.Throughput) *float64
}

// measures are throughputs, the most telling one first.
func measures() []measure {
	return []measure{
		{"output tokens per second", func(t summary.Throughput) *float64 { return t.OutputTokensPerSecond }},
		{"requests per second", func(t summary.Throughput) *float64 { return t.RequestsPerSecond }},
	}
}

// throughput is that of the steady state, which is not what ramp and drain make of it, if there is
// one; else that of the run.
func (t Trial) throughput(m measure) (float64, bool) {
	if t.Summary == nil {
		return 0, false
	}
	if w := t.Summary.SteadyState; w != nil {
		if v := m.of(w.Throughput); v != nil {
			return *v, true
		}
	}
	if v := m.of(t.Summary.Throughput); v != nil {
		return *v, true
	}
	return 0, false
}

// hasThroughput says whether a run has any throughput that may be compared.
func (t Trial) hasThroughput() bool {
	return slices.ContainsFunc(measures(), func(m measure) bool { _, known := t.throughput(m); return known })
}

// measureOf is the first throughput that all usable trials have which have any.
func measureOf(done []Trial) measure {
	all := measures()
	for _, m := range all {
		lacks := func(t Trial) bool { _, known := t.throughput(m); return !known && t.usable() && t.hasThroughput() }
		if !slices.ContainsFunc(done, lacks) {
			return m
		}
	}
	return all[len(all)-1]
}

// repeats is how often a value was measured.
func repeats(done []Trial, v Value) int {
	n := 0
	for _, t := range done {
		if t.Value == v {
			n++
		}
	}
	return n
}
