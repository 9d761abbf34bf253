package demo

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
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
	signals := run.Summary.Signals
	page.Run, page.Rehydrate, page.Stored = run.Summary.Run, signals.SSDRehydrate, signals.SSDOffload
	passes, err := passesOf(run)
	if err != nil {
		page.Fault = cmp.Or(page.Fault, "times to the first token: "+err.Error())
	}
	page.Passes = passes
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

// firstPhases and againPhases begin the names of phases with one request in flight: in phases with more, requests wait
// for each other and not for the cache.
const (
	firstPhases = "warm_"
	againPhases = "replay_"
)

// passesOf returns the times to first token of the phases that send the same prompts, by where their KV cache came
// from.
func passesOf(r *summary.Run) ([]Pass, error) {
	type phase struct {
		seconds        []float64
		cached, tokens int
	}
	phases := map[string]*phase{}
	for record, err := range summary.Records(r.Path(rundir.RequestsFile)) {
		if err != nil {
			return nil, err
		}
		first, known := record.TTFT(openai.FromSend)
		if record.Status != openai.StatusOK || !known || !strings.HasPrefix(record.Phase, firstPhases) && !strings.HasPrefix(record.Phase, againPhases) {
			continue
		}
		p := phases[record.Phase]
		if p == nil {
			p = &phase{}
			phases[record.Phase] = p
		}
		p.seconds = append(p.seconds, first.Seconds())
		if record.TokensIn != nil && record.TokensCached != nil {
			p.tokens, p.cached = p.tokens+*record.TokensIn, p.cached+*record.TokensCached
		}
	}
	log, err := telemetry.Read(r.Path(rundir.TelemetryFile))
	if err != nil {
		return nil, err
	}
	var passes []Pass
	for _, name := range slices.Sorted(maps.Keys(phases)) {
		p := phases[name]
		cached := float64(p.cached) / float64(max(1, p.tokens))
		passes = append(passes, Pass{Name: fmt.Sprintf("%s (%s)", origin(cached, log, name), name), Run: r.Summary.Run, Seconds: p.seconds})
	}
	slices.SortStableFunc(passes, func(a, b Pass) int { return cmp.Compare(slices.Min(a.Seconds), slices.Min(b.Seconds)) })
	return passes, nil
}

// mostlyCached is the share of cached tokens from which a phase counts as a prefix-cache hit.
const mostlyCached = 0.5

// origin returns where the KV cache of a phase came from, by the answers and by the counters of its block manager.
func origin(cached float64, log *telemetry.Log, phase string) string {
	switch {
	case cached < mostlyCached:
		return "computed"
	case onboarded(log, phase, metric.TierDisk) > 0:
		return "brought back from the SSD"
	case onboarded(log, phase, metric.TierHost) > 0:
		return "brought back from the host’s memory"
	}
	return "still on the device"
}

// onboarded returns how many blocks were moved up from a tier in a phase. It reads the telemetry: the summary of a run
// has no counters of a simulated machine by phase, since it judges nothing by them.
func onboarded(log *telemetry.Log, phase, tier string) (blocks float64) {
	for _, source := range log.Sources {
		for _, series := range source.Find(metric.KVBMBlocksTotal) {
			if series.Labels[string(metric.LabelOp)] != metric.OpOnboard || series.Labels[string(metric.LabelFrom)] != tier {
				continue
			}
			for _, window := range log.Windows(source, phase) {
				if grown, _, known := series.Increase(window); known {
					blocks += grown
				}
			}
		}
	}
	return blocks
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
	examples, err := differing(run)
	if err != nil {
		j.Fault = cmp.Or(j.Fault, "what was answered: "+err.Error())
	}
	j.Examples = examples
	return j
}

// differing returns the prompts whose second answer differs from the first.
func differing(r *summary.Run) ([]Example, error) {
	outputs, err := rundir.OpenOutputs(r.Path(rundir.OutputsFile))
	if err != nil {
		return nil, err
	}
	defer outputs.Close()
	var first, again string
	for name := range r.Summary.Phases {
		switch {
		case strings.HasPrefix(name, firstPhases):
			first = name
		case strings.HasPrefix(name, againPhases) && (again == "" || name < again):
			again = name
		}
	}
	var examples []Example
	for prompt := 0; ; prompt++ {
		expected, err := outputs.Find(first, prompt)
		if err != nil || expected == nil {
			return examples, err
		}
		seen, err := outputs.Find(again, prompt)
		if err != nil {
			return examples, err
		}
		if seen != nil && *seen != *expected {
			examples = append(examples, Example{Prompt: prompt, Expected: *expected, Seen: *seen})
		}
	}
}
