package sweep

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

// listed is a plan of a list.
func listed(t *testing.T, over string) Sweep {
	t.Helper()
	o, err := ParseOver(over)
	if err != nil {
		t.Fatal(err)
	}
	values, err := o.Points()
	if err != nil {
		t.Fatal(err)
	}
	return Sweep{Over: o, Values: values, StopErrorRatio: 0.1, Seed: 7}
}

func TestASweepEndsWithTheRunThatCannotBeMade(t *testing.T) {
	for _, p := range []Sweep{listed(t, "concurrency=1,2,3"), looking(t, ForSLO, "concurrency=1..8", 0.1)} {
		done := driveSweep(t, p, func(load float64) Outcome {
			if load == 2 {
				return Outcome{Status: campaign.Failed, Problem: "server gone"}
			}
			return goodput(true)
		})
		if c := p.Next(done); len(done) != 2 || c.State != campaign.Broken || c.Reason != "concurrency 2: server gone" {
			t.Errorf("%d runs, %+v", len(done), c)
		}
	}
}

// A resume has the slots and the folders of their runs.
func TestTheRunsOfASearchFollowFromItsSlots(t *testing.T) {
	p := looking(t, ForSLO, "rate=1..100", 0.1)
	p.Name, p.Given = "s", []plan.Flag{{Name: "label", Value: "arm=a"}}
	summaries := map[string]*summary.Summary{}
	done := driveSweep(t, p, func(rate float64) Outcome { return goodput(rate <= 10) })
	var slots []campaign.SlotFacts
	for i := range done {
		done[i].Run = fmt.Sprint("r", i)
		summaries[done[i].Run] = done[i].Summary
		scenario, err := p.Scenario(done[i])
		if err != nil || !strings.HasPrefix(scenario.Run["label"], "arm=a\nrate=") || p.Point(scenario) != "rate "+done[i].Value.Text {
			t.Errorf("%+v (%v)", scenario, err)
		}
		slots = append(slots, campaign.SlotFacts{Slot: plan.Slot{Scenario: scenario.Name}, Status: done[i].Status, Runs: []string{"before", done[i].Run}})
	}
	got := p.Runs(append(slots, campaign.SlotFacts{Status: campaign.Pending}), func(s campaign.SlotFacts) *summary.Summary { return summaries[s.Last()] })
	if !reflect.DeepEqual(got, done) {
		t.Errorf("%+v, want %+v", got, done)
	}
	delete(summaries, done[1].Run)
	if got := p.Runs(slots, func(s campaign.SlotFacts) *summary.Summary { return summaries[s.Last()] }); len(got) != 1 {
		t.Errorf("%d runs before one that is gone", len(got))
	}
}

// failingRun is a run of which so many of a hundred requests failed.
func failingRun(percent int) Outcome {
	o := goodput(percent == 0)
	o.Summary.Requests = map[openai.Status]int{openai.StatusOK: 100 - percent, openai.StatusHTTP: percent}
	if percent > 1 {
		o.Status, o.Summary.Valid = campaign.Invalid, false
		o.Summary.InvalidReasons = []summary.Reason{{Code: summary.CodeErrorRate}}
	}
	return o
}

func TestAServerThatFailsIsNotAskedForMore(t *testing.T) {
	for _, c := range []struct {
		stop float64
		want int
	}{{0.1, 3}, {0.06, 2}, {0.5, 4}, {0, 4}} {
		p := listed(t, "concurrency=1,2,4,8")
		p.StopErrorRatio = c.stop
		percents := []int{0, 6, 10, 20}
		done := driveSweep(t, p, func(load float64) Outcome {
			return failingRun(percents[slices.Index([]float64{1, 2, 4, 8}, load)])
		})
		if stopped := p.Stopped(done); len(done) != c.want || (stopped != "") != (len(done) < 4) {
			t.Errorf("from %g on: %d runs, %q", c.stop, len(done), stopped)
		}
	}
}

func TestARunThatWasStoppedAtOnceEndsTheSweep(t *testing.T) {
	for _, code := range []summary.Code{summary.CodeModelDropped, summary.CodePromptLimit} {
		for _, p := range []Sweep{listed(t, "concurrency=1,2"), looking(t, ForSLO, "rate=1..8", 0.1)} {
			done := driveSweep(t, p, func(float64) Outcome { return invalidOutcome(code) })
			if len(done) != 1 || !strings.Contains(p.Stopped(done), string(code)) || p.Judge(done) != Unsound {
				t.Errorf("%s: %d runs, %q", code, len(done), p.Stopped(done))
			}
		}
	}
}

