package arena

import (
	"slices"
	"time"
)

// Schema is the schema name of arena.json.
const Schema = "umascope.arena/1"

// Result is arena.json: the cells that were asked for, in order, with the run of each that was measured. It is written
// before the first cell and after each.
type Result struct {
	Schema string `json:"schema"`
	Arena  string `json:"arena"`
	State  State  `json:"state"`
	// Reason is why it was interrupted or failed, in words.
	Reason    string     `json:"reason,omitempty"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// Profile is the profile's name; absent if the cells are those of flags.
	Profile string `json:"profile,omitempty"`
	// Order is profile, given or seeded.
	Order string `json:"order"`
	// PrefixCaching is true if the context of each request was sent before it.
	PrefixCaching bool `json:"prefix_caching"`
	// Warmup is which cells had a discarded batch before them: first, each or none.
	Warmup string `json:"warmup"`
	// Cool is what was waited for between two cells: a temperature such as 60C, or a time; absent for nothing.
	Cool string `json:"cool,omitempty"`
	// Flags are all flags, given or default; secrets are redacted. Those of a run are in its manifest.
	Flags map[string]string `json:"flags"`
	Seed  uint64            `json:"seed"`
	Cells []Measured        `json:"cells"`
}

// State is the state of all cells together.
type State string

// The states. Running is also the state of one that was killed.
const (
	Running     State = "running"
	Complete    State = "complete"
	Interrupted State = "interrupted"
	Failed      State = "failed"
)

// Status is the state of a cell.
type Status string

// The states of a cell.
const (
	Waiting         Status = "waiting"
	Valid           Status = "valid"
	Invalid         Status = "invalid"
	DoesNotFit      Status = "does_not_fit" // the server's context is too short
	CellInterrupted Status = "interrupted"
	CellFailed      Status = "failed"
)

// Measured is a cell with the run of it.
type Measured struct {
	Number int `json:"number"`
	Cell
	Status Status `json:"status"`
	// Run is the name of the run and of its folder; absent if nothing was measured.
	Run string `json:"run,omitempty"`
	// InvalidReasons are the codes of the validity rules that the run breaks.
	InvalidReasons []string `json:"invalid_reasons,omitempty"`
	// Problem is why the cell failed or does not fit, in words.
	Problem string `json:"problem,omitempty"`
	SLOMet  *bool  `json:"slo_met,omitempty"`
}

// NewResult returns the result before the first cell.
func NewResult(cells []Cell) Result {
	r := Result{Schema: Schema, State: Running, Cells: []Measured{}}
	for i, c := range cells {
		r.Cells = append(r.Cells, Measured{Number: i + 1, Cell: c, Status: Waiting})
	}
	return r
}

// Over reports whether the cell needs no further run.
func (m Measured) Over() bool {
	return slices.Contains([]Status{Valid, Invalid, DoesNotFit}, m.Status)
}

// Count returns how many cells have a status.
func (r Result) Count(status Status) int {
	n := 0
	for _, m := range r.Cells {
		if m.Status == status {
			n++
		}
	}
	return n
}

// SameCells reports whether two results are of the same cells in the same order.
func (r Result) SameCells(other Result) bool {
	return slices.EqualFunc(r.Cells, other.Cells, func(a, b Measured) bool { return a.Cell == b.Cell })
}
