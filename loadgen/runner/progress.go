package runner

import (
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// ProgressSchema names the format of the lines of --progress json.
const ProgressSchema = "umascope.progress/1"

// Progress is the state of a run at a moment: a line of --progress json, and what the web page shows. Figures that
// were not observed are absent.
type Progress struct {
	Schema string    `json:"schema"`
	At     time.Time `json:"at"`
	// State is running, or how the run ended, by the words of the manifest.
	State     string `json:"state"`
	Run       string `json:"run"`
	Arm       string `json:"arm"`
	Scenario  string `json:"scenario"`
	Model     string `json:"model,omitempty"`
	Simulated bool   `json:"simulated,omitempty"`

	// Phase is the current phase; empty between phases and after the last. PhaseNumber is its place among all phases,
	// from 1.
	Phase       string `json:"phase"`
	PhaseNumber int    `json:"phase_number"`
	// Phases is how many there are; 0 while the load of the run is not planned.
	Phases              int     `json:"phases"`
	ElapsedSeconds      float64 `json:"elapsed_seconds"` // of the run
	PhaseElapsedSeconds float64 `json:"phase_elapsed_seconds"`
	// PhaseLeftSeconds estimates the rest of the phase. It is 0 while the last requests end, and absent if unknown.
	PhaseLeftSeconds *float64 `json:"phase_left_seconds,omitempty"`

	// Waiting is what the run waits for, such as a gate of a campaign, and WaitingSeconds how much longer at most.
	Waiting        string   `json:"waiting,omitempty"`
	WaitingSeconds *float64 `json:"waiting_seconds,omitempty"`

	// Requests are those of the phase; nil in a phase without load.
	Requests *RequestCounts `json:"requests,omitempty"`
	// PhaseRates and LastRates are means over the phase and over its last seconds, at most lastSeconds of them.
	PhaseRates *Rates `json:"phase_rates,omitempty"`
	LastRates  *Rates `json:"last_rates,omitempty"`
	// TTFT is from the sending, ChunkGap between two payloads, of requests that ended ok.
	TTFT     *Latencies `json:"ttft,omitempty"`
	ChunkGap *Latencies `json:"chunk_gap,omitempty"`

	Machines []Machine `json:"machines,omitempty"`
	Series   *Series   `json:"series,omitempty"`
	// History has the last seconds of the run, the oldest first, historySeconds at most.
	History []Second `json:"-"`
}

// RequestCounts counts the requests of a phase.
type RequestCounts struct {
	// Planned is absent if the number is not known beforehand.
	Planned  int                     `json:"planned,omitempty"`
	Started  int64                   `json:"started"`
	Ended    int64                   `json:"ended"`
	InFlight int64                   `json:"in_flight"`
	Failed   int64                   `json:"failed"`
	FailedBy map[openai.Status]int64 `json:"failed_by,omitempty"`
}

// Rates are rates over a stretch of a phase.
type Rates struct {
	RequestsPerSecond float64 `json:"requests_per_second"` // ended, failed ones too
	// OutputTokensPerSecond counts the tokens of requests that ended ok. Of long answers it lags behind
	// StreamEventsPerSecond, which counts payloads as they arrive; an event holds one token or more.
	OutputTokensPerSecond float64 `json:"output_tokens_per_second"`
	StreamEventsPerSecond float64 `json:"stream_events_per_second"`
}

// Latencies are quantiles of a latency in the phase and in its last seconds; nil without a value.
type Latencies struct {
	Phase *Quantiles `json:"phase,omitempty"`
	Last  *Quantiles `json:"last,omitempty"`
}

// Quantiles are exact to 1 %. Those of the run's summary are exact.
type Quantiles struct {
	Count      int64   `json:"count"`
	P50Seconds float64 `json:"p50_seconds"`
	P99Seconds float64 `json:"p99_seconds"`
}

// Second is one second of a run. A latency without a value in it is NaN.
type Second struct {
	Rates
	TTFTP50Seconds, TTFTP99Seconds, ChunkGapP50Seconds, ChunkGapP99Seconds float64
}

// Machine is what the last sample of an exporter shows; it is absent while the exporter does not answer.
type Machine struct {
	Host string `json:"host"`
	// Mode is how the exporter reads the machine: live, simulated, replayed or constructed.
	Mode           string   `json:"mode,omitempty"`
	PoolBytes      *float64 `json:"pool_bytes,omitempty"`
	OccupiedBytes  *float64 `json:"occupied_bytes,omitempty"`
	AvailableBytes *float64 `json:"available_bytes,omitempty"`
	// KVCacheBytes is the size of the KV cache by the engine's own figure.
	KVCacheBytes *float64 `json:"kv_cache_bytes,omitempty"`
	// LedgerBytes are the lines of the memory ledger, which add up to the pool.
	LedgerBytes ledger.Ledger `json:"ledger_bytes,omitempty"`
	GPUCelsius  *float64      `json:"gpu_celsius,omitempty"` // of the hottest GPU
	GPUWatts    *float64      `json:"gpu_watts,omitempty"`   // of all GPUs
}

// Series is the sweep, arena or campaign that a run belongs to.
type Series struct {
	Kind string `json:"kind"` // rundir.KindSweep, KindArena or KindCampaign
	Name string `json:"name"`
	// Number is the place of the run, from 1: the point of a sweep, the cell of an arena, the slot of a campaign. Of is how many there are; 0
	// if that is unknown.
	Number int `json:"number"`
	Of     int `json:"of,omitempty"`
	// Of a sweep, Point is the load of the run, such as "concurrency 8"; of an arena its cell.
	Point string `json:"point,omitempty"`
	// EndsAt estimates the end of the series by the runs so far; absent without one.
	EndsAt *time.Time `json:"ends_at,omitempty"`
	// Results counts the runs so far by their status, Runs are the last of them, the oldest first, and Verdicts compare
	// the arms by all.
	Results  string      `json:"results,omitempty"`
	Runs     []SeriesRun `json:"runs,omitempty"`
	Verdicts []string    `json:"verdicts,omitempty"`
}

// MostSeriesRuns is the most results of a series that are shown.
const MostSeriesRuns = 12

// SeriesRun is the result of a run of a series. Figures that the run does not have are absent.
type SeriesRun struct {
	// Name is what distinguishes the run from the others, such as its point or its arm.
	Name   string `json:"name"`
	Status string `json:"status"`
	Why    string `json:"why,omitempty"` // it is invalid: codes of rules
	// PP and TG are the measured rates of a cell, in tokens per second.
	PP                    *float64 `json:"pp_tokens_per_second,omitempty"`
	TG                    *float64 `json:"tg_tokens_per_second,omitempty"`
	OutputTokensPerSecond *float64 `json:"output_tokens_per_second,omitempty"`
	TTFTP50Seconds        *float64 `json:"ttft_p50_seconds,omitempty"`
	TTFTP99Seconds        *float64 `json:"ttft_p99_seconds,omitempty"`
	ChunkGapP50Seconds    *float64 `json:"chunk_gap_p50_seconds,omitempty"`
	ChunkGapP99Seconds    *float64 `json:"chunk_gap_p99_seconds,omitempty"`
}

// NewSeriesRun takes the figures of a run from its summary, which is nil if the run has none.
func NewSeriesRun(name, status string, s *summary.Summary) SeriesRun {
	r := SeriesRun{Name: name, Status: status}
	if s == nil {
		return r
	}
	var codes []string
	for _, reason := range s.InvalidReasons {
		codes = append(codes, string(reason.Code))
	}
	r.Why = strings.Join(codes, ", ")
	for name, into := range map[string]**float64{
		figure.OutputTokensPerSecond: &r.OutputTokensPerSecond, figure.TimeToFirstToken: &r.TTFTP50Seconds, figure.TimeToFirstTokenP99: &r.TTFTP99Seconds,
		figure.ChunkGapP50: &r.ChunkGapP50Seconds, figure.ChunkGapP99: &r.ChunkGapP99Seconds,
	} {
		*into = figure.Value(s, name)
	}
	return r
}
