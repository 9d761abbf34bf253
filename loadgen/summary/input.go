// Package summary computes the figures of a run, whether it is valid, and what it proves.
//
// Everything here is a pure function of what the run wrote: nothing measures, nothing is kept, and the same
// folder gives the same summary. Durations are seconds and amounts are
// bytes wherever a figure leaves the package. What was not observed is absent, never zero.
package summary

import (
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Input is what is known of a run beside its records.
type Input struct {
	Run, Scenario string
	// Labels has at least arm and host.
	Labels map[string]string
	Model  Model
	KVMode KVMode
	// WorkloadSHA256 covers prompts, schedule, sampling and lengths.
	WorkloadSHA256 string
	BootID         string
	// Phases are in the order in which they ran.
	Phases []Phase
	// Warmup names the phases that enter no figure outside phases.
	Warmup []string
	// Open names the phases whose requests became due by the clock, and not when one before them ended.
	Open []string
	// Telemetry is nil when there is none; TelemetryStats is nil when only the file is left.
	Telemetry          *telemetry.Log
	TelemetryStats     *telemetry.Stats
	TelemetryRequested bool
	Client             ClientHealth
	// Validity holds the limits that differ from the defaults.
	Validity Limits
	SLO      SLO
	// Signals are what the run proves about KV tiers and outputs; nil if no scenario asked.
	Signals *Signals
	// Tool is what a recorded command said; nil if the load was ours. With it there are no requests,
	// and nothing is judged by them.
	Tool *ToolReport
	// Stopped says why the run ended before its plan did; empty is that it did not.
	Stopped string
	// Engine is what the engine itself said of its memory, read from its log; nil without.
	Engine *EngineReport
	// Checks are those of a campaign around the run.
	Checks Checks
	// Streaming says whether answers were streamed. Without it there is one arrival per
	// request, and first-token and per-token latencies do not exist.
	Streaming bool
}

// Model is which model answered.
type Model struct {
	ID          string `json:"id"`
	Fingerprint string `json:"fingerprint,omitempty"`
	// Simulated says that the engine calls itself so.
	Simulated bool `json:"simulated,omitempty"`
	// Checked says whether the answers' model was compared with the one asked for.
	Checked bool `json:"-"`
	// Mismatch and Changed say what was found wrong: another model than asked for, or another
	// one at the end than at the start. Empty is nothing.
	Mismatch string `json:"-"`
	Changed  string `json:"-"`
	// Compared says whether its fingerprint was taken at both ends.
	Compared bool `json:"-"`
	// Guarded says whether failures were looked at while the run went on. Dropped and PromptLimit are
	// why it was stopped at once: the server no longer had the model, or takes no prompt so long.
	Guarded     bool   `json:"-"`
	Dropped     string `json:"-"`
	PromptLimit string `json:"-"`
}

// Checks are commands around the load that a campaign judges by a number, such as the speed of the GPU.
type Checks struct {
	// Made says whether there were any; Failed names those that did not pass, and why.
	Made   bool
	Failed string
}

// Phase is a stretch of the run; offsets are nanoseconds since its start.
type Phase struct {
	Name    string
	StartNS int64
	EndNS   int64
}

// ClientHealth is how the load generator itself fared while it measured.
type ClientHealth struct {
	// Watched says whether the rest was observed.
	Watched bool
	// Stalls are the times in which the process was not scheduled, or was stopped by its own
	// garbage collector; short ones may be left out.
	Stalls []Stall
	// CPURatio is the process's processor time over wall time times cores, 0 to 1.
	CPURatio float64
	// PacketStamps is true if the kernel stamped the packets of all connections, so that the records
	// have the waits of their bytes.
	PacketStamps bool
}

// Stall is one such time, in nanoseconds since the run's start.
type Stall struct {
	FromNS, ToNS int64
	// Rank is that of the process that stalled, of those that share a load: no other's requests are
	// touched by it.
	Rank int
}

// measured lists the phases whose requests count.
func (in Input) measured() []Phase {
	var phases []Phase
	for _, phase := range in.Phases {
		if in.counts(phase.Name) {
			phases = append(phases, phase)
		}
	}
	return phases
}
