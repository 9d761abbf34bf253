package campaign

import (
	"path/filepath"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Attempt is a run that was made in a slot, or a slot without a run.
type Attempt struct {
	plan.Slot
	// Number counts the runs of the slot from 1. It is 0 for a slot without a run.
	Number int
	Run    string
	// Status is how the run ended. For a slot without a run it is skipped or pending. Problem is the reason.
	Status  Status
	Problem string
}

// ReadAttempts lists every slot of the campaign in a folder with all its runs, in the order of the slots: finished,
// invalid, failed and aborted runs, and slots without a run.
func ReadAttempts(dir string) (campaign string, all []Attempt, err error) {
	facts, err := ReadFacts(dir)
	if err != nil {
		return "", nil, err
	}
	events, _, err := readJournal(filepath.Join(dir, JournalFile))
	if err != nil {
		return "", nil, err
	}
	known := replay(events)
	made := map[int][]Attempt{}
	for _, e := range events {
		switch runs := made[e.Slot]; {
		case e.Event == eventSlot:
			made[e.Slot] = append(runs, Attempt{Number: e.Attempt, Run: e.Run, Status: Aborted, Problem: "the campaign was cut off"})
		case e.Event == eventRun && len(runs) > 0:
			runs[len(runs)-1].Status, runs[len(runs)-1].Problem = e.Status, e.Text
		}
	}
	for _, s := range facts.Slots {
		now := known.facts(s.Slot)
		runs := made[s.Number]
		if len(runs) == 0 {
			runs = []Attempt{{Status: now.Status, Problem: now.Problem}}
		}
		if last := &runs[len(runs)-1]; now.Status == Measuring {
			last.Status, last.Problem = Measuring, ""
		}
		for _, a := range runs {
			a.Slot = s.Slot
			all = append(all, a)
		}
	}
	return facts.Campaign, all, nil
}
