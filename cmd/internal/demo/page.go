package demo

import (
	"io"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// WritePage writes one self-contained page, as render.HTML does.
func WritePage(w io.Writer, p Page) error { return render.HTML(w, document(p)) }

// Page is the content of the page: what was done, the results, the ground truth next to them, and the limits of what it
// shows. It is plain data: verdicts come from a comparison, grades from a run. A section without content stays on the
// page and gives the reason; the zero value is a page in which every section is missing.
type Page struct {
	Made Made
	// Problems are the errors of the demo, a line each.
	Problems    []string
	Campaigns   []Campaign
	Limits      Limits
	Rehydration Rehydration
	Outputs     Outputs
	Heat        Heat
	// Links are to the other results, such as the folder of all files.
	Links []Link
}

// Made describes how the page was made.
type Made struct {
	Command      string // as it was typed
	Begun, Ended time.Time
	Quick        bool
	// Partial reports that an interrupt came before everything was made.
	Partial bool
}

// Link is a link from the page. Without an address it is left out.
type Link struct{ Text, Address string }

// Section has the fields that all parts of the page share.
type Section struct {
	// Absent is the reason why content is missing; empty if the section is complete. Fault is a result that differs
	// from the expected one.
	Absent, Fault string
	// Commands are the uma-load command lines.
	Commands []string
	Links    []Link
}

// Campaign is one design of the same experiment.
type Campaign struct {
	Section
	Name string // in figures: a short one
	// Title is the setting that differs, Design a sentence on how the runs were made.
	Title, Design string
	Comparison    *compare.Comparison
	// Starts are the ground truth of the simulator, in the order of time.
	Starts  []Start
	Invalid []Invalid
}

// Start is the ground truth of one start of an engine, when the engine sized its KV cache.
type Start struct {
	Arm                             string
	At                              time.Time
	OccupiedWithoutKVBytes, KVBytes float64
	Cached                          []Part // the page cache by file
}

// Part is one part of occupied memory. Its name is the same in all starts.
type Part struct {
	Name  string
	Bytes float64
}

// Invalid is a run that is in no figure.
type Invalid struct{ Run, Arm, Why string }

// Limits has the memory of the container of each machine: its limit, the most that was charged to it and the most GPU
// memory that it held.
type Limits struct {
	Section
	Containers []Container
}

// Container is one of them, in bytes.
type Container struct {
	Host                 string
	Limit, Charged, Held float64
}

// Rehydration has the results of a run on KV blocks that came back from a drive.
type Rehydration struct {
	Section
	Run *summary.Summary
}

// Outputs has the comparisons of answers, of the engine with a correct cache and of the one with a faulty cache.
type Outputs struct {
	Section
	Runs []Judged
}

// Judged is a run whose answers were compared.
type Judged struct {
	Run, Title string
	// Wrong reports that the simulator returned other blocks than were stored, on purpose.
	Wrong bool
	// Match is the signal of the run, Exit its exit code and Wanted the expected one.
	Match        evidence.Signal
	Exit, Wanted int
	Valid        bool
	Links        []Link

	Absent, Fault string // as in a Section
}

// Heat has the alerts.
type Heat struct {
	Section
	// Host is the machine of the curves.
	Host   string
	Curves []Curve
	// Events are the faults that were made on purpose.
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

// Event is a fault that was made on purpose. Until is zero if it was interrupted.
type Event struct {
	Name, Alert, Host string
	From, Until       time.Time
}

// Firing is an alert that fired. Until is zero if it still fires.
type Firing struct {
	Alert, Severity, Host, Summary string
	Runbook                        string // its address
	Pending, From, Until           time.Time
}
