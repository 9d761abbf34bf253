package summary

import (
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Schema names the form of summary.json.
const Schema = "umascope.summary/2"

// Summary is summary.json.
type Summary struct {
	Schema         string            `json:"schema" pack:"word"`
	Run            string            `json:"run" pack:"run"`
	Scenario       string            `json:"scenario" pack:"word"`
	Labels         map[string]string `json:"labels" pack:"labels"`
	Model          Model             `json:"model"`
	WorkloadSHA256 string            `json:"workload_sha256,omitempty" pack:"sum"`
	BootID         string            `json:"boot_id,omitempty" pack:"boot"`
	// Made is when and with which programs the run was made.
	Made *Made `json:"made,omitempty"`

	Valid          bool     `json:"valid"`
	InvalidReasons []Reason `json:"invalid_reasons"`
	Warnings       []string `json:"warnings" pack:"text"`
	// Checked lists the checks that validity is based on.
	Checked []string `json:"checked" pack:"word"`

	Requests   map[openai.Status]int `json:"requests"`
	Throughput Throughput            `json:"throughput"`
	// Latency is null where uma-load did not send the load.
	Latency *Latency `json:"latency"`
	// Servers has the figures of each server, where several shared the load. What engines report about themselves, such as
	// the capacity of a KV cache, is absent then.
	Servers []ServerFigures `json:"servers,omitempty"`
	Tokens  Tokens          `json:"tokens"`
	// PrefixCache is absent where it was not counted.
	PrefixCache *PrefixCache `json:"prefix_cache,omitempty"`
	// Speculation is absent where nothing was drafted, or not counted.
	Speculation *Speculation `json:"speculation,omitempty"`
	SLO         *SLOResult   `json:"goodput,omitempty"`
	// Client is absent where stalls were not recorded.
	Client *ClientFigures `json:"client,omitempty"`
	// SteadyState is that of the measured phase; of several, each has its own under phases.
	SteadyState *SteadyState `json:"steady_state,omitempty"`
	// Backlog is that of the measured phase, if its requests became due by the clock.
	Backlog *Backlog `json:"backlog,omitempty"`

	// Memory, KV, Thermal, Energy, Work and Growth are those of the measured host; absent without telemetry of it.
	Memory  *Memory  `json:"memory,omitempty"`
	KV      *KV      `json:"kv,omitempty"`
	Thermal *Thermal `json:"thermal,omitempty"`
	Energy  *Energy  `json:"energy,omitempty"`
	Work    *Work    `json:"work,omitempty"`
	// Growth is that of memory that should not grow at equal load; absent without samples of it.
	Growth []Growth `json:"growth,omitempty"`
	// Machines has the same figures of every telemetry source, each by itself: a measured machine and a constructed one
	// never share a figure.
	Machines []Machine `json:"machines,omitempty"`
	// Together is set where the run measured several machines.
	Together *Together `json:"together,omitempty"`

	// Decode is absent without telemetry of the engine's machine, and where no answer came in parts.
	Decode *Decode `json:"decode,omitempty"`

	// Tool is the report of a recorded command.
	Tool *rundir.ToolReport `json:"tool_reported,omitempty"`

	Signals evidence.Signals        `json:"signals"`
	Phases  map[string]PhaseSummary `json:"phases"`

	computed []Computed // figures shown together with the others
}

// Reason is a reason why a run is invalid.
type Reason struct {
	Code   Code   `json:"code" pack:"word"`
	Detail string `json:"detail" pack:"text"`
}

// Throughput is that of requests that ended ok, over the time from the first dispatch to the last end of any measured
// request; with several measured phases, over the sum of those times. Tokens are absent when a request that ended ok
// has no count of them.
type Throughput struct {
	DurationSeconds       *float64 `json:"duration_seconds"`
	RequestsPerSecond     *float64 `json:"requests_per_second"`
	OutputTokensPerSecond *float64 `json:"output_tokens_per_second"`
	InputTokensPerSecond  *float64 `json:"input_tokens_per_second"`
}

// Latency has the latencies, in seconds, of requests that ended ok; a latency that none of them had is absent.
type Latency struct {
	TTFT       *Clocks       `json:"ttft,omitempty"`
	TTFO       *Clocks       `json:"ttfo,omitempty"`
	TPOT       *Clocks       `json:"tpot,omitempty"`
	ChunkGap   *ChunkGap     `json:"chunk_gap,omitempty"`
	ITL        *Clocks       `json:"itl,omitempty"`
	E2E        *Clocks       `json:"e2e,omitempty"`
	QueueDelay *Distribution `json:"queue_delay,omitempty"`
	ClientLag  *Distribution `json:"client_lag,omitempty"`
}

// Clocks is a latency by where it starts: at the dispatch, and at the intended start. Latencies between two arrivals
// have no start and are under send.
type Clocks struct {
	Send     *Distribution `json:"send,omitempty"`
	Intended *Distribution `json:"intended,omitempty"`
}

// ChunkGap is the time between arrivals of payload chunks.
type ChunkGap struct {
	Send *Distribution `json:"send"`
	// SameRead counts the chunks that came in one network read with the chunk before them.
	// Their gap is 0 and they are not in the distribution.
	SameRead int `json:"same_read"`
}

// Tokens has the lengths of requests that ended ok, in tokens by the server's count; where it has none, chunks are
// counted, with a warning.
type Tokens struct {
	// InputLengths is how the intended lengths of the prompts were computed: exact or estimated, and by what. The
	// distributions are the server's counts.
	InputLengths string        `json:"input_lengths,omitempty" pack:"word"`
	Input        *Distribution `json:"input,omitempty"`
	Output       *Distribution `json:"output,omitempty"`
}

// PhaseSummary has the figures of one phase, warm-up included. Start and end are seconds since
// the run's start.
type PhaseSummary struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	// Measured is true if the phase's requests enter the figures of the run.
	Measured   bool                  `json:"measured"`
	Requests   map[openai.Status]int `json:"requests"`
	Latency    *Latency              `json:"latency"`
	Throughput Throughput            `json:"throughput"`
	// SteadyState is set for phases that are measured.
	SteadyState *SteadyState `json:"steady_state,omitempty"`
	// Backlog is set for phases that are measured and whose requests became due by the clock.
	Backlog *Backlog `json:"backlog,omitempty"`
	// Work and GPUHeldPeak are of the measured host; GPUHeldPeak is the largest GPU-held memory in bytes, over all GPUs.
	Work        *Work    `json:"work,omitempty"`
	GPUHeldPeak *float64 `json:"gpu_held_peak_bytes,omitempty"`
	// Deltas has the counters of the measured host between the phase's borders.
	Deltas map[string]Delta `json:"deltas,omitempty"`
}

// Delta is the growth of a counter in a phase, and whether it was reset meanwhile.
type Delta struct {
	Delta float64 `json:"delta"`
	Reset bool    `json:"reset"`
}

// notObservable returns the signals of a run without any observation: neither KVBM's counters nor a second pass over
// the same prompts.
func notObservable() evidence.Signals {
	absent := evidence.Unseen(evidence.CountersAbsent)
	return evidence.Signals{SSDOffload: absent, SSDRehydrate: absent, Reuse: absent, OutputMatch: evidence.Unseen(evidence.NoBaseline)}
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// Computed is a figure computed from others; nil where one of these is absent.
type Computed struct {
	Name  string
	Value *float64
}

// With returns the summary with figures that are shown together with its own. They are not part of summary.json.
func (s Summary) With(computed []Computed) Summary {
	s.computed = computed
	return s
}

// Computed returns the figures that With has added.
func (s Summary) Computed() []Computed { return s.computed }
