// Package sweep generates the slots of a campaign that measures the same workload at several points: the points of a list,
// or those of a search for the highest load that keeps an SLO, or for the load that saturates a server. It sends no request.
package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/summary"
)

// Sweep chooses the points.
type Sweep struct {
	Name string
	// Given are the flags of all runs.
	Given []plan.Flag
	Over  Over
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

// Plan returns the plan of a sweep, with all its points or the first of its search. values describe it for readers.
func (p Sweep) Plan(arm string, values map[string]string) (plan.Single, error) {
	single := plan.Single{Name: p.Name, Arm: arm, Values: values, Flags: p.Given, Cooldown: p.Pause}
	points := p.Values
	if p.Search != nil {
		points = p.Search.Ends()[:1]
	}
	for i, v := range points {
		scenario, err := p.Scenario(Run{Number: i + 1, Value: v})
		if err != nil {
			return single, err
		}
		single.Scenarios = append(single.Scenarios, scenario)
	}
	return single, nil
}

// Scenario returns the scenario of a run: the flags that differ from those of all runs.
func (p Sweep) Scenario(t Run) (plan.Scenario, error) {
	flags, err := PointFlags(p.Given, p.Over, t.Value)
	flags = append(flags, plan.Flag{Name: "label", Value: "sweep=" + p.Name}, plan.Flag{Name: "seed", Value: strconv.FormatUint(p.seed(t), 10)})
	return plan.Scenario{Name: p.Over.scenarioName(t), Run: plan.Differing(flags, p.Given)}, err
}

// Point returns the parameter of a scenario with its value, such as concurrency 8.
func (p Sweep) Point(s plan.Scenario) string {
	for _, label := range plan.Lines(s.Run["label"]) {
		if value, is := strings.CutPrefix(label, p.Over.Label()+"="); is {
			return p.Over.Name + " " + value
		}
	}
	return s.Name
}

// Next returns what follows the runs so far.
func (p Sweep) Next(done []Run) campaign.Choice {
	c := campaign.Choice{State: campaign.Complete, Finding: p.Finding(done)}
	if n := len(done); n > 0 && done[n-1].Status == campaign.Failed {
		c.State, c.Reason = campaign.Broken, fmt.Sprintf("%s %s: %s", p.Over.Name, done[n-1].Value.Text, done[n-1].Problem)
		return c
	}
	if stopped := p.Stopped(done); stopped != "" {
		c.State, c.Reason = campaign.Ended, stopped
		return c
	}
	value, more := p.next(done)
	if !more {
		return c
	}
	scenario, err := p.Scenario(p.trial(done, value))
	if err != nil {
		c.State, c.Reason = campaign.Broken, err.Error()
		return c
	}
	c.Scenario = &scenario
	return c
}

// Runs returns the runs in the slots of a sweep. The values of a search follow from the runs before each. read returns the
// summary of the last run of a slot; nil if it has none.
func (p Sweep) Runs(slots []campaign.SlotFacts, read func(campaign.SlotFacts) *summary.Summary) []Run {
	var done []Run
	for _, s := range slots {
		value, more := p.next(done)
		if !more || !slices.Contains([]campaign.Status{campaign.Finished, campaign.Invalid, campaign.Failed}, s.Status) {
			break
		}
		t := p.trial(done, value)
		t.Outcome = Outcome{Run: s.Last(), Status: s.Status, Problem: s.Problem, Summary: read(s)}
		if t.Summary == nil && t.Status != campaign.Failed {
			break // its folder is gone
		}
		done = append(done, t)
	}
	return done
}

// trial returns the run of a value after the runs so far.
func (p Sweep) trial(done []Run, v Value) Run {
	return Run{Number: len(done) + 1, Value: v, Repeat: repeats(done, v)}
}

func (p Sweep) seed(t Run) uint64 {
	if p.SamePrompts {
		return p.Seed
	}
	return p.Over.Seed(p.Seed, t.Value, t.Repeat)
}

// next returns the value to measure next: a function of the trials so far.
func (p Sweep) next(done []Run) (Value, bool) {
	if p.Search != nil {
		return p.Search.next(done)
	}
	if len(done) == len(p.Values) {
		return Value{}, false
	}
	return p.Values[len(done)], true
}

// Stopped returns why no further value of the list was measured, in words; empty if all were.
func (p Sweep) Stopped(done []Run) string {
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
func (p Sweep) Judge(done []Run) Verdict {
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
func (p Sweep) unsound(done []Run) bool {
	if p.Search != nil {
		last := done[len(done)-1]
		return !p.Search.decides(last) || last.gaveUp() != ""
	}
	return slices.ContainsFunc(done, func(t Run) bool { return t.Status == campaign.Invalid })
}

// unmet: one value that misses the SLO is an expected result of a sweep; if all do, the server does not keep it.
func (p Sweep) unmet(done []Run) bool {
	if p.Search != nil {
		return p.Search.Kind == ForSLO && p.Search.bracket(done).within == 0
	}
	asked := slices.ContainsFunc(done, func(t Run) bool { _, known := t.met(); return known })
	return asked && !slices.ContainsFunc(done, func(t Run) bool { met, _ := t.met(); return met })
}
