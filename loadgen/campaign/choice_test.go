package campaign

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// kinds are campaigns of every kind, each with a run of every ending: of a plan of arms, of a list of cells of which one
// does not fit and one fails at first, and of a search.
func kinds() map[string]func(*testing.T, *world) *Campaign {
	return map[string]func(*testing.T, *world) *Campaign{
		rundir.KindCampaign: func(t *testing.T, w *world) *Campaign { return w.campaign(awkward(t, w)) },
		rundir.KindArena:    listing, rundir.KindSweep: searching,
	}
}

// single is a plan without processes, with a minute between two runs.
func single(t *testing.T, w *world, scenarios ...string) *Campaign {
	t.Helper()
	s := plan.Single{Name: "c", Arm: "a", Cooldown: time.Minute, Flags: []plan.Flag{{Name: "url", Value: "http://127.0.0.1:1"}}}
	for _, name := range scenarios {
		s.Scenarios = append(s.Scenarios, plan.Scenario{Name: name, Run: map[string]string{"requests": "1"}})
	}
	text, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Parse("plan.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	c := w.campaign(p)
	c.Text, c.Retry = text, []Status{Failed}
	return c
}

// listing is a campaign of the cells of a list.
func listing(t *testing.T, w *world) *Campaign {
	c := single(t, w, "01-x", "02-x", "03-x", "04-x")
	c.Kind = rundir.KindArena
	w.result = func(o Order) Result {
		switch o.Slot.Number {
		case 2:
			return Result{Status: Skipped, Problem: "it does not fit"}
		case 3:
			return Result{Status: Invalid, Problem: "swap_in"}
		}
		return Result{Status: Finished}
	}
	c.Next = func(made []SlotFacts) Choice {
		if n := len(made); n < len(c.Plan.Scenarios) {
			return Choice{Scenario: &c.Plan.Scenarios[n]}
		}
		return Choice{State: Complete}
	}
	return c
}

// searching is a campaign that doubles a load until a run of it is invalid, and goes down by ones.
func searching(t *testing.T, w *world) *Campaign {
	c := single(t, w, "01-1")
	c.Kind = rundir.KindSweep
	w.result = func(o Order) Result {
		if loadOf(t, o.Slot.Scenario) > 5 {
			return Result{Status: Invalid, Problem: "too much"}
		}
		return Result{Status: Finished}
	}
	c.Next = func(made []SlotFacts) Choice {
		load, beyond := 1, false
		for _, s := range made {
			if load = loadOf(t, s.Scenario); s.Status == Invalid {
				beyond, load = true, load-1
			} else if beyond {
				return Choice{State: Complete, Finding: &Finding{Says: fmt.Sprint(load)}}
			} else {
				load *= 2
			}
		}
		return Choice{
			Scenario: &plan.Scenario{Name: fmt.Sprintf("%02d-%d", len(made)+1, load), Run: map[string]string{"requests": "1"}}, Finding: &Finding{Says: "not finished"},
		}
	}
	return c
}

func loadOf(t *testing.T, scenario string) (load int) {
	t.Helper()
	if _, err := fmt.Sscanf(scenario[3:], "%d", &load); err != nil {
		t.Fatal(err)
	}
	return load
}

// valid counts the valid runs of each slot by the journal. Each has its folder, and no folder passes for a run that the
// journal has not.
func valid(t *testing.T, w *world) map[int]int {
	t.Helper()
	runs, ended := map[int]int{}, map[string]bool{}
	for _, e := range named(events(t, w.dir), eventRun) {
		if e.Status == Aborted {
			continue
		}
		ended[e.Run] = true
		if e.Status == Finished {
			runs[e.Slot]++
		}
	}
	paths, err := filepath.Glob(filepath.Join(w.dir, "*", rundir.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if run := filepath.Base(filepath.Dir(path)); !ended[run] {
			t.Errorf("%s passes for a run", run)
		} else {
			delete(ended, run)
		}
	}
	if len(ended) > 0 {
		t.Errorf("without a folder: %v", ended)
	}
	return runs
}

// whole carries out a campaign without an interruption, and returns its journal, what its slots came to, its runs by slot
// and how long it took.
func whole(t *testing.T, of func(*testing.T, *world) *Campaign) (journal []byte, want []string, runs map[int]int, took time.Duration) {
	t.Helper()
	w := newWorld(t)
	began := time.Now()
	if o, err := w.run(t.Context(), of(t, w)); err != nil || o.State != Complete {
		t.Fatalf("%+v (%v)", o, err)
	}
	took = time.Since(began)
	journal, err := os.ReadFile(filepath.Join(w.dir, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	return journal, ends(t, w.dir), valid(t, w), took
}

// TestWheneverACampaignIsInterruptedTheSameRunsAreMadeInTheEnd interrupts every kind of campaign at moments from before its
// first run to its end: before it begins, while the machine rests, while an arm starts, within a run and between two.
func TestWheneverACampaignIsInterruptedTheSameRunsAreMadeInTheEnd(t *testing.T) {
	for kind, of := range kinds() {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, want, runs, took := whole(t, of)
				for after := time.Duration(0); after < took; after += 97 * time.Second {
					w := newWorld(t)
					ctx, cancel := context.WithTimeout(t.Context(), after)
					o, err := w.run(ctx, of(t, w))
					cancel()
					if err != nil || o.State != Stopped {
						t.Fatalf("after %s: %+v (%v)", after, o, err)
					}
					if o, err := w.run(t.Context(), of(t, w)); err != nil || o.State != Complete {
						t.Fatalf("after %s: %+v (%v)", after, o, err)
					}
					if got := ends(t, w.dir); !slices.Equal(got, want) {
						t.Errorf("after %s:\n%v\nwant\n%v", after, got, want)
					}
					if got := valid(t, w); fmt.Sprint(got) != fmt.Sprint(runs) {
						t.Errorf("after %s: runs by slot %v, want %v", after, got, runs)
					}
				}
			})
		})
	}
}

