// Package compare reports what differs between the arms of an experiment, how certain each difference is, and what else
// than the arms could explain it. FromRun takes the figures and facts of a run, and Compare computes on them: no files, no
// requests. The statistical unit is the run, not the request.
package compare

import (
	"time"

	"github.com/umascope/umascope/loadgen/summary"
)

// Schema names the form of a comparison.
const Schema = "umascope.comparison/2"

// Run is the input of a comparison: the figures and facts of one run.
type Run struct {
	ID string
	// Path is the path that the run was read from, for messages.
	Path   string
	Labels map[string]string
	// Scenario, Model, Engine and Host can be used like labels in By and Within.
	Scenario, Model, Engine, Host string
	Fingerprint                   string
	WorkloadSHA256                string
	StartedAt, EndedAt            time.Time
	BootID                        string
	Valid                         bool
	InvalidReasons                []string // codes
	// Signals are the evidence grades of the run, by name (ssd_offload, ssd_rehydrate, reuse, output_match).
	Signals map[string]string
	// Expected are the signals that the scenario of the run is meant to show; the evidence is proven if all of them are.
	Expected []string
	// Mode is the mode of the telemetry: live, replay, constructed, simulated; empty without telemetry.
	Mode string
	// Simulated is true if the engine reports itself as simulated.
	Simulated bool
	// CacheReset is true if the engine emptied its prefix cache before the load, as the run asked it to.
	CacheReset bool
	// Imported is the format of the result of another tool that the run was imported from; empty for runs of uma-load.
	Imported string
	// Metrics are the figures of the run, by the names of Table; an unknown figure is absent.
	Metrics map[string]float64
	// Doubts are how far metrics may be off because of the load generator's own delays, in the unit of the metric.
	Doubts map[string]float64
	// Tool is the tool that reported the tool_reported metrics, by its own definitions; empty without any.
	Tool string
	// EngineReported names the metrics that the engine reported and uma-load did not measure.
	EngineReported []string
	// Facts are the conditions of the run, other than the arm, that can differ between arms, in the order of display.
	Facts []Fact
	// HashKey names the key of the hashes among the facts; empty for a run that does not record what ran.
	HashKey string
	Ledger  summary.Ledgers
	// Ledgers are the memory ledgers of further machines that the run measured, by machine name.
	Ledgers map[string]summary.Ledgers
	KV      KV
	// Pair joins a run of one arm with a run of another made under the same conditions: the round of a campaign, within
	// one boot of the machine. It is empty for a run without a pair.
	Pair string
	// EngineKept is true if the engine was up already, from the previous run of the same arm and model.
	EngineKept bool
	// Added is true if the campaign added the run to its plan, with its pair, because another run was off.
	Added bool
	// NRaisedFrom is the number of runs of each arm in the plan when its arms were first compared; it is set on runs
	// beyond that number and 0 on all others.
	NRaisedFrom int
	start       string // the first run that the same start of the engine served
}

// SameBoot reports whether no reboot of the machine is known between two runs; an unknown boot matches any.
func (r *Run) SameBoot(other *Run) bool {
	return r.BootID == "" || other.BootID == "" || r.BootID == other.BootID
}

// Fact is a condition of a run.
type Fact struct {
	Item  string
	Value string
	// Number is the same value as a number where it is a quantity, and the difference that is tolerated; nil where it is
	// not.
	Number    *float64
	Tolerance float64
	Unit      string
	// Hash identifies a value, or a part of one, that is not shown. Hashes are comparable between runs of one HashKey.
	Hash string
	// Ran marks a fact of what the run was made with: an arm whose runs differ in it cannot support a decision.
	Ran bool
	// Identified marks a fact that each run that records what ran either has or was made without.
	Identified bool
}

// KV has the figures that an engine sized its KV cache from, in bytes; an unknown figure is nil.
type KV struct {
	CapacityBytes          *float64
	FreeAtSizingBytes      *float64
	OccupiedWithoutKVBytes *float64
	// Fraction is the configured fraction of the free memory; nil where it is unknown.
	Fraction *float64
}
