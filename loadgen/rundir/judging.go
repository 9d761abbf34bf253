package rundir

import "github.com/umascope/umascope/loadgen/evidence"

// Judging has the inputs of a run's validity and figures that are not in its records and its telemetry: with it the
// figures can be computed again from the folder.
type Judging struct {
	// Streaming is true if answers were streamed.
	Streaming bool `json:"streaming"`
	// Unmeasured are the names of the phases that enter no figure of the run.
	Unmeasured []string `json:"unmeasured_phases" pack:"word"`
	// TelemetryRequested is true if losing telemetry counts against the run.
	TelemetryRequested bool `json:"telemetry_requested"`
	// SLO and Validity are the limits, in the format of the flags.
	SLO      string   `json:"slo,omitempty" pack:"word"`
	Validity []string `json:"validity,omitempty" pack:"word"`
	// Client and the fields below are set at the end of the run.
	Client ClientHealth  `json:"client"`
	Model  ModelFindings `json:"model"`
	KVMode KVFindings    `json:"kv_mode"`
	Checks CheckFindings `json:"checks,omitzero"`
	// PrefixReuse has the limits for prompt tokens from a cache; absent in folders from before it existed.
	PrefixReuse *PrefixReuse `json:"prefix_reuse,omitempty"`
	// DepthTokens is the context that the prefix cache must hold for each measured request; absent for a load that is
	// not at a depth.
	DepthTokens int `json:"depth_tokens,omitempty"`
	// Stopped is why the run ended before its plan did.
	Stopped string `json:"stopped,omitempty" pack:"text"`
	// Warnings are those that follow from no figure. PartWarnings concern the share of one rank only: a merged run does
	// not have them.
	Warnings     []string `json:"warnings,omitempty" pack:"text"`
	PartWarnings []string `json:"part_warnings,omitempty" pack:"text"`

	// Complete is set when the run has ended and everything that its summary needs is in the folder. Folders from
	// before this field existed kept the rest in summary.json alone, those of merged runs in the folders of the ranks.
	Complete bool `json:"complete,omitempty"`
	// Evidence is graded when the run ends: it needs the outputs, which are not always kept, and pages at moments that
	// are recorded nowhere else. It is absent if no scenario requested it.
	Evidence *evidence.Signals `json:"evidence,omitempty"`
	// Engine is the engine's own report on its memory, read from its log, which is not always in the folder.
	Engine *EngineReport `json:"engine_reported,omitempty"`
	// Tool is the report of a recorded command or another tool; absent for uma-load's own load.
	Tool *ToolReport `json:"tool_reported,omitempty"`
}

// ClientHealth is how well the load generator itself ran during the measurement.
type ClientHealth struct {
	Watched  bool    `json:"watched"`
	CPURatio float64 `json:"cpu_ratio,omitempty"`
	Stalls   []Stall `json:"stalls,omitempty"`
	// UnnoticedNS is the longest time that the load generator may have stood still without a stall in the list.
	UnnoticedNS int64 `json:"unnoticed_ns,omitempty"`
	// StampedArrivals is true if the arrivals in requests.jsonl are the kernel's stamps of packets.
	StampedArrivals bool `json:"stamped_arrivals,omitempty"`
}

// Stall is an interval in which the load generator did not run, in nanoseconds since the run's start.
type Stall struct {
	FromNS int64 `json:"from_ns"`
	ToNS   int64 `json:"to_ns"`
	// Rank is the process that stalled, if several share a load: the stall affects only its requests.
	Rank int `json:"rank,omitempty"`
}

// ModelFindings are the results of the model checks. A text describes a fault; empty means none.
type ModelFindings struct {
	Fingerprint string `json:"fingerprint,omitempty" pack:"sum"`
	// Checked, Compared and Guarded are the checks that were made: the answers' model, the fingerprints at both ends,
	// failures during the run.
	Checked     bool   `json:"checked"`
	Compared    bool   `json:"compared"`
	Guarded     bool   `json:"guarded"`
	Mismatch    string `json:"mismatch,omitempty" pack:"text"`
	Changed     string `json:"changed,omitempty" pack:"text"`
	Dropped     string `json:"dropped,omitempty" pack:"text"`
	PromptLimit string `json:"prompt_limit,omitempty" pack:"text"`
}

// KVFindings compares the observed tiers of the KV cache with the expected ones.
type KVFindings struct {
	Checked  bool   `json:"checked"`
	Mismatch string `json:"mismatch,omitempty" pack:"text"`
}

// PrefixReuse has the limits for prompt tokens that a server answered from a cache.
type PrefixReuse struct {
	// CommonTokens is the most tokens that prompts of different runs share at their beginning: those of the chat
	// template, as probed before the run, and of the opening. Absent if the template's tokens are unknown.
	CommonTokens *int `json:"common_tokens,omitempty"`
	// Repeats is why the server may have seen the prompts before the run: a flag, or a prompt file. Empty if they are
	// new.
	Repeats string `json:"repeats,omitempty" pack:"text"`
	// Engine is the engine's count over the whole load, if answers report no cached tokens; absent if it has no such
	// counters.
	Engine *PrefixLookups `json:"engine,omitempty"`
}

// PrefixLookups are the prompt tokens of all clients that an engine looked up in its prefix cache, and those that it
// found there.
type PrefixLookups struct {
	Tokens    float64 `json:"tokens"`
	HitTokens float64 `json:"hit_tokens"`
}

// CheckFindings are the results of a campaign's checks. A text describes a fault; empty means none.
type CheckFindings struct {
	Made   bool   `json:"made"`
	Failed string `json:"failed,omitempty" pack:"text"`
}