// TestASearchMakesItsChoicesAgainWhereverItIsCutOff cuts the journal after every line, and in the middle of every line, as
// a kill does, and goes on.
func TestASearchMakesItsChoicesAgainWhereverItIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		journal, want, _, _ := whole(t, searching)
		if text := strings.Join(want, "\n"); !strings.Contains(text, "04-8 invalid") || !strings.Contains(text, "07-5 finished") {
			t.Fatalf("not the search that was meant: %v", want)
		}
		lines := bytes.SplitAfter(journal, []byte("\n"))
		for cut := range lines {
			for _, half := range []int{0, len(lines[cut]) / 2} {
				w := goOn(t, slices.Concat(bytes.Join(lines[:cut], nil), lines[cut][:half]), want, searching)
				if facts, err := ReadFacts(w.dir); err != nil || facts.Finding == nil || facts.Finding.Says != "5" {
					t.Errorf("after %d lines: %+v (%v)", cut, facts.Finding, err)
				}
			}
		}
	})
}

// A run that fails ends the list, and gets another run in its slot when the campaign goes on.
func TestARunThatFailsIsMadeAgainWhenTheListGoesOn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		gone := true
		of := func() *Campaign {
			c := listing(t, w)
			next, made := c.Next, w.result
			c.Next = func(slots []SlotFacts) Choice {
				if n := len(slots); n > 0 && slots[n-1].Status == Failed {
					return Choice{State: Broken, Reason: slots[n-1].Problem}
				}
				return next(slots)
			}
			w.result = func(o Order) Result {
				if o.Slot.Number == 3 && gone {
					return Result{Status: Failed, Problem: "the server has gone"}
				}
				return made(o)
			}
			return c
		}
		if o, err := w.run(t.Context(), of()); err != nil || o.State != Broken || o.Reason != "the server has gone" || !slices.Equal(w.ordered(), []string{"1-a", "2-a", "3-a"}) {
			t.Fatalf("%+v (%v) %v", o, err, w.ordered())
		}
		gone = false
		if o, err := w.run(t.Context(), of()); err != nil || o.State != Complete || !slices.Equal(w.ordered(), []string{"1-a", "2-a", "3-a", "3-a", "4-a"}) {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
		if o, err := w.run(t.Context(), of()); err != nil || o.State != Complete || len(w.ordered()) != 5 {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
	})
}

// If the figures of a run have changed since, a search would measure another load in a slot that has a run.
func TestASearchRefusesSlotsThatItWouldNotChoose(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Minute)
		defer cancel()
		if o, err := w.run(ctx, searching(t, w)); err != nil || o.State != Stopped {
			t.Fatalf("%+v (%v)", o, err)
		}
		c := searching(t, w)
		next := c.Next
		c.Next = func(made []SlotFacts) Choice {
			if len(made) == 1 {
				return Choice{Scenario: &plan.Scenario{Name: "02-7", Run: map[string]string{}}}
			}
			return next(made)
		}
		o, err := w.run(t.Context(), c)
		if err != nil || o.State != Broken || !strings.Contains(o.Reason, "slot 2 is of 02-2, and by the runs before it would be of 02-7") {
			t.Errorf("%+v (%v)", o, err)
		}
	})
}
