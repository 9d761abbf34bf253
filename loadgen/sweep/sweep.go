package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Plan is a sweep before it begins.
type Plan struct {
	Over Over
	// Values are measured in order, unless Search selects the next one.
	Values []Value
	Search *Search
	// StopErrorRatio is the share of failed requests from which on no further value is measured, 0 to 1; 0 never stops.
	// A search counts such a load as beyond the limit instead.
	StopErrorRatio float64
	// Pause is the time between two runs.
	Pause time.Duration
	Seed  uint64
	// SamePrompts gives every run the seed itself, and the same prompts.
	SamePrompts bool
}

// ErrInterrupted means that a sweep ended before its plan did.
var ErrInterrupted = errors.New("interrupted before its plan ended")

// Drive measures one value after the other. After each run it saves all trials so far, so that a killed sweep is
// readable up to its last run. It fails if a run does, and returns the trials in any case.
func (p Plan) Drive(ctx context.Context, run func(context.Context, Trial) Outcome, keep func([]Trial) error) ([]Trial, error) {
	var done []Trial
	for {
		value, more := p.next(done)
		if !more {
			return done, nil
		}
		if !p.cool(ctx, len(done) == 0) {
			return done, ErrInterrupted
		}
		t := Trial{Number: len(done) + 1, Value: value, Repeat: repeats(done, value)}
		t.Seed = p.seed(t)
		t.Outcome = run(ctx, t)
		done = append(done, t)
		if err := keep(done); err != nil {
			return done, err
		}
		switch t.Status {
		case Interrupted:
			return done, ErrInterrupted
		case Failed:
			return done, fmt.Errorf("%s %s: %s", p.Over.Name, value.Text, t.Problem)
		}
	}
}

// cool waits between two runs; false if it was interrupted.
func (p Plan) cool(ctx context.Context, first bool) bool {
	if first || p.Pause == 0 {
		return ctx.Err() == nil
	}
	pause := time.NewTimer(p.Pause)
	defer pause.Stop()
	select {
	case <-pause.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (p Plan) seed(t Trial) uint64 {
	if p.SamePrompts {
		return p.Seed
	}
	return p.Over.Seed(p.Seed, t.Value, t.Repeat)
}

// next returns the value to measure next: a function of the trials so far.
func (p Plan) next(done []Trial) (Value, bool) {
	if p.Stopped(done) != "" {
		return Value{}, false
	}
	if p.Search != nil {
		return p.Search.next(done)
	}
	if len(done) == len(p.Values) {
		return Value{}, false
	}
	return p.Values[len(done)], true
}

// Stopped returns why no further value of the list was measured, in words; empty if all were.
func (p Plan) Stopped(done []Trial) string {
	if len(done) == 0 {
		return ""
	}
	last := done[len(done)-1]
	if code := last.gaveUp(); code != "" {
		return fmt.Sprintf("the run at %s was stopped at once (%s); others would be too", last.Value.Text, code)
	}
	if p.Search != nil || len(done) == len(p.Values) || p.StopErrorRatio == 0 || last.errorRatio() < p.StopErrorRatio {
		return ""
	}
	return fmt.Sprintf("%.3g %% of the requests at %s failed, so that the values after it were not measured", 100*last.errorRatio(), last.Value.Text)
}

// Verdict is the outcome of a sweep that was not interrupted and did not fail.
type Verdict int

// Sound means that the sweep's runs are valid; Unsound that one is invalid, or that an invalid one ended a search;
// Unmet that no value keeps the SLO.
const (
	Sound Verdict = iota
	Unsound
	Unmet
)

// Judge returns the outcome of the trials.
func (p Plan) Judge(done []Trial) Verdict {
	switch {
	case p.unsound(done):
		return Unsound
	case p.unmet(done):
		return Unmet
	default:
		return Sound
	}
}

// unsound: runs that a search found beyond the limit may be invalid because of failed requests, since the search looks
// for them; and a run that showed nothing may have been repeated.
func (p Plan) unsound(done []Trial) bool {
	if p.Search != nil {
		last := done[len(done)-1]
		return !p.Search.decides(last) || last.gaveUp() != ""
	}
	return slices.ContainsFunc(done, func(t Trial) bool { return t.Status == Invalid })
}

// unmet: one value that misses the SLO is an expected result of a sweep; if all do, the server does not keep it.
func (p Plan) unmet(done []Trial) bool {
	if p.Search != nil {
		return p.Search.Kind == ForSLO && p.Search.bracket(done).within == 0
	}
	asked := slices.ContainsFunc(done, func(t Trial) bool { _, known := t.met(); return known })
	return asked && !slices.ContainsFunc(done, func(t Trial) bool { met, _ := t.met(); return met })
}
