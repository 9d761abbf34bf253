// Package summary computes the figures of a run, whether it is valid, and what it proves.
//
// Everything here is a pure function of what the run wrote: nothing measures, nothing is kept, and the same
// folder gives the same summary. Durations are seconds and amounts are
// bytes wherever a figure leaves the package. What was not observed is absent, never zero.
package summary

import (
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// inputs are what a summary is computed from beside the requests.
type inputs struct {
	Run, Scenario string
	// Labels has at least arm and host.
	Labels map[string]string
	Model  Model
	// WorkloadSHA256 covers prompts, schedule, sampling and lengths.
	WorkloadSHA256 string
	BootID         string
	// Judging is what the run found out of itself. Where the load was a command, Tool is what it reported: there are
	// no requests then, and nothing is judged by them.
	rundir.Judging
	// Limits and Objectives are Validity and SLO of Judging as the rules read them.
	Limits     Limits
	Objectives SLO
	// Phases are in the order in which they ran.
	Phases []rundir.Span
	// Open names the phases whose requests became due by the clock, and not when one before them ended.
	Open []string
	// EqualLoad is whether the measured phase keeps one level of load, RampNS how long that takes to be reached.
	EqualLoad bool
	RampNS    int64
	// Telemetry is nil when there is none; TelemetryStats is nil when only the file is left.
	Telemetry      *telemetry.Log
	TelemetryStats *telemetry.Stats
}

// Model is which model answered.
type Model struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Simulated says that the engine calls itself so.
	Simulated bool `json:"simulated,omitempty"`
}

// measured lists the phases whose requests count.
func (in inputs) measured() []rundir.Span {
	var phases []rundir.Span
	for _, phase := range in.Phases {
		if in.counts(phase.Name) {
			phases = append(phases, phase)
		}
	}
	return phases
}
