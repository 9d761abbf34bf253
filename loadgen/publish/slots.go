package publish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/render"
)

// Slot is a slot of a campaign with one of its runs, or without any. A pack lists all of them: finished runs alone do
// not show how many others there were.
type Slot struct {
	Campaign                 string
	Number, Iteration, Round int
	RepeatsRound             int // set for a repetition of a run that was off; 0 for rounds of the plan
	Model, Arm, Scenario     string
	Attempt                  int // 0 for a slot without a run
	Run                      string
	Status                   string
	Reason                   string
}

// learnSlots replaces the names in the slots.
func (b *builder) learnSlots() {
	b.Slots = slices.Clone(b.Slots)
	for i := range b.Slots {
		s := &b.Slots[i]
		s.Campaign, s.Model, s.Arm = b.names.word("campaign", s.Campaign), b.names.word("model", s.Model), b.names.word("arm", s.Arm)
		s.Scenario, s.Run, s.Reason = b.names.word("scenario", s.Scenario), b.names.run(s.Run), b.names.word("reason", s.Reason)
	}
}

// slotsTable returns a table with a row for each run of each slot.
func (b *builder) slotsTable() render.Sheet {
	s := render.Sheet{Name: "Slots", Header: []string{"campaign", "slot", "model", "arm", "scenario", "iteration", "round", "repeats_round", "attempt", "run", "status", "reason"}}
	var rows [][]any
	for _, one := range b.Slots {
		rows = append(rows, []any{
			one.Campaign, one.Number, one.Model, one.Arm, one.Scenario, one.Iteration, some(one.Round), some(one.RepeatsRound), some(one.Attempt), one.Run, one.Status, one.Reason,
		})
	}
	s.Rows = render.Rows(rows)
	return s
}

// some formats a count; empty for 0.
func some(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// slotsSection counts the slots of campaigns and their runs by status, and lists the unfinished runs with their reasons.
func (b *builder) slotsSection() []render.Block {
	if len(b.Slots) == 0 {
		return nil
	}
	states, slots := map[string]int{}, map[string]bool{}
	others := render.Table{Header: []string{"campaign", "slot", "arm", "attempt", "run", "status", "reason"}}
	for _, s := range b.Slots {
		states[s.Status]++
		slots[fmt.Sprint(s.Campaign, " ", s.Number)] = true
		if s.Status != "finished" {
			others.Add(s.Campaign, fmt.Sprint(s.Number), strings.Join([]string{s.Model, s.Arm, s.Scenario}, ", "), fmt.Sprint(s.Attempt), s.Run, s.Status, s.Reason)
		}
	}
	blocks := []render.Block{render.H2("Slots"), paragraph("The campaigns have %d slots with these runs: %s. `%s` lists all of them.", len(slots), counted(states), SlotsFile)}
	if others.Empty() {
		return blocks
	}
	return append(blocks, others)
}