func TestASweepIsJudgedByItsRuns(t *testing.T) {
	for name, c := range map[string]struct {
		runs []Outcome
		want Verdict
	}{
		"all kept":       {[]Outcome{goodput(true), goodput(true)}, Sound},
		"one missed":     {[]Outcome{goodput(true), goodput(false)}, Sound},
		"all missed":     {[]Outcome{goodput(false), goodput(false)}, Unmet},
		"no SLO":         {[]Outcome{tokensPerSecond(1), tokensPerSecond(2)}, Sound},
		"one is invalid": {[]Outcome{goodput(true), invalidOutcome(summary.CodeSwapIn)}, Unsound},
		"requests fail":  {[]Outcome{goodput(true), failingRun(5)}, Unsound},
	} {
		p := listed(t, "concurrency=1,2")
		done := driveSweep(t, p, func(load float64) Outcome { return c.runs[int(load)-1] })
		if got := p.Judge(done); got != c.want {
			t.Errorf("%s: verdict %d, want %d", name, got, c.want)
		}
	}
}

func TestEveryRunAsksSomethingElseUnlessToldNotTo(t *testing.T) {
	p := looking(t, ForSLO, "concurrency=1..8", 0.1)
	p.Seed = 7
	seeds := map[uint64]bool{}
	done := driveSweep(t, p, func(float64) Outcome { return goodput(true) })
	for _, trial := range done {
		seeds[p.seed(trial)] = true
	}
	if len(done) != 5 || len(seeds) != 5 || done[4].Repeat != 1 {
		t.Errorf("%d runs with %d seeds", len(done), len(seeds))
	}
	p.SamePrompts = true
	for _, trial := range driveSweep(t, p, func(float64) Outcome { return goodput(true) }) {
		if p.seed(trial) != 7 {
			t.Errorf("seed %d", p.seed(trial))
		}
	}
}

func TestColumnsHaveUniqueNamesWithTheirUnit(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range figure.All().Columns(figure.InTable) {
		if seen[f.Table.Heading] {
			t.Errorf("%s is there twice", f.Table.Heading)
		}
		seen[f.Table.Heading] = true
		units := []string{"_seconds", "_per_second", "_ratio", "_tokens_mean", "requests_ok", "requests_failed", "joules_per_output_token"}
		if !slices.ContainsFunc(units, func(unit string) bool { return strings.HasSuffix(f.Table.Heading, unit) }) {
			t.Errorf("%s has no unit", f.Table.Heading)
		}
	}
}

func TestAListSaysWhichLoadKeepsTheSLO(t *testing.T) {
	p := listed(t, "concurrency=1,2,4,8")
	for want, kept := range map[string]func(float64) bool{
		"that keeps the SLO is 4.":              func(n float64) bool { return n <= 4 },
		"that keeps the SLO is 8, though 2 mis": func(n float64) bool { return n != 2 },
		"None of these loads keeps the SLO.":    func(float64) bool { return false },
	} {
		done := driveSweep(t, p, func(n float64) Outcome { return goodput(kept(n)) })
		if notes := p.Notes(done); len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("%q, want %q", notes, want)
		}
	}
}

func TestASLOThatASingleRequestDecidesIsSaidToBeOne(t *testing.T) {
	p := listed(t, "rate=1,2,4")
	notes := p.Notes(driveSweep(t, p, func(rate float64) Outcome {
		o := goodput(true)
		o.Summary.SLO.RequiredRatio, o.Summary.SLO.Requests = 0.99, int(49*rate)
		return o
	}))
	if len(notes) != 2 || !strings.Contains(notes[1], "fewer than 100 requests") || !strings.HasSuffix(notes[1], " at 1, 2.") {
		t.Errorf("%q", notes)
	}
}

func TestASearchNamesBothEndsAndTheHighestThroughput(t *testing.T) {
	p := looking(t, ForSLO, "rate=1..64", 0.1)
	done := driveSweep(t, p, func(rate float64) Outcome { return goodput(rate <= 10) })
	good := p.Good(campaign.Outcome{State: campaign.Complete}, done)
	if f := p.Finding(done); !good || *f.Within > 10 || *f.Beyond <= 10 {
		t.Errorf("good %v, between %v and %v", good, *f.Within, *f.Beyond)
	}
	if notes := p.Notes(done); !strings.HasPrefix(notes[0], "The limit lies between rate") {
		t.Errorf("notes %q", notes)
	}
	notes := p.Notes(driveSweep(t, p, func(float64) Outcome {
		o := tokensPerSecond(7)
		o.Summary.SLO = &summary.SLOResult{Met: true}
		return o
	}))
	if !strings.HasSuffix(notes[2], "is 7 output tokens per second, at 1.") {
		t.Errorf("notes %q", notes)
	}
}
