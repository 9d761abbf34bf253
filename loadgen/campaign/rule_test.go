package campaign

import (
	"context"
	"errors"
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

func TestAnEngineThatIsKeptIsAskedForNoMemoryAndLosesNoPageCache(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const gib = 1 << 30
		w.machine = func() Machine {
			if w.up != "" {
				return Machine{MemFreeBytes: number(10 * gib)}
			}
			return Machine{MemFreeBytes: number(90 * gib)}
		}
		c, treated := w.campaign(twoScenarios(parsed(t, "iterations: 1\nkeep_up: true\npage_cache: {policy: evict, paths: [/models]}\ngates: {mem_free: 60GiB, "+off+"}\n"))), 0
		c.Operations.PageCache = func(context.Context, plan.PageCache) rundir.PageCache { treated++; return rundir.PageCache{} }
		if o, err := w.run(t.Context(), c); err != nil || !o.Sound() {
			t.Fatalf("%+v (%v)", o, err)
		}
		gates := named(events(t, w.dir), eventGates)
		if treated != 2 || len(gates[2].Gates) != 1 || gates[2].MemFree == nil || len(gates[1].Gates) != 0 || gates[1].MemFree != nil { // a a, b b
			t.Errorf("page cache treated %d times; %+v", treated, gates)
		}
	})
}

func TestAnEngineThatIsKeptForTheNextRunGoesDownIfThereIsNone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.during = func(_ context.Context, o Order) {
			if o.Slot.Number == 3 {
				if _, err := Stop(w.dir, true); err != nil {
					t.Error(err)
				}
			}
		}
		if o, err := w.run(t.Context(), w.campaign(twoScenarios(parsed(t, "iterations: 1\nkeep_up: true\n")))); err != nil || o.State != Stopped || len(w.ordered()) != 3 {
			t.Errorf("%+v (%v)", o, err) // and run has seen that nothing is up
		}
	})
}

func TestACheckThatDoesNotPassEndsTheRunsOfAStrictPlanOnly(t *testing.T) {
	for strict, want := range map[string]Status{"true": Failed, "false": Finished} {
		inWorld(t, func(t *testing.T, w *world) {
			checks := "checks: [{name: low, argv: [x], min: 2, when: [before]}, {name: exact, argv: [x], min: 1, max: 1, when: [after]}]\n"
			var made []rundir.Check
			w.result = func(o Order) Result { return Result{Status: Finished} }
			c := w.campaign(parsed(t, "iterations: 1\non_invalid: {repeat: 0}\ngates: {strict: "+strict+", "+off+"}\n"+checks))
			c.Operations.Measure = func(ctx context.Context, o Order) Result {
				result := w.measure(ctx, o)
				made = o.Engine.Facts().Checks
				return result
			}
			if o, err := w.run(t.Context(), c); err != nil || o.Counts[want] != 2 {
				t.Fatalf("strict %s: %+v (%v)", strict, o, err)
			}
			if want == Finished && (len(made) != 2 || made[0].Passed || !made[1].Passed) {
				t.Errorf("%+v", made)
			}
		})
	}
}

func TestAStrictPlanMakesNoRunBehindAClockThatNobodyTells(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		found, o, err := gated(t, w, "{strict: true, sm_clock: {min_hertz: 2e9, argv: [burn]}, "+off+"}")
		if g := found[gateSMClock]; err != nil || o.Counts[Failed] != 1 || g.State != gateFailed || g.Value != nil {
			t.Errorf("%+v (%v) %+v", o, err, g)
		}
	})
}

func TestAnInterruptMakesNoChecksAndLosesNoEngine(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, interrupt := context.WithCancel(t.Context())
		asked := 0
		w.command = func([]string) Printed { asked++; return Printed{Text: "1"} }
		c := w.campaign(parsed(t, "iterations: 1\nchecks: [{name: speed, argv: [x], when: [after]}]\n"))
		var coming context.Context
		c.Operations.Up = func(ctx context.Context, a plan.Arm, dir string) (Engine, error) {
			coming = ctx
			return w.raise(ctx, a, dir)
		}
		w.during = func(context.Context, Order) {
			interrupt()
			synctest.Wait()
			if coming.Err() != nil {
				t.Error("an engine that is up is brought down in order, and not by the interrupt")
			}
		}
		if o, err := w.run(ctx, c); err != nil || o.State != Stopped || asked != 0 {
			t.Errorf("%+v (%v), asked %d times", o, err, asked)
		}
	})
}

