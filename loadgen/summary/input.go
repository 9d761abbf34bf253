// Package summary computes the figures of a run, its validity and its evidence.
//
// It is a pure function of the files that the run wrote: it measures nothing, keeps no state, and returns the same
// summary for the same folder. All figures that leave the package are in seconds and bytes. A value that was not
// observed is absent, never zero.
//
// Find and Load find finished runs in folders. They read only the manifest and the summary, so that a thousand runs take
// little time. The contents of a folder are untrusted, and may come from another machine: the size of files is limited,
// links below a searched folder are not followed, and an unknown form is refused by its name.
package summary

import (
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runfile"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// inputs are the inputs of a summary, apart from the requests.
type inputs struct {
	Run, Scenario string
	// Labels has at least arm and host.
	Labels map[string]string
	Model  Model
	// Servers are the URLs of several servers that shared the load; nil for a single one.
	Servers []string
	// WorkloadSHA256 covers prompts, schedule, sampling and lengths.
	WorkloadSHA256 string
	BootID         string
	// Step is what a decode step reads of the model; nil if unknown.
	Step *roofline.Model
	// Shape is what config.json has of the model; nil if it was not read.
	Shape *roofline.Shape
	// Judging is what the run recorded about itself. Where the load was a command, Tool is the report of the command: the
	// run has no requests then, and no rule uses them.
	rundir.Judging
	// CacheBlock is the tokens of a block of the engine's KV cache; 0 if unknown.
	CacheBlock int
	// Limits and Objectives are the parsed Validity and SLO of Judging.
	Limits     Limits
	Objectives SLO
	// Phases are in the order in which they ran.
	Phases []rundir.Span
	// Open names the phases whose requests became due by the clock, rather than at the end of an earlier request.
	Open []string
	// EqualLoad is true if the measured phase keeps one level of load; RampNS is the time until that level is reached.
	EqualLoad bool
	RampNS    int64
	// Telemetry is nil without telemetry; TelemetryStats is nil when only the file is left.
	Telemetry      *telemetry.Log
	TelemetryStats *runfile.SamplingStats
}

// Model is the model that answered.
type Model struct {
	ID          string `json:"id" pack:"model"`
	Fingerprint string `json:"fingerprint,omitempty" pack:"sum"`
	// Simulated is true if the engine reports itself as simulated.
	Simulated bool `json:"simulated,omitempty"`
}

// measured lists the phases whose requests enter the figures.
func (in inputs) measured() []rundir.Span {
	var phases []rundir.Span
	for _, phase := range in.Phases {
		if in.counts(phase.Name) {
			phases = append(phases, phase)
		}
	}
	return phases
}
