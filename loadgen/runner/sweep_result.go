package runner

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

// SweepSchema is the schema name of sweep.json.
const SweepSchema = "umascope.sweep/1"

// SweepResult is sweep.json: the request, every run with its figures, and the finding. It is written before the first
// run and after each.
type SweepResult struct {
	Schema string     `json:"schema"`
	Sweep  string     `json:"sweep"`
	State  SweepState `json:"state"`
	// Reason is why the sweep stopped, was interrupted or failed, in words.
	Reason    string     `json:"reason,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`

	// Over is the parameter that differs between the runs: concurrency, rate, shape or set.KEY.
	Over string `json:"over"`
	// Flags are all flags of the sweep, given or default; secrets are redacted. Those of a run are in
	// its manifest.
	Flags map[string]string `json:"flags"`
	Seed  uint64            `json:"seed"`
	// SamePrompts is true if every run has that seed. Otherwise each has its own seed, derived from it and from the
	// value, so that no run is answered from what the previous one left in a prefix cache.
	SamePrompts bool `json:"same_prompts"`
	// PauseSeconds is the time between two runs.
	PauseSeconds float64 `json:"pause_seconds"`

	Finding *SweepFinding `json:"finding,omitempty"`
	Points  []SweepPoint  `json:"points"`

	trials []SweepRun
}

// SweepState is the state of a sweep.
type SweepState string

// The states of a sweep.
const (
	SweepRunning     SweepState = "running" // also if it was killed
	SweepComplete    SweepState = "complete"
	SweepStopped     SweepState = "stopped" // by its own rule
	SweepInterrupted SweepState = "interrupted"
	SweepFailed      SweepState = "failed"
)

// SweepPoint is one run.
type SweepPoint struct {
	Number int    `json:"number"`
	Value  string `json:"value"`
	// Load is the value as a number, if it is one.
	Load *float64 `json:"load,omitempty"`
	// Repeat is how often the same value was measured before.
	Repeat int `json:"repeat"`
	// Run is the name of the run and of its folder.
	Run            string         `json:"run"`
	Seed           uint64         `json:"seed"`
	Status         RunStatus      `json:"status"`
	InvalidReasons []summary.Code `json:"invalid_reasons"`
	// Problem is why it failed, in words.
	Problem string `json:"problem,omitempty"`
	SLOMet  *bool  `json:"slo_met,omitempty"`
	// Figures are those of the run's summary by the names of the columns of sweep.csv; figures that a run lacks are
	// absent.
	Figures map[string]float64 `json:"figures"`
}

// reasons returns the codes in one cell.
func (p SweepPoint) reasons() string {
	var codes []string
	for _, c := range p.InvalidReasons {
		codes = append(codes, string(c))
	}
	return strings.Join(codes, " ")
}

// Update sets the runs measured so far.
func (r *SweepResult) Update(p Sweep, done []SweepRun) {
	r.trials, r.Points, r.Finding = done, []SweepPoint{}, p.Finding(done)
	for _, t := range done {
		r.Points = append(r.Points, sweepPoint(t))
	}
}

func sweepPoint(t SweepRun) SweepPoint {
	p := SweepPoint{
		Number: t.Number, Value: t.Value.Text, Load: optional(t.Value.Load), Repeat: t.Repeat,
		Run: t.Run, Seed: t.Seed, Status: t.Status, Problem: t.Problem, InvalidReasons: []summary.Code{}, Figures: map[string]float64{},
	}
	if t.Summary == nil {
		return p
	}
	for _, reason := range t.Summary.InvalidReasons {
		p.InvalidReasons = append(p.InvalidReasons, reason.Code)
	}
	if g := t.Summary.SLO; g != nil {
		p.SLOMet = &g.Met
	}
	for _, f := range figure.All().Columns(figure.InSweep) {
		if v := f.Get(t.Summary); v != nil {
			p.Figures[f.Sweep.Heading] = *v
		}
	}
	return p
}

