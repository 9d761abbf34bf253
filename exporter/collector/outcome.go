package collector

import (
	"errors"
	"fmt"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// State is how a collector ended.
type State string

// The three states. Absent is not failed: a machine without an SSD has no fault.
const (
	OK     State = "ok"
	Absent State = "absent"
	Failed State = "failed"
)

// States lists them all, for the state set.
func States() []State { return []State{OK, Absent, Failed} }

// Outcome is the result of one collector in one scrape.
type Outcome struct {
	// Spec is the collector.
	Spec Spec
	// State is how it ended; Err is the reason when that is not OK.
	State State
	Err   error
	// Duration is its wall time, for one that has not ended the time so far.
	Duration time.Duration
	// LastSuccess is when it last ended OK, zero until it does.
	LastSuccess time.Time
	// Sample is the sample that it read, nil when it has not returned. Values that it has read successfully can be read
	// again at no cost; others may block.
	Sample *Sample
	// Met reports for each of Spec.Needs whether the host meets it; nil when the collector ended before it checked.
	Met []bool
	// Notes are further lines of text from the collector.
	Notes []string

	families []*dto.MetricFamily
}

// Families returns the series that it read. They are shared with pages and must not be changed.
func (o Outcome) Families() []*dto.MetricFamily { return o.families }

// Reason returns why the state is not OK, "" when it is. It does not repeat the state.
func (o Outcome) Reason() string {
	if o.Err == nil {
		return ""
	}
	return strings.TrimPrefix(o.Err.Error(), ErrAbsent.Error()+": ")
}

// Unmet lists the needs that the host does not meet; none for an absent collector, which would not use them.
func (o Outcome) Unmet() []Need {
	if o.State == Absent {
		return nil
	}
	var unmet []Need
	for i, met := range o.Met {
		if !met {
			unmet = append(unmet, o.Spec.Needs[i])
		}
	}
	return unmet
}

// stateOf maps an error to one of the three states.
func stateOf(err error) State {
	switch {
	case err == nil:
		return OK
	case errors.Is(err, ErrAbsent):
		return Absent
	default:
		return Failed
	}
}

// condition is logged when it changes. Digits are masked: otherwise a message that counts seconds or bytes would change
// in every scrape.
func (o Outcome) condition() string {
	var b strings.Builder
	fmt.Fprint(&b, o.State, " ", o.Err)
	for _, need := range o.Unmet() {
		b.WriteString(" without " + need.Name)
	}
	return strings.Map(maskDigit, b.String())
}

func maskDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return '#'
	}
	return r
}
