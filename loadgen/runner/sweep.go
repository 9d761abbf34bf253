package runner

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Sweep measures the same workload at several points, a run for each: the points of a list, or those of a search for the
// highest load that keeps an SLO or for the load that saturates a server. It sends no request itself: the caller of Drive
// passes the function that makes one run.
type Sweep struct {
	Over Over
	// Values are measured in order, unless Search selects the next one.
	Values []OverValue
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

// Drive measures one value after the other. After each run it saves all trials so far, so that a killed sweep is
// readable up to its last run. Between two runs it calls pause, which returns false if it was interrupted. It fails if a
// run does, and returns the trials in any case.
func (p Sweep) Drive(ctx context.Context, pause func(ctx context.Context, next OverValue) bool, run func(context.Context, SweepRun) SweepOutcome, keep func([]SweepRun) error) ([]SweepRun, error) {
	var done []SweepRun
	for {
		value, more := p.next(done)
		if !more {
			return done, nil
		}
		if ctx.Err() != nil || len(done) > 0 && p.Pause > 0 && !pause(ctx, value) {
			return done, ErrInterrupted
		}
		t := SweepRun{Number: len(done) + 1, Value: value, Repeat: repeats(done, value)}
		t.Seed = p.seed(t)
		t.SweepOutcome = run(ctx, t)
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

func (p Sweep) seed(t SweepRun) uint64 {
	if p.SamePrompts {
		return p.Seed
	}
	return p.Over.Seed(p.Seed, t.Value, t.Repeat)
}

// next returns the value to measure next: a function of the trials so far.
func (p Sweep) next(done []SweepRun) (OverValue, bool) {
	if p.Stopped(done) != "" {
		return OverValue{}, false
	}
	if p.Search != nil {
		return p.Search.next(done)
	}
	if len(done) == len(p.Values) {
		return OverValue{}, false
	}
	return p.Values[len(done)], true
}

// Stopped returns why no further value of the list was measured, in words; empty if all were.
func (p Sweep) Stopped(done []SweepRun) string {
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

// SweepVerdict is the outcome of a sweep that was not interrupted and did not fail.
type SweepVerdict int

// Sound means that the sweep's runs are valid; Unsound that one is invalid, or that an invalid one ended a search;
// Unmet that no value keeps the SLO.
const (
	Sound SweepVerdict = iota
	Unsound
	Unmet
)

// Judge returns the outcome of the trials.
func (p Sweep) Judge(done []SweepRun) SweepVerdict {
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
func (p Sweep) unsound(done []SweepRun) bool {
	if p.Search != nil {
		last := done[len(done)-1]
		return !p.Search.decides(last) || last.gaveUp() != ""
	}
	return slices.ContainsFunc(done, func(t SweepRun) bool { return t.Status == Invalid })
}

// unmet: one value that misses the SLO is an expected result of a sweep; if all do, the server does not keep it.
func (p Sweep) unmet(done []SweepRun) bool {
	if p.Search != nil {
		return p.Search.Kind == ForSLO && p.Search.bracket(done).within == 0
	}
	asked := slices.ContainsFunc(done, func(t SweepRun) bool { _, known := t.met(); return known })
	return asked && !slices.ContainsFunc(done, func(t SweepRun) bool { met, _ := t.met(); return met })
}
