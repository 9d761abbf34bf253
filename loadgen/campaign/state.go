package campaign

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Schema names the form of campaign.json.
const Schema = "umascope.campaign/1"

// Facts are campaign.json: what the journal comes to, for those who only want to look.
type Facts struct {
	Schema     string `json:"schema"`
	Campaign   string `json:"campaign"`
	State      State  `json:"state"`
	Reason     string `json:"reason,omitempty"`
	PlanSHA256 string `json:"plan_sha256"`
	Order      string `json:"order"`
	// Decides is what the verdict goes by, as it stood at the first run.
	Decides *Decides `json:"decides,omitempty"`
	PID     int      `json:"pid"`
	BootID  string   `json:"boot_id,omitempty"`
	// StartedAt is when the campaign began, InvocationAt when this process took it up.
	StartedAt    time.Time   `json:"started_at"`
	InvocationAt time.Time   `json:"invocation_at"`
	UpdatedAt    time.Time   `json:"updated_at"`
	Slots        []SlotFacts `json:"slots"`
}

// SlotFacts is a slot of the plan's order.
type SlotFacts struct {
	plan.Slot
	// Status is finished, invalid, failed or skipped; aborted if it gets another run, pending if it has had
	// none, running now.
	Status Status `json:"status"`
	// Runs are all runs that were made in the slot; the last one is what the status is of.
	Runs    []string `json:"runs,omitempty"`
	Problem string   `json:"problem,omitempty"`
	// Unselected says that the last invocation left it out.
	Unselected bool `json:"unselected,omitempty"`
	// Gates are those that did not pass before the last run.
	Gates []string `json:"gates,omitempty"`
}

// What a slot may be beside how a run ends.
const (
	slotPending Status = "pending"
	slotRunning Status = "running"
)

// keep writes campaign.json.
func (r *runner) keep() error { return rundir.Folder(r.c.Dir).WriteJSON(StateFile, r.facts()) }

func (r *runner) facts() Facts {
	f := Facts{
		Schema: Schema, Campaign: r.c.Plan.Name, State: r.known.state, Reason: r.known.reason, PlanSHA256: r.c.SHA256, Order: string(r.c.Plan.Order), Decides: r.known.decides, PID: os.Getpid(), BootID: r.c.Hands.Boot,
		StartedAt: r.known.events[0].At.UTC(), InvocationAt: r.started.UTC(), UpdatedAt: time.Now().UTC(),
	}
	for _, slot := range r.schedule() {
		one := r.known.facts(slot)
		one.Unselected = !slices.Contains(r.slots, slot)
		f.Slots = append(f.Slots, one)
	}
	return f
}

// facts are those of a slot.
func (p *progress) facts(slot plan.Slot) SlotFacts {
	f := SlotFacts{Slot: slot, Status: slotPending}
	s := p.slots[slot.Number]
	if s == nil {
		return f
	}
	f.Runs, f.Problem, f.Gates = s.runs, s.problem, s.gates
	if s.last != "" {
		f.Status = s.last
	}
	if s.open {
		f.Status = slotRunning
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
		return f, fmt.Errorf("%s: its form is %q, and this program knows %q", path, f.Schema, Schema)
	}
	return f, nil
}
