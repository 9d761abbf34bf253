// Package campaign carries out a plan: one run after the other in the plan's order, each after its gates have opened
// and with its engine started for it. A journal records every event on a line of its own, so that the campaign can
// continue after a crash, a kill or a reboot.
//
// The caller passes in functions that make runs, start processes and read the state of the machine.
package campaign

import (
	"context"
	"log/slog"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// Campaign is a plan that is carried out in a folder.
type Campaign struct {
	Kind string // rundir.KindCampaign, KindSweep or KindArena
	Plan *plan.Plan
	// Text is the plan file as it was read. SHA256 covers it and the files that it names.
	Text   []byte
	SHA256 string
	Only   plan.Filter
	// Dir is the folder of the campaign.
	Dir string
	// Next chooses each slot from those before it, of a plan with one model and one arm and one iteration; nil if the slots
	// are the plan's. It depends only on the slots and their runs. A scenario that the plan does not have is added to it.
	Next func(made []SlotFacts) Choice
	// KeyDir is the folder of the key of the hashes of what runs; Dir if empty.
	KeyDir string
	// Retry are the statuses of slots that get further runs although they have ended.
	Retry []Status
	// Changed continues the campaign although its plan has changed since the first run.
	Changed bool
	// RepeatOutliers repeats, as new rounds, each round that has an outlier.
	RepeatOutliers bool
	// Decides is what decides the verdict by the plan. Compared is true if the arms were compared before.
	Decides  Decides
	Compared bool
	// Placement is where this invocation places the processes of arms, as in arm.Cgroups. It may not change within a
	// campaign. Empty if this process starts none.
	Placement  string
	Operations Operations
	Log        *slog.Logger
	Notify     Notifier
}

// Status is how a run ended, or the slot that it is in.
type Status string

// How runs end.
const (
	Finished Status = "finished" // measured, and valid
	Invalid  Status = "invalid"  // measured, but invalid
	Failed   Status = "failed"   // not measured to its end
	Aborted  Status = "aborted"  // cut off from outside; its slot gets another run
	Skipped  Status = "skipped"  // its arm is optional and cannot be started, or its load does not fit the server
)

// Order describes one run to be made.
type Order struct {
	Slot    plan.Slot
	Attempt int
	// Run is the name of the run and its folder, Dir the folder that contains the run folder.
	Run, Dir string
	Cell     *plan.Cell
	Scenario plan.Scenario
	// Pinned is the model name in the answers to the plan's first run with this model; empty if there was no such run,
	// or if the plan names a model.
	Pinned string
	// Labels are added to the labels from the flags.
	Labels map[string]string
	// Engine brings the machine to rest and starts the engine before the run, and stops it after the run.
	Engine server.EngineLifecycle
}

// Result is the result of a run.
type Result struct {
	Status Status
	// Problem is why it did not finish.
	Problem string
	// Proven are the signals that the run proves.
	Proven []string
	// Served is the model name in the server's answers; empty if there was none.
	Served string
	// Full is true if a disk was full: further runs cannot be kept either.
	Full bool
	// Torn is true if the folder is incomplete, although its figures may look like those of a valid run.
	Torn bool
}

// Engine is an arm that is up.
type Engine struct {
	// State is what was started.
	arm.State
	// Lost is done, with the cause, when one of its processes has ended.
	Lost context.Context
	Down func(ctx context.Context) error
	// Images are the image IDs of its containers, by process.
	Images map[string]string
}

// Machine is the state of the measured machine. A value that is not available is nil.
type Machine struct {
	// Celsius is the temperature of the hottest GPU of all machines, SMClockHertz the clock of the slowest GPU of the
	// first machine.
	Celsius, SMClockHertz *float64
	// PState is the performance state of the fastest GPU of the first machine. 0 is the fastest state.
	PState *float64
	// MemFreeBytes is MemFree: what CUDA reports as free in a shared pool.
	MemFreeBytes *float64
	// BusySeconds and TotalSeconds are CPU time of all processors since boot.
	BusySeconds, TotalSeconds *float64
}

// Printed is the result of a command.
type Printed struct {
	Text     string
	ExitCode int
	Seconds  float64
	Problem  string // why it did not end normally
}

// Operations are the functions that do the campaign's work.
type Operations struct {
	// Name returns the name of a new run.
	Name func(plan.Slot) string
	// Measure makes the run. It calls Order.Engine around the load, unless the run cannot begin.
	Measure func(context.Context, Order) Result
	Up      func(ctx context.Context, spec plan.Arm, dir string) (Engine, error)
	// Leftovers names what an earlier invocation left running of an arm. Down ends it.
	Leftovers func(ctx context.Context, spec plan.Arm, dir string) ([]string, error)
	Down      func(ctx context.Context, spec plan.Arm, dir string) error
	PageCache func(context.Context, plan.PageCache) rundir.PageCache
	// Machine reads the state of the machine from the exporters that the cell names, and from the kernel.
	Machine func(context.Context, *plan.Cell) Machine
	Command func(ctx context.Context, argv []string, most time.Duration) Printed
	// Outliers returns the rounds that have an outlier, among the runs made so far.
	Outliers func() ([]Outlier, error)
	// Boot is the boot ID of this machine.
	Boot string
}

// Files in the folder of a campaign.
const (
	PlanFile    = "plan.yaml"
	StateFile   = rundir.CampaignFile
	TableFile   = "campaign.csv"
	JournalFile = "journal.jsonl"
	LogFile     = "campaign.log" // of a detached campaign
	lockFile    = "campaign.lock"
	stopFile    = "stop-after-run"
	armsFolder  = "arms"
	// AbortedSuffix ends the folder names of runs that were cut off or not written completely. The folders are kept,
	// but are not runs any more.
	AbortedSuffix = ".aborted"
)