// Good reports whether the whole sweep may be used as it is.
func (r SweepResult) Good(p Sweep) bool {
	return r.State == SweepComplete && p.Judge(r.trials) != Unsound
}

// Axis returns the swept parameter with its unit.
func (o Over) Axis() string {
	switch o.Name {
	case OverConcurrency:
		return "requests in flight"
	case OverRate:
		return "requests due per second"
	default:
		return strings.TrimPrefix(o.Name, overSetPrefix)
	}
}

// Verdict returns the outcome of the sweep, in a sentence.
func (r SweepResult) Verdict(p Sweep) string {
	if r.State != SweepComplete && r.State != SweepStopped {
		return fmt.Sprintf("This sweep is %s: %s", r.State, r.Reason)
	}
	switch judged := p.Judge(r.trials); {
	case judged == Unmet:
		return "No run keeps the SLO."
	case judged == Unsound && p.Search != nil:
		return "INVALID: the search ended with a run that shows nothing of the limit."
	case judged == Unsound:
		return "A run of this sweep is INVALID."
	case p.Search != nil:
		return "The runs that the search goes by may be used."
	default:
		return "Every run is valid."
	}
}

// Notes returns the findings, in sentences.
func (r SweepResult) Notes(p Sweep) []string {
	var notes []string
	if f := r.Finding; f != nil {
		notes = append(notes, f.Says, "Rule: "+f.Rule+".")
		if f.HighestThroughput != nil {
			notes = append(notes, fmt.Sprintf("The highest throughput of all usable runs is %.4g %s, at %s.", *f.HighestThroughput, f.ThroughputUnit, overValue(*f.HighestAt).Text))
		}
		for _, c := range f.Contradictions {
			notes = append(notes, "Not what a sharp limit shows: "+c+".")
		}
	} else if best := highestWithin(r.trials); best != "" {
		notes = append(notes, best)
	}
	if few := tooFew(r.trials); few != "" {
		notes = append(notes, few)
	}
	if stopped := p.Stopped(r.trials); stopped != "" {
		notes = append(notes, "Stopped: "+stopped+".")
	}
	for _, t := range r.trials {
		if t.Problem != "" {
			notes = append(notes, fmt.Sprintf("%s at %s: %s", t.Status, t.Value.Text, t.Problem))
		}
	}
	return notes
}

// tooFew names the loads of runs with so few requests that a single one decides whether the SLO is kept; empty if there
// are none.
func tooFew(done []SweepRun) string {
	var values []string
	least := 0
	for _, t := range done {
		if t.Summary == nil || t.Summary.SLO == nil {
			continue
		}
		g := t.Summary.SLO
		allowed := 1 - g.RequiredRatio
		if few := float64(g.Requests)*allowed < 1; few && g.Requests > 0 && !slices.Contains(values, t.Value.Text) {
			values, least = append(values, t.Value.Text), int(math.Round(1/allowed))
		}
	}
	if len(values) == 0 {
		return ""
	}
	return fmt.Sprintf("With fewer than %d requests a single one decides whether the SLO is kept: so it is at %s.", least, strings.Join(values, ", "))
}

// highestWithin names the highest value of a list that keeps the SLO, and reports whether a lower one misses it; empty
// without an SLO or a load.
func highestWithin(done []SweepRun) string {
	best, lowestMiss, asked := 0.0, 0.0, false
	for _, t := range done {
		load := t.Value.Load
		met, known := t.met()
		if !known || load == 0 {
			continue
		}
		asked = true
		if met {
			best = max(best, load)
		} else if lowestMiss == 0 || load < lowestMiss {
			lowestMiss = load
		}
	}
	switch {
	case !asked:
		return ""
	case best == 0:
		return "None of these loads keeps the SLO."
	case lowestMiss != 0 && lowestMiss <= best:
		return fmt.Sprintf("The highest of these loads that keeps the SLO is %s, though %s misses it.", overValue(best).Text, overValue(lowestMiss).Text)
	default:
		return fmt.Sprintf("The highest of these loads that keeps the SLO is %s.", overValue(best).Text)
	}
}
