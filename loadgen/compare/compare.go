// Package compare says what differs between the arms of an experiment, how sure that is, and what
// could explain it beside the arms. It is arithmetic on plain figures of runs: no files, no requests.
// The run is the unit; a request is not.
package compare

import "time"

// Schema names the form of a comparison. Comparisons of SchemaBefore, which has other names of memory, are read too.
const (
	Schema       = "umascope.comparison/2"
	SchemaBefore = "umascope.comparison/1"
)

// Run is one run as a comparison sees it.
type Run struct {
	ID string
	// Path is where it was read from, for messages.
	Path   string
	Labels map[string]string
	// Scenario, Model, Engine and Host can be compared by like labels.
	Scenario, Model, Engine, Host string
	Fingerprint                   string
	WorkloadSHA256                string
	StartedAt, EndedAt            time.Time
	BootID                        string
	Valid                         bool
	InvalidReasons                []string // codes
	// Signals are the grades of what the run proves, by name (ssd_offload, ssd_rehydrate, reuse, output_match).
	Signals map[string]string
	// Expected are the signals that the run's scenario is there to show; evidence is proven if all of them are.
	Expected []string
	// Mode is of its telemetry: live, replay, constructed, simulated; empty without telemetry.
	Mode string
	// Simulated is of an engine that calls itself so.
	Simulated bool
	// Imported is the format of the foreign result that it was read from; empty of our own.
	Imported string
	// Metrics are its figures, by the names of Table; one that is unknown is not there.
	Metrics map[string]float64
	// Tool is by whose definitions the metrics are that a tool reported; empty without any.
	Tool string
	// EngineReported names the metrics that are an engine's own word and were not measured.
	EngineReported []string
	// Facts are what can differ between arms beside what is meant to, in the order they are shown.
	Facts []Fact
	// HashKey names the key of the hashes among the facts; empty of a run that does not record what ran.
	HashKey string
	Ledger  Ledger
	// Ledgers are those of further machines that the run measured, by their names.
	Ledgers map[string]Ledger
	KV      KV
	// Pair joins a run of one arm with one of another made under the same conditions: the round of a
	// campaign, within one boot of the machine. Empty is none.
	Pair string
	// EngineKept says that the engine was up already, from the run before of the same arm and model.
	EngineKept bool
	// Added says that the campaign added the run to its plan, with its pair, for a run that was off.
	Added bool
	// NRaisedFrom is how many runs of each arm the plan had when its arms were first compared, of a run beyond these; 0 of others.
	NRaisedFrom int
	start       string // the first run that was served by the same start of the engine
}

// SameBoot is false of two runs with a reboot of the machine between them; a boot that is not known is any.
func (r *Run) SameBoot(other *Run) bool {
	return r.BootID == "" || other.BootID == "" || r.BootID == other.BootID
}

// Fact is something that was the case in a run.
type Fact struct {
	Item  string
	Value string
	// Number is the same where it is a quantity, with how much of a difference is none; nil where it is not.
	Number    *float64
	Tolerance float64
	Unit      string
	// Hash stands for a value, or a part of it, that is not shown. Hashes of runs of one HashKey are compared.
	Hash string
	// Ran marks what a run was made with: an arm whose runs differ in it is no ground for a decision.
	Ran bool
	// Identified marks what every run has, or was made without, that records what ran.
	Identified bool
}

// Ledger has bytes by line of the memory ledger; nil where it was not observed.
type Ledger struct {
	Start map[string]float64 `json:"start,omitempty"`
	Ready map[string]float64 `json:"ready,omitempty"`
	Peak  map[string]float64 `json:"peak,omitempty"`
}

// KV is what an engine sized its KV cache from, in bytes; nil where it is not known.
type KV struct {
	CapacityBytes          *float64
	FreeAtSizingBytes      *float64
	OccupiedWithoutKVBytes *float64
	// Fraction is of the free memory, as the engine was told; nil where it is not known.
	Fraction *float64
}
