package demo

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// openTrial reads the run folder of a trial; run is nil without one. fault is the trial's own fault, or the reason why
// the folder cannot be read.
func openTrial(t *shownTrial) (run *summary.Run, fault string) {
	if t.folder == "" {
		return nil, t.Fault
	}
	r, err := summary.Open(t.folder)
	if err != nil {
		return nil, cmp.Or(t.Fault, err.Error())
	}
	return &r, t.Fault
}

// sound returns the trial whose engine has no fault; nil without one.
func (s *shown) sound() *shownTrial {
	for _, t := range s.trials {
		if !t.Wrong {
			return t
		}
	}
	return nil
}

// rehydration returns the content of the section on KV blocks from the drive.
func (s *shown) rehydration() Rehydration {
	t := s.sound()
	if t == nil {
		return Rehydration{}
	}
	run, fault := openTrial(t)
	page := Rehydration{Section: Section{Absent: s.absentTrial(t), Fault: fault, Links: s.trialLinks(t)}}
	if len(t.command) > 0 {
		page.Commands = []string{typed(t.command)}
	}
	if run == nil {
		return page
	}
	page.Run = &run.Summary
	return page
}

// absentTrial returns the reason why a trial has left no run. For a finished trial it is empty, whatever was
// interrupted later.
func (s *shown) absentTrial(t *shownTrial) string {
	if t.folder != "" && t.Exit != notMade {
		return ""
	}
	return s.absent(t.folder != "")
}

func (s *shown) trialLinks(t *shownTrial) []Link {
	if t.folder == "" {
		return nil
	}
	return []Link{s.link("the report of the run", filepath.Join(t.folder, rundir.HTMLFile)), s.link("the folder of the run", t.folder)}
}

// outputs returns the answers of all trials: those of the engine without a fault and those of the engine that returns
// wrong blocks.
func (s *shown) outputs() Outputs {
	var page Outputs
	for _, t := range slices.Backward(s.trials) { // the faulty engine first
		page.Runs = append(page.Runs, s.judged(t))
		if len(t.command) > 0 {
			page.Commands = append(page.Commands, typed(t.command))
		}
	}
	return page
}

func (s *shown) judged(t *shownTrial) Judged {
	run, fault := openTrial(t)
	j := t.Judged
	j.Absent, j.Fault, j.Links = s.absentTrial(t), fault, s.trialLinks(t)
	if run == nil {
		return j
	}
	j.Run, j.Valid, j.Match = run.Summary.Run, run.Summary.Valid, run.Summary.Signals.OutputMatch
	return j
}
