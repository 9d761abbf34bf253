// Package evidence grades what a run shows of the tiers of a KV cache and of its outputs.
//
// It is pure: the input is observed numbers, the output is a grade with its reason and its figures. A claim is proven
// only where independent figures agree; a claim that cannot be observed has a grade of its own, and never counts as
// zero.
package evidence

import (
	"encoding/json"
	"fmt"
	"math"
)

// Grade is the degree of support for a statement.
type Grade string

// The grades.
const (
	Proven        Grade = "proven"       // independent figures agree
	Consistent    Grade = "consistent"   // the observations fit, but a figure is missing
	Contradicted  Grade = "contradicted" // a figure disagrees
	NotObservable Grade = "not_observable"
)

// Reason is the reason why a grade is not better; empty if no evidence is missing.
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
	SeveralServers   Reason = "several_servers" // the counters are of one engine, and several shared the load
	// The engine counted more bytes than the drive did: a tier whose file is not opened with O_DIRECT is answered from the
	// page cache, and what is written to it may stay there for a while.
	ServedFromPageCache Reason = "served_from_page_cache"
	HeldInPageCache     Reason = "held_in_page_cache"
	// Proven, but of less than half of the tokens that were sent again.
	PartOnly Reason = "part_only"

	// The reasons for outputs.
	NoBaseline     Reason = "no_baseline"     // the engine's own drift is unknown
	DriftTooLarge  Reason = "drift_too_large" // the engine differs from itself so often that no difference could be significant
	OutputsDiffer  Reason = "outputs_differ"
	TooFewPrompts  Reason = "too_few_prompts"  // more answers differ than drift explains, or may do so, and too few were compared to decide
	ReuseNotProven Reason = "reuse_not_proven" // it is not proven that the answers came from a cache
)

// Signal is a graded statement with its figures.
type Signal struct {
	Grade   Grade    `json:"grade" pack:"word"`
	Reason  Reason   `json:"reason" pack:"word"`
	Figures []Figure `json:"witnesses"`
	// Missing lists the witnesses that the verdict lacks.
	Missing []Missing `json:"missing_witnesses,omitempty"`
}

// Missing is a witness without a figure: the reason, and what the user can do.
type Missing struct {
	Name   string `json:"name" pack:"word"`
	Reason string `json:"reason" pack:"text"`
}

// Figure is one figure behind a signal, and the range that it has if the statement is true.
type Figure struct {
	Name     string  `json:"name" pack:"word"`
	Value    float64 `json:"value"`
	Unit     string  `json:"unit" pack:"word"`
	Expected Range   `json:"expected"`
	Agrees   bool    `json:"agrees"`
}

// Range holds the lower and the upper bound, both included. A range without an upper bound has infinity, which is null
// in JSON.
type Range [2]float64

// Has reports whether a value is in the range.
func (r Range) Has(value float64) bool { return value >= r[0] && value <= r[1] }

// atLeast returns a range without an upper bound.
func atLeast(value float64) Range { return Range{value, math.Inf(1)} }

// MarshalJSON writes [lo, hi], with null for an infinite bound.
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

// NewFigure returns a figure; it agrees if its value is in the range.
func NewFigure(name string, value float64, unit string, expected Range) Figure {
	return Figure{name, value, unit, expected, expected.Has(value)}
}

// NewSignal returns a signal; its list of figures is never null in JSON.
func NewSignal(grade Grade, reason Reason, figures ...Figure) Signal {
	if figures == nil {
		figures = []Figure{} // an empty list in JSON, not null
	}
	return Signal{Grade: grade, Reason: reason, Figures: figures}
}

// Unseen returns the signal of a statement that is not observable.
func Unseen(reason Reason) Signal { return NewSignal(NotObservable, reason) }
