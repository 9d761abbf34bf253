package rundir

import "github.com/umascope/umascope/loadgen/evidence"

// Judging is what the figures of a run were judged by beside its records and its telemetry: with it they
// can be computed again from the folder.
type Judging struct {
	// Streaming says whether answers were streamed.
	Streaming bool `json:"streaming"`
	// Unmeasured names the phases that enter no figure of the run.
	Unmeasured []string `json:"unmeasured_phases"`
	// TelemetryRequested says whether losing telemetry counts.
	TelemetryRequested bool `json:"telemetry_requested"`
	// SLO and Validity are the limits, as the flags have them.
	SLO      string   `json:"slo,omitempty"`
	Validity []string `json:"validity,omitempty"`
	// Client and the rest are known at the end of the run only.
	Client ClientHealth  `json:"client"`
	Model  ModelFindings `json:"model"`
	KVMode KVFindings    `json:"kv_mode"`
	Checks CheckFindings `json:"checks,omitzero"`
	// PrefixReuse is what prompt tokens from a cache are judged by; absent of folders from before it existed.
	PrefixReuse *PrefixReuse `json:"prefix_reuse,omitempty"`
	// Stopped says why the run ended before its plan did.
	Stopped string `json:"stopped,omitempty"`
	// Warnings are those that no figure shows. PartWarnings are of the share of a rank alone: a run that is merged
	// does not have them.
	Warnings     []string `json:"warnings,omitempty"`
	PartWarnings []string `json:"part_warnings,omitempty"`

	// Complete is set when the run has ended and everything that its summary needs is in the folder. Folders from
	// before this field existed kept the rest in summary.json alone, those of merged runs in the folders of the ranks.
	Complete bool `json:"complete,omitempty"`
	// Evidence is graded when the run ends: it needs the outputs, which are not always kept, and pages at moments that
	// nothing else keeps. It is absent if no scenario asked.
	Evidence *evidence.Signals `json:"evidence,omitempty"`
	// Engine is the engine's own word on its memory, read from its log, which is not always in the folder.
	Engine *EngineReport `json:"engine_reported,omitempty"`
	// Tool is what a recorded command or another tool reported; absent of a load of our own.
	Tool *ToolReport `json:"tool_reported,omitempty"`
}

// ClientHealth is how the load generator itself fared while it measured.
type ClientHealth struct {
	Watched  bool    `json:"watched"`
	CPURatio float64 `json:"cpu_ratio,omitempty"`
	Stalls   []Stall `json:"stalls,omitempty"`
	// PacketStamps is true if requests.jsonl has the waits of bytes, by the kernel's stamps of packets.
	PacketStamps bool `json:"packet_stamps,omitempty"`
}

// Stall is a time in which the load generator did not run, in nanoseconds since the run's start.
type Stall struct {
	FromNS int64 `json:"from_ns"`
	ToNS   int64 `json:"to_ns"`
	// Rank is of the process that stalled, where several share a load: no other's requests are touched by it.
	Rank int `json:"rank,omitempty"`
}

// ModelFindings is what was found out of the model; a text says what is wrong, and empty is nothing.
type ModelFindings struct {
	Fingerprint string `json:"fingerprint,omitempty"`
	// Checked, Compared and Guarded say what was looked at: the answers' model, the fingerprints of both
	// ends, failures while the run went on.
	Checked     bool   `json:"checked"`
	Compared    bool   `json:"compared"`
	Guarded     bool   `json:"guarded"`
	Mismatch    string `json:"mismatch,omitempty"`
	Changed     string `json:"changed,omitempty"`
	Dropped     string `json:"dropped,omitempty"`
	PromptLimit string `json:"prompt_limit,omitempty"`
}

// KVFindings is which tiers of the KV cache were seen, against those that were expected.
type KVFindings struct {
	Checked  bool   `json:"checked"`
	Mismatch string `json:"mismatch,omitempty"`
}

// PrefixReuse is what prompt tokens that a server answered from a cache are judged by.
type PrefixReuse struct {
	// CommonTokens is the most tokens that prompts of different runs begin with alike: of the chat template, as probes
	// before the run showed it, and of the opening. Absent where the template's are not known.
	CommonTokens *int `json:"common_tokens,omitempty"`
	// Repeats is why the server may have seen the prompts before the run: a flag, or a prompt file. Empty: they are new.
	Repeats string `json:"repeats,omitempty"`
	// Engine is what the engine counted over the whole load, if answers report no cached tokens; absent where it has no
	// such counters.
	Engine *PrefixLookups `json:"engine,omitempty"`
}

// PrefixLookups are prompt tokens that an engine looked up in its prefix cache, of all clients, and those that it found.
type PrefixLookups struct {
	Tokens    float64 `json:"tokens"`
	HitTokens float64 `json:"hit_tokens"`
}

// CheckFindings is what the checks of a campaign came to; a text says what is wrong, and empty is nothing.
type CheckFindings struct {
	Made   bool   `json:"made"`
	Failed string `json:"failed,omitempty"`
}
