// Package campaign carries out a plan: one run after the other in the plan's order, each behind its gates
// and with its engine started for it. What happens is written down line by line, so that whoever comes
// after a crash, a kill or a reboot goes on where that ended.
//
// How a run is made, how processes are started and what a machine says of itself, others know: they are
// handed in.
package campaign

import (
	"context"
	"log/slog"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/lifecycle"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Campaign is a plan that is carried out in a folder.
type Campaign struct {
	Plan *plan.Plan
	// Text is the plan file as it was read, SHA256 that of it and of what it names.
	Text   []byte
	SHA256 string
	Only   plan.Filter
	// Dir is the folder of the campaign.
	Dir string
	// Retry makes runs again in slots that are over without a valid run.
	Retry bool
	// Changed goes on although the plan is not the one that the campaign began with.
	Changed bool
	// RepeatOutliers repeats, as new rounds, rounds with a run that is off.
	RepeatOutliers bool
	// Decides is what the plan decides by, Compared says that the arms were compared before.
	Decides  Decides
	Compared bool
	Hands    Hands
	Log      *slog.Logger
	Notify   Notifier
}

// Status is how a run, or the slot that it is in, ended.
type Status string

// How runs end.
const (
	Finished Status = "finished" // measured, and valid
	Invalid  Status = "invalid"  // measured, and its figures must not be used
	Failed   Status = "failed"   // not measured to its end
	Aborted  Status = "aborted"  // cut off from outside; its slot gets another
	Skipped  Status = "skipped"  // its arm is optional and cannot be started
)

// Order is one run that is to be made.
type Order struct {
	Slot    plan.Slot
	Attempt int
	// Run is the name of the run and its folder, Dir the folder that it is made in.
	Run, Dir string
	Cell     *plan.Cell
	Scenario plan.Scenario
	// Pinned is the model that the first run with this model of the plan was answered as; empty if there was none, or if the
	// plan names one.
	Pinned string
	// Labels are those of the run, beside those that flags give it.
	Labels map[string]string
	// Engine gets the machine to rest and the engine up before the run, and down after it.
	Engine lifecycle.Engine
}

// Result is what came of a run.
type Result struct {
	Status Status
	// Problem says why it is not finished.
	Problem string
	// Proven are the signals that the run is proof of.
	Proven []string
	// Served is the model that the server answered as; empty if there was none.
	Served string
	// Full says that a disk was full: no other run can be kept either.
	Full bool
	// Torn says that the folder is not whole, though its figures may pass for those of a valid run.
	Torn bool
}

// Engine is an arm that is up.
type Engine struct {
	// Lost is done, with the cause, when a process of it is gone.
	Lost    context.Context
	Down    func(ctx context.Context) error
	Files   []rundir.ArmFile
	Members []rundir.ArmMember
	// Images are the ids of the images of containers that processes run in, by process.
	Images map[string]string
	// LockedClock is the clock that the GPUs of this machine are locked to; 0 if they are not.
	LockedClock plan.Hertz
	// Logs are what its processes write, in their order.
	Logs []lifecycle.Log
}

// Machine is what the measured machine says of itself. What nobody knows is nil.
type Machine struct {
	// Celsius is of the hottest GPU of all machines, SMClockHertz of the slowest of the first.
	Celsius, SMClockHertz *float64
	// PState is the performance state of the fastest GPU of the first machine: 0 is the fastest there is.
	PState *float64
	// MemFreeBytes is what CUDA sees as free in a shared pool.
	MemFreeBytes *float64
	// BusySeconds and TotalSeconds count what all processors have done since the machine was started.
	BusySeconds, TotalSeconds *float64
}

// Printed is what a command did.
type Printed struct {
	Text     string
	ExitCode int
	Seconds  float64
	Problem  string // why it did not end by itself
}

// Hands are what a campaign does with the world.
type Hands struct {
	// Name makes the name of a run.
	Name func(plan.Slot) string
	// Measure makes the run. It calls what stands around it, unless it cannot even begin.
	Measure func(context.Context, Order) Result
	Up      func(ctx context.Context, arm plan.Arm, dir string) (Engine, error)
	// Leftovers names what still runs of an arm that an earlier invocation left, Down ends it.
	Leftovers func(ctx context.Context, arm plan.Arm, dir string) ([]string, error)
	Down      func(ctx context.Context, arm plan.Arm, dir string) error
	PageCache func(context.Context, plan.PageCache) rundir.PageCache
	// Machine asks the machine, by the exporters that the cell names and by its kernel.
	Machine func(context.Context, *plan.Cell) Machine
	Command func(ctx context.Context, argv []string, most time.Duration) Printed
	// Outliers are the rounds with a run that is off, of the runs made so far.
	Outliers func() ([]Outlier, error)
	// Boot is the boot of this machine.
	Boot string
}

// Files in the folder of a campaign.
const (
	PlanFile    = "plan.yaml"
	StateFile   = "campaign.json"
	JournalFile = "journal.jsonl"
	LogFile     = "campaign.log" // of one that was detached
	lockFile    = "campaign.lock"
	stopFile    = "stop-after-run"
	armsFolder  = "arms"
	// AbortedSuffix is of the folders of runs that were cut off, or not kept whole: they stay, and are no runs any more.
	AbortedSuffix = ".aborted"
)