func TestOnlySlotsInARowEndACampaign(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.result = func(o Order) Result {
			if o.Slot.Number%2 == 1 {
				return Result{Status: Invalid, Problem: "swap_in"}
			}
			return Result{Status: Finished}
		}
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 3\non_invalid: {repeat: 0, stop_after: 2}\n")))
		if err != nil || o.State != Complete || o.Counts[Invalid] != 3 {
			t.Errorf("%+v (%v)", o, err)
		}
	})
}

func TestAnArmThatWasSkippedIsTriedAgainOnRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := parsed(t, "iterations: 1\n")
		p.Arms[1].Optional = true
		w.cannot["b"] = errors.New("no such program")
		if o, err := w.run(t.Context(), w.campaign(p)); err != nil || o.Counts[Skipped] != 1 {
			t.Fatalf("%+v (%v)", o, err)
		}
		delete(w.cannot, "b")
		again := w.campaign(p)
		again.Retry = []Status{Invalid, Failed, Skipped}
		if o, err := w.run(t.Context(), again); err != nil || o.Counts[Finished] != 2 {
			t.Errorf("%+v (%v)", o, err)
		}
	})
}

func TestToStopWasSaidToAnInvocationThatHasEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if err := os.MkdirAll(w.dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(w.dir, stopFile), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 1\n"))); err != nil || o.State != Complete {
			t.Errorf("%+v (%v)", o, err)
		}
	})
}

func TestWhatWasTornOfAJournalIsGoneHoweverLongItWas(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, JournalFile), []byte("{\"event\":\"begin\"}\n{\"event\":\"slot\",\"text\":\""+strings.Repeat("x", 4000)), 0o644); err != nil {
		t.Fatal(err)
	}
	j, _, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.file.Close()
	if err := j.add(Event{Event: eventEnd, State: Stopped}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, JournalFile))
	if err != nil || len(text) > 1000 || !slices.Equal([]string{events(t, dir)[0].Event, events(t, dir)[1].Event}, []string{eventBegin, eventEnd}) {
		t.Errorf("%d bytes (%v)", len(text), err)
	}
}

func TestARunThatFailedSaysNothingOfHowLongRunsTake(t *testing.T) {
	of := func(e Event) Event { e.Slot, e.Model, e.Arm, e.Scenario = 1, "m", "a", "s"; return e }
	p := replay([]Event{of(Event{Event: eventRun, Status: Failed, Second: 1}), of(Event{Event: eventRun, Status: Aborted, Second: 5}), of(Event{Event: eventRun, Status: Finished, Second: 600})})
	if d, known := p.expected(p.slots[1].slot); !known || d != 10*time.Minute {
		t.Errorf("%s", d)
	}
}

func TestWhatWasCutOffIsWhollyLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i, err := w.campaign(parsed(t, "iterations: 1\n")).Open()
		if err != nil {
			t.Fatal(err)
		}
		i.note(Event{Event: eventBegin})
		i.note(Event{Event: eventSlot, Slot: 1, Model: "m", Arm: "a", Scenario: "s", Iteration: 1, Run: "r"})
		i.note(Event{Event: eventRun, Slot: 1, Model: "m", Arm: "a", Scenario: "s", Iteration: 1, Run: "r", Status: Finished, Second: 1200})
		i.note(Event{Event: eventSlot, Slot: 2, Model: "m", Arm: "b", Scenario: "s", Iteration: 1, Run: "q"})
		if err := i.keep(); err != nil {
			t.Fatal(err)
		}
		i.Close()
		time.Sleep(time.Hour)
		if text := seen(t, w.dir); !strings.Contains(text, "left  1 slot, about 20m by") {
			t.Error(text)
		}
	})
}
