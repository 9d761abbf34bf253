// Package evidence grades what a run shows of the tiers of a KV cache and of its outputs.
//
// Everything here is arithmetic on plain numbers: what was observed goes in, a grade with its reason and
// its witnesses comes out. A claim is proven only where witnesses that do not depend on each other agree;
// what cannot be seen is said to be so, and never counts as zero.
package evidence

import (
	"encoding/json"
	"fmt"
	"math"
)

// Grade is how far a statement is supported.
type Grade string

// The grades.
const (
	Proven        Grade = "proven"       // independent witnesses agree
	Consistent    Grade = "consistent"   // what was seen fits, but a witness is missing
	Contradicted  Grade = "contradicted" // a witness says otherwise
	NotObservable Grade = "not_observable"
)

// Reason is why a grade is not a better one; empty if nothing is missing.
type Reason string

// The reasons.
const (
	TierOff          Reason = "tier_off"
	DiskFilterOn     Reason = "disk_filter_on"
	PressureTooSmall Reason = "pressure_too_small"
	NoMatchedTokens  Reason = "no_matched_tokens"
	ServedFromHost   Reason = "served_from_host"
	ServedFromDevice Reason = "served_from_device"
	NoPrivilege      Reason = "no_privilege"
	CountersAbsent   Reason = "counters_absent"
	CountersReset    Reason = "counters_reset"
	BytesDisagree    Reason = "bytes_disagree"
	EndpointGone     Reason = "endpoint_gone"

	// Those of outputs.
	NoBaseline     Reason = "no_baseline"     // the engine's own drift is not known
	DriftTooLarge  Reason = "drift_too_large" // the engine differs from itself so often that nothing could stand out
	OutputsDiffer  Reason = "outputs_differ"
	TooFewPrompts  Reason = "too_few_prompts"  // more differ than drift explains, or may do so, and too few were compared to be sure
	ReuseNotProven Reason = "reuse_not_proven" // that the answers came from a cache is not proven
)

// Signal is a graded statement and what it rests on.
type Signal struct {
	Grade     Grade     `json:"grade"`
	Reason    Reason    `json:"reason"`
	Witnesses []Witness `json:"witnesses"`
}

// Witness is one figure that a signal rests on, and what it should be if the statement holds.
type Witness struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit"`
	Expected Range   `json:"expected"`
	Agrees   bool    `json:"agrees"`
}

// Range is from its first to its second number, both included. One that has no upper end is infinite,
// which JSON has no number for: it is null there.
type Range [2]float64

// Has says whether a value lies in the range.
func (r Range) Has(value float64) bool { return value >= r[0] && value <= r[1] }

// atLeast is a range without an upper end.
func atLeast(value float64) Range { return Range{value, math.Inf(1)} }

// MarshalJSON writes [lo, hi] with null for no end.
func (r Range) MarshalJSON() ([]byte, error) {
	ends := [2]*float64{}
	for i := range r {
		if !math.IsInf(r[i], 0) {
			ends[i] = &r[i]
		}
	}
	return json.Marshal(ends)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Range) UnmarshalJSON(text []byte) error {
	var ends [2]*float64
	if err := json.Unmarshal(text, &ends); err != nil {
		return fmt.Errorf("range: %w", err)
	}
	*r = Range{math.Inf(-1), math.Inf(1)}
	for i, end := range ends {
		if end != nil {
			r[i] = *end
		}
	}
	return nil
}

// NewWitness makes a witness; it agrees if its value lies in the range.
func NewWitness(name string, value float64, unit string, expected Range) Witness {
	return Witness{name, value, unit, expected, expected.Has(value)}
}

// NewSignal makes a signal; its list of witnesses is never null in JSON.
func NewSignal(grade Grade, reason Reason, witnesses ...Witness) Signal {
	if witnesses == nil {
		witnesses = []Witness{} // an empty list in JSON, not null
	}
	return Signal{grade, reason, witnesses}
}

// Unseen is the signal of what nothing was seen of.
func Unseen(reason Reason) Signal { return NewSignal(NotObservable, reason) }
