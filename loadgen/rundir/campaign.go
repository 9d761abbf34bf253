package rundir

import (
	"fmt"
	"strings"
)

// Campaign is what a run is of a campaign, and what was done and found around it.
type Campaign struct {
	Name string `json:"name"`
	// PlanSHA256 is of the plan file as it was read.
	PlanSHA256 string `json:"plan_sha256"`
	// Slot is the run's place in the order of the plan, Attempt counts the runs in it.
	Slot      int    `json:"slot"`
	Attempt   int    `json:"attempt"`
	Model     string `json:"model"`
	Arm       string `json:"arm"`
	Scenario  string `json:"scenario"`
	Iteration int    `json:"iteration"`
	Round     int    `json:"round,omitempty"`
	// Repeats is the round that this one repeats, since a run of that was off; 0 of rounds of the plan.
	Repeats int `json:"repeats_round,omitempty"`
	// NRaisedFrom is the n of the plan when its arms were first compared, of a run beyond it; 0 of others.
	NRaisedFrom int `json:"n_raised_from,omitempty"`
	// BootID is of the machine that the campaign runs on.
	BootID string `json:"boot_id,omitempty"`
	// EngineKept says that the engine was up already, from a run before this one.
	EngineKept bool       `json:"engine_kept,omitempty"`
	Gates      []Gate     `json:"gates,omitempty"`
	PageCache  *PageCache `json:"page_cache,omitempty"`
	// LockedClockHertz is the clock that the GPUs of the machine with uma-load were locked to while the arm was up.
	LockedClockHertz *float64    `json:"locked_clock_hertz,omitempty"`
	Checks           []Check     `json:"checks,omitempty"`
	Collected        []Collected `json:"collected,omitempty"`
	Files            []ArmFile   `json:"files,omitempty"`
	Processes        []ArmMember `json:"processes,omitempty"`
	// Problems are what went wrong around the run without spoiling it.
	Problems []string `json:"problems,omitempty"`
}

// Gate is what was waited for before a run.
type Gate struct {
	Name string `json:"name"`
	// State is passed, timed_out, not_observable or failed: the last if the plan is strict.
	State string `json:"state"`
	// Value is what was seen last, Limit what was waited for, both in Unit.
	Value *float64 `json:"value,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
	Unit  string   `json:"unit,omitempty"`
	// Seconds is how long it was waited for.
	Seconds float64 `json:"seconds"`
	Detail  string  `json:"detail,omitempty"`
}

// PageCache is what was done with the page cache before the engine was started.
type PageCache struct {
	Policy string `json:"policy"`
	// Files and Bytes are what was looked at.
	Files int    `json:"files,omitempty"`
	Bytes uint64 `json:"bytes,omitempty"`
	// BeforeBytes and AfterBytes are what of them was in memory; absent where that is not known.
	BeforeBytes *uint64 `json:"resident_before_bytes,omitempty"`
	AfterBytes  *uint64 `json:"resident_after_bytes,omitempty"`
	// Unread are files that could not be opened, so that nothing of them was taken away.
	Unread  int     `json:"unread,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

// Check is a command that printed one number.
type Check struct {
	Name string `json:"name"`
	// When is before or after the load.
	When     string   `json:"when"`
	Value    *float64 `json:"value,omitempty"`
	Unit     string   `json:"unit,omitempty"`
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Passed   bool     `json:"passed"`
	ExitCode int      `json:"exit_code"`
	Seconds  float64  `json:"seconds"`
	Problem  string   `json:"problem,omitempty"`
}

// Failure describes a check that did not pass.
func (c Check) Failure() string {
	if c.Problem != "" {
		return fmt.Sprintf("check %s %s the load: %s", c.Name, c.When, c.Problem)
	}
	var bounds []string
	if c.Min != nil {
		bounds = append(bounds, fmt.Sprintf("at least %g", *c.Min))
	}
	if c.Max != nil {
		bounds = append(bounds, fmt.Sprintf("at most %g", *c.Max))
	}
	return strings.TrimSpace(fmt.Sprintf("check %s %s the load: %g %s", c.Name, c.When, *c.Value, c.Unit)) + ", wanted " + strings.Join(bounds, " and ")
}

// Collected is what a command said once of an arm with a model, such as pip freeze.
type Collected struct {
	Name string `json:"name"`
	// File is where all of it lies in the run folder, SHA256 is of that.
	File     string `json:"file"`
	SHA256   string `json:"sha256"`
	ExitCode int    `json:"exit_code"`
	Problem  string `json:"problem,omitempty"`
	// Output is what it printed; Cut says that more of it is in the file.
	Output string `json:"output"`
	Cut    bool   `json:"cut,omitempty"`
}

// ArmFile is a file that was written for the engine.
type ArmFile struct {
	Path string `json:"path"`
	// SHA256 is of runs from before keyed hashes: Provenance identifies the files of later ones.
	SHA256 string `json:"sha256,omitempty"`
}

// ArmMember is a process that was started for the engine. Of its arguments only the names of options
// are kept: keys stand in arguments.
type ArmMember struct {
	Name    string   `json:"name"`
	Program string   `json:"program"`
	Options []string `json:"options,omitempty"`
	// Container and Host are where it runs, if not here.
	Container string `json:"container,omitempty"`
	Host      string `json:"host,omitempty"`
}
