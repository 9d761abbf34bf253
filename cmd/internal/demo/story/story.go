// Package story is the page of the demo: what was done, what came of it, what is known of it beside, and what it does
// not show. It is told plain data and judges nothing: verdicts are those of a comparison, grades those of a run.
//
// A section that has nothing to show stays, and says what is missing.
package story

import (
	"io"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// Write writes one self-contained page: no script, nothing loaded from elsewhere.
func Write(w io.Writer, p Page) error { return render.HTML(w, document(p)) }

// Page is all that is told. Its zero value is a page that says that nothing is there.
type Page struct {
	Made Made
	// Problems are what went wrong while it was made, a line each.
	Problems    []string
	Campaigns   []Campaign
	Limits      Limits
	Rehydration Rehydration
	Outputs     Outputs
	Heat        Heat
	// Links are to what else there is, such as the folder of everything.
	Links []Link
}

// Made says how the page came about.
type Made struct {
	Command string // as it was typed
	Seed    uint64
	// Begun and Ended are by the wall clock, MachineBegun and MachineEnded by those of the machines, which go Speed
	// times as fast.
	Begun, Ended               time.Time
	MachineBegun, MachineEnded time.Time
	Speed                      float64
	Quick                      bool
	// Partial says that it was ended before everything was made.
	Partial bool
}

// Link leads to something beside the page. An empty address is none.
type Link struct{ Text, Address string }

// Section is what parts of the page have in common.
type Section struct {
	// Absent is why there is nothing, or less than there should be; empty if nothing is known to be missing. Fault is what
	// is not as it should be.
	Absent, Fault string
	// Commands are how uma-load was called.
	Commands []string
	Links    []Link
}

// Campaign is one design of the same experiment.
type Campaign struct {
	Section
	Name string // in figures: short
	// Title says what it is, Design in a sentence how its runs were made.
	Title, Design string
	Comparison    *compare.Comparison
	// Starts are the simulator's own books, in the order of time.
	Starts  []Start
	Invalid []Invalid
}

// Start is what the simulator knows of one start of an engine, when the engine sized its KV cache.
type Start struct {
	Arm                             string
	At                              time.Time // on the machine's clock
	OccupiedWithoutKVBytes, KVBytes float64
	// Cached is the page cache by file, Other what else was in use, by what it is.
	Cached, Other []Part
}

// Part is one part of what was in use. Its name is the same in all starts.
type Part struct {
	Name  string
	Bytes float64
}

// Invalid is a run that enters no figure.
type Invalid struct{ Run, Arm, Why string }

// Limits are what limits of containers saw of the memory that their engines used.
type Limits struct {
	Section
	Containers []Container
}

// Container is a container when its engine served.
type Container struct {
	Host, Cgroup string
	At           time.Time // on the machine's clock
	// LimitBytes is what may be charged, ChargedBytes what was, and HeldBytes the GPU memory that its processes held.
	LimitBytes, ChargedBytes, HeldBytes float64
}

// Rehydration is what a run shows of KV blocks that came back from a drive.
type Rehydration struct {
	Section
	Run               string
	Rehydrate, Stored Signal
	// Passes are the times to the first token, wall time, by where the KV cache of the prompts came from.
	Passes []Pass
}

// Signal is a graded statement with what it rests on.
type Signal struct {
	Grade, Reason string
	Witnesses     []Witness
}

// Witness is a figure of a signal, with the range that it must be in if the statement holds. Lowest and Highest are
// infinite where there is no such end.
type Witness struct {
	Name, Unit             string
	Value, Lowest, Highest float64
	Agrees                 bool
}

// Pass is one pass over some prompts.
type Pass struct {
	Name    string
	Run     string
	Seconds []float64 // a request each
}

// Outputs is what became of the answers where the cache was right and where it was made wrong.
type Outputs struct {
	Section
	Runs []Judged
}

// Judged is a run whose answers were compared.
type Judged struct {
	Run, Title string
	// Wrong says that the simulator was told to bring back something else than was stored.
	Wrong bool
	// Match is the signal of the run, Exit its exit code and Wanted what it has to be.
	Match        Signal
	Exit, Wanted int
	Valid        bool
	Examples     []Example
	Links        []Link

	Absent, Fault string // as of a section
}

// Example is a prompt that was answered in two ways.
type Example struct {
	Prompt         int // its number
	Expected, Seen string
}

// Heat is what alerts said, on the clocks of the machines.
type Heat struct {
	Section
	// Host is the machine of the curves.
	Host   string
	Curves []Curve
	// Events are what was done to machines on purpose.
	Events []Event
	// Firings are all alerts of all machines.
	Firings []Firing
}

// Curve is a series over time.
type Curve struct {
	Title, Unit string
	Points      []Point
}

// Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// Event was done to a machine on purpose. Until is zero if it was cut off.
type Event struct {
	Name, Alert, Host string
	From, Until       time.Time
}

// Firing is an alert that fired. Until is zero if it fires still.
type Firing struct {
	Alert, Severity, Host, Summary string
	About                          string // what of the machine, if it has several
	Runbook                        string // its address
	Pending, From, Until           time.Time
}
