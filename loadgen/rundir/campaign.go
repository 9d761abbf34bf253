package rundir

import (
	"fmt"
	"strings"
)

// Kinds of campaigns, by the verbs that write their plans.
const (
	KindCampaign = "campaign"
	KindSweep    = "sweep"
	KindArena    = "arena"
)

// Campaign is a run's place in a campaign, and the steps and findings around the run.
type Campaign struct {
	Name string `json:"name" pack:"word"`
	// PlanSHA256 is the hash of the plan file as read.
	PlanSHA256 string `json:"plan_sha256" pack:"sum"`
	// Slot is the run's place in the order of the plan, Attempt counts the runs in it.
	Slot      int    `json:"slot"`
	Attempt   int    `json:"attempt"`
	Model     string `json:"model" pack:"model"`
	Arm       string `json:"arm" pack:"word"`
	Scenario  string `json:"scenario" pack:"word"`
	Iteration int    `json:"iteration"`
	Round     int    `json:"round,omitempty"`
	// Repeats is the round that this one repeats, since a run of that round was an outlier; 0 for rounds of the plan.
	Repeats int `json:"repeats_round,omitempty"`
	// NRaisedFrom is the n of the plan when its arms were first compared, for a run beyond it; 0 for others.
	NRaisedFrom int `json:"n_raised_from,omitempty"`
	// BootID is the boot ID of the machine that the campaign runs on.
	BootID string `json:"boot_id,omitempty" pack:"boot"`
	// EngineKept is true if the engine was already up, from an earlier run.
	EngineKept bool       `json:"engine_kept,omitempty"`
	Gates      []Gate     `json:"gates,omitempty"`
	PageCache  *PageCache `json:"page_cache,omitempty"`
	// Placement is where the processes that the campaign started were: "process groups", or "a cgroup of each arm" with
	// its controllers. It is absent if it started none, or began with a version that recorded none.
	Placement string `json:"placement,omitempty" pack:"word"`
	// Cgroup is that cgroup as exporters name it in the label cgroup, by which its lines of the ledger are found.
	Cgroup string `json:"cgroup,omitempty" pack:"cgroup"`
	// LockedClockHertz is the clock that the GPUs of the machine with uma-load were locked to while the arm was up.
	LockedClockHertz *float64    `json:"locked_clock_hertz,omitempty"`
	Checks           []Check     `json:"checks,omitempty"`
	Collected        []Collected `json:"collected,omitempty"`
	Files            []ArmFile   `json:"files,omitempty"`
	Processes        []ArmMember `json:"processes,omitempty"`
	// Problems are faults around the run that did not spoil it.
	Problems []string `json:"problems,omitempty" pack:"text"`
}

// Gate is a condition that the campaign waited for before a run.
type Gate struct {
	Name string `json:"name" pack:"word"`
	// State is passed, timed_out, not_observable or failed: the last if the plan is strict.
	State string `json:"state" pack:"word"`
	// Value is the last value seen, Limit the value waited for, both in Unit.
	Value *float64 `json:"value,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
	Unit  string   `json:"unit,omitempty" pack:"word"`
	// Seconds is how long the campaign waited.
	Seconds float64 `json:"seconds"`
	Detail  string  `json:"detail,omitempty" pack:"text"`
}

// PageCache is the treatment of the page cache before the engine was started.
type PageCache struct {
	Policy string `json:"policy" pack:"word"`
	// Files and Bytes are the extent of the files examined.
	Files int    `json:"files,omitempty"`
	Bytes uint64 `json:"bytes,omitempty"`
	// BeforeBytes and AfterBytes are how much of the files was in memory; absent if unknown.
	BeforeBytes *uint64 `json:"resident_before_bytes,omitempty"`
	AfterBytes  *uint64 `json:"resident_after_bytes,omitempty"`
	// Unread counts files that could not be opened, so that their pages were not dropped.
	Unread  int     `json:"unread,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Problem string  `json:"problem,omitempty" pack:"text"`
}

// Check is a command that printed one number.
type Check struct {
	Name string `json:"name" pack:"word"`
	// When is before or after the load.
	When     string   `json:"when" pack:"word"`
	Value    *float64 `json:"value,omitempty"`
	Unit     string   `json:"unit,omitempty" pack:"word"`
	Min      *float64 `json:"min,omitempty"`
	Max      *float64 `json:"max,omitempty"`
	Passed   bool     `json:"passed"`
	ExitCode int      `json:"exit_code"`
	Seconds  float64  `json:"seconds"`
	Problem  string   `json:"problem,omitempty" pack:"text"`
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

// Collected is the output of a command that is run once per pair of arm and model, such as pip freeze.
type Collected struct {
	Name string `json:"name" pack:"word"`
	// File is the path of the whole output in the run folder, SHA256 its hash.
	File     string `json:"file" pack:"word"`
	SHA256   string `json:"sha256" pack:"sum"`
	ExitCode int    `json:"exit_code"`
	Problem  string `json:"problem,omitempty" pack:"text"`
	// Output is what the command printed; Cut is true if the file has more of it.
	Output string `json:"output"`
	Cut    bool   `json:"cut,omitempty"`
}

// ArmFile is a file that was written for the engine. Provenance identifies its content.
type ArmFile struct {
	Path string `json:"path" pack:"path"`
}

// ArmMember is a process that was started for the engine. Of its arguments only the names of options are kept, since
// arguments may hold keys.
type ArmMember struct {
	Name    string   `json:"name" pack:"word"`
	Program string   `json:"program" pack:"word"`
	Options []string `json:"options,omitempty" pack:"word"`
	// Container and Host are where it runs, if not on this machine.
	Container string `json:"container,omitempty" pack:"container"`
	Host      string `json:"host,omitempty" pack:"host"`
}
