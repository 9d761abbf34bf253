package campaign

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Schema is the schema name of campaign.json.
const Schema = "umascope.campaign/1"

// Facts is the content of campaign.json: the state that follows from the journal, for readers.
type Facts struct {
	Schema string `json:"schema"`
	// Kind is campaign, sweep or arena: the verb that wrote the plan.
	Kind       string `json:"kind"`
	Campaign   string `json:"campaign"`
	State      State  `json:"state"`
	Reason     string `json:"reason,omitempty"`
	PlanSHA256 string `json:"plan_sha256"`
	Order      string `json:"order"`
	// Decides is what decides the verdict, as of the first run.
	Decides *Decides `json:"decides,omitempty"`
	// Finding is what a search has found so far.
	Finding *Finding `json:"finding,omitempty"`
	PID     int      `json:"pid"`
	BootID  string   `json:"boot_id,omitempty"`
	// StartedAt is when the campaign began, InvocationAt when this process continued it.
	StartedAt    time.Time   `json:"started_at"`
	InvocationAt time.Time   `json:"invocation_at"`
	UpdatedAt    time.Time   `json:"updated_at"`
	Slots        []SlotFacts `json:"slots"`
}

// SlotFacts is a slot in the plan's order.
type SlotFacts struct {
	plan.Slot
	// Status is finished, invalid, failed or skipped; aborted if the slot gets another run; pending if it has had
	// none; running now.
	Status Status `json:"status"`
	// Runs are all runs that were made in the slot. Status is the status of the last one.
	Runs    []string `json:"runs,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Unselected is true if the last invocation did not select the slot.
	Unselected bool `json:"unselected,omitempty"`
	// Gates are the gates that did not open before the last run.
	Gates []string `json:"gates,omitempty"`
}

// Last returns the name of the last run; empty if there was none.
func (s SlotFacts) Last() string {
	if len(s.Runs) == 0 {
		return ""
	}
	return s.Runs[len(s.Runs)-1]
}

// States of a slot in addition to the statuses of runs.
const (
	Pending   Status = "pending"
	Measuring Status = "running"
)

// keep writes campaign.json and campaign.csv.
func (r *Invocation) keep() error {
	dir, facts := rundir.Folder(r.c.Dir), r.Facts()
	return errors.Join(dir.WriteJSON(StateFile, facts), dir.Write(TableFile, func(w io.Writer) error { return WriteTable(w, facts.Slots, r.Summary) }))
}

// Facts returns the state so far. It must not be called while another goroutine than the caller's carries out Run.
func (r *Invocation) Facts() Facts {
	f := Facts{
		Schema: Schema, Kind: r.c.Kind, Campaign: r.c.Plan.Name, State: r.known.state, Reason: r.known.reason, PlanSHA256: r.c.SHA256, Order: string(r.c.Plan.Order), Decides: r.known.decides, Finding: r.finding, PID: os.Getpid(), BootID: r.c.Operations.Boot,
		StartedAt: r.known.events[0].At.UTC(), InvocationAt: r.started.UTC(), UpdatedAt: time.Now().UTC(),
	}
	for _, slot := range r.schedule() {
		one := r.known.facts(slot)
		one.Unselected = !slices.Contains(r.slots, slot)
		f.Slots = append(f.Slots, one)
	}
	return f
}

// facts returns the facts of a slot.
func (p *progress) facts(slot plan.Slot) SlotFacts {
	f := SlotFacts{Slot: slot, Status: Pending}
	s := p.slots[slot.Number]
	if s == nil {
		return f
	}
	f.Runs, f.Problem, f.Gates = s.runs, s.problem, s.gates
	if s.last != "" {
		f.Status = s.last
	}
	if s.open {
		f.Status = Measuring
	}
	return f
}

// ReadFacts reads campaign.json of a folder.
func ReadFacts(dir string) (Facts, error) {
	var f Facts
	path := filepath.Join(dir, StateFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	if f.Schema != Schema {
		return f, fmt.Errorf("%s: its form is %q, and this program reads %q", path, f.Schema, Schema)
	}
	return f, nil
}
