package campaign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

func TestRunsFollowEachOtherInTheOrderOfThePlan(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 2\ngates: {cooldown: 5m}\n")))
		if err != nil || o.State != Complete || !o.Sound() || o.Counts[Finished] != 4 {
			t.Fatalf("%+v (%v)", o, err)
		}
		if got, want := w.ordered(), []string{"1-a", "2-b", "3-b", "4-a"}; !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		want := []string{"r001-1-a cooldown", "r001-1-a start", "r001-1-a load", "up a", "r001-1-a measure", "down a", "r002-2-b cooldown"}
		if !slices.Equal(w.did[:len(want)], want) {
			t.Errorf("%q", w.did)
		}
		all := events(t, w.dir)
		runs, slots := named(all, eventRun), named(all, eventSlot)
		if runs[0].Second != (12*time.Minute).Seconds() || runs[1].Second != (17*time.Minute).Seconds() || slots[0].BootID != "boot-1" {
			t.Errorf("%+v", runs)
		}
		facts, err := ReadFacts(w.dir)
		if err != nil || facts.State != Complete || len(facts.Slots) != 4 || facts.Slots[3].Status != Finished || facts.Slots[3].Arm != "a" {
			t.Errorf("%+v (%v)", facts, err)
		}
	})
}

func TestARunKnowsItsPlaceInTheCampaign(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var facts []*rundir.Campaign
		var labels []map[string]string
		w.result = func(o Order) Result {
			facts, labels = append(facts, o.Engine.Facts()), append(labels, o.Labels)
			return Result{Status: Finished}
		}
		w.mustRun(t.Context(), w.campaign(parsed(t, "iterations: 1\npage_cache: {policy: keep}\ncollect: [{name: freeze, argv: [pip]}]\n")))
		f := facts[1]
		if f.Name != "c" || f.Slot != 2 || f.Attempt != 1 || f.Arm != "b" || f.Round != 1 || f.PlanSHA256 != "5ha" || f.Files[0].Path != "engine.conf" || f.PageCache.Policy != "keep" || f.Collected[0].Output != "1" {
			t.Errorf("%+v", f)
		}
		if l := labels[1]; l["arm"] != "b" || l["campaign"] != "c" || l["slot"] != "2" || l["round"] != "1" || l["iteration"] != "1" || l["model"] != "m" || l["scenario"] != "s" || l["pair"] == "" {
			t.Errorf("%v", l)
		}
		if text, err := os.ReadFile(filepath.Join(w.dir, "r002-2-b", rundir.CapturesFolder, "freeze.txt")); err != nil || string(text) != "1" {
			t.Errorf("%q (%v)", text, err)
		}
	})
}

func TestARunThatIsNotValidIsRepeatedInItsPlace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.result = func(o Order) Result {
			if o.Slot.Number == 2 && o.Attempt < 3 {
				return Result{Status: Invalid, Problem: "client_lag"}
			}
			return Result{Status: Finished}
		}
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 2\non_invalid: {repeat: 2}\n")))
		if err != nil || !o.Sound() {
			t.Fatalf("%+v (%v)", o, err)
		}
		if got, want := w.ordered(), []string{"1-a", "2-b", "2-b", "2-b", "3-b", "4-a"}; !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
	})
}

func TestASlotWithoutAValidRunIsSkippedOrStopsTheCampaign(t *testing.T) {
	for rule, c := range map[string]struct {
		state State
		want  []string
	}{
		"{repeat: 1, then: skip, stop_after: 9}": {Complete, []string{"1-a", "2-b", "2-b", "3-b", "3-b", "4-a"}},
		"{repeat: 0, then: stop}":                {Ended, []string{"1-a", "2-b"}},
		"{repeat: 0, then: skip, stop_after: 2}": {Ended, []string{"1-a", "2-b", "3-b"}},
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.result = func(o Order) Result {
				if o.Slot.Arm == "b" {
					return Result{Status: Invalid, Problem: "swap_in"}
				}
				return Result{Status: Finished}
			}
			o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 2\non_invalid: "+rule+"\n")))
			if err != nil || o.State != c.state || o.Sound() || !slices.Equal(w.ordered(), c.want) {
				t.Errorf("%s: %+v (%v), %v", rule, o, err, w.ordered())
			}
		})
	}
}

func TestACampaignEndsWhenNoRunProvesWhatItIsAbout(t *testing.T) {
	for _, c := range []struct {
		proven []string
		after  string
		state  State
		runs   int
	}{{nil, "1", Gaveup, 2}, {nil, "2", Gaveup, 3}, {[]string{"ssd_rehydrate"}, "1", Complete, 4}} {
		inWorld(t, func(t *testing.T, w *world) {
			w.result = func(o Order) Result { return Result{Status: Finished, Proven: c.proven} }
			o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 2\nabort_if: [{signal: ssd_rehydrate, absent_after: "+c.after+", arm: b}]\n")))
			if err != nil || o.State != c.state || len(w.ordered()) != c.runs {
				t.Errorf("%+v: %+v (%v) after %v", c, o, err, w.ordered())
			}
			if c.state == Gaveup && !strings.Contains(o.Reason, "ssd_rehydrate") {
				t.Errorf("%s", o.Reason)
			}
		})
	}
}

func TestAnOptionalArmThatCannotBeStartedIsSkippedAndSaidToBe(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := parsed(t, "iterations: 2\n")
		p.Arms[1].Optional = true
		w.cannot["b"] = errors.New("no such program")
		o, err := w.run(t.Context(), w.campaign(p))
		if err != nil || o.State != Complete || !o.Sound() || o.Counts[Skipped] != 2 || !slices.Equal(w.ordered(), []string{"1-a", "4-a"}) {
			t.Fatalf("%+v (%v) %v", o, err, w.ordered())
		}
		if tried := len(named(events(t, w.dir), eventSlot)); tried != 3 || !strings.Contains(w.log.String(), "no such program") {
			t.Errorf("tried %d times: %s", tried, w.log.String())
		}
	})
}

func TestAnArmThatNeverComesUpFailsItsSlots(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.cannot["b"] = errors.New("arm b: engine was never ready")
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 1\non_invalid: {repeat: 1, stop_after: 5}\n")))
		if err != nil || o.State != Complete || o.Sound() || o.Counts[Failed] != 1 {
			t.Fatalf("%+v (%v)", o, err)
		}
		runs := named(events(t, w.dir), eventRun)
		if last := runs[len(runs)-1]; len(runs) != 3 || last.Status != Failed || !strings.Contains(last.Text, "never ready") {
			t.Errorf("%+v", runs)
		}
	})
}

func TestAnEngineThatDiesEndsItsRunAndIsStartedForTheNext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.during = func(_ context.Context, o Order) {
			if o.Slot.Number == 1 && o.Attempt == 1 {
				w.lose(errors.New("engine ended with exit code 137"))
			}
		}
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 1\nkeep_up: true\n")))
		if err != nil || !o.Sound() {
			t.Fatalf("%+v (%v)", o, err)
		}
		if got := named(events(t, w.dir), eventRun)[0]; got.Status != Failed || !strings.Contains(got.Text, "137") {
			t.Errorf("%+v", got)
		}
		if got := len(named(events(t, w.dir), eventUp)); got != 3 {
			t.Errorf("started %d times", got)
		}
	})
}

// In ABBA the last turn of a round and the first of the next are of one arm: each has a start of its own, or two rounds
// would hold one start between them.
func TestAnEngineStaysUpForItsTurnAndNotIntoTheNextRound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var kept []bool
		w.result = func(o Order) Result {
			kept = append(kept, o.Engine.Facts().EngineKept)
			if logs := o.Engine.Logs(); len(logs) != 1 || logs[0] != (server.EngineLog{Process: "engine", Path: filepath.Join(ArmFolder(w.dir, o.Slot.Model, o.Slot.Arm), "engine.log"), From: 7}) {
				t.Errorf("%s has the logs %+v", o.Run, logs)
			}
			return Result{Status: Finished}
		}
		w.mustRun(t.Context(), w.campaign(twoScenarios(parsed(t, "iterations: 2\nkeep_up: true\n"))))
		if ups := len(named(events(t, w.dir), eventUp)); ups != 4 || !slices.Equal(kept, []bool{false, true, false, true, false, true, false, true}) {
			t.Errorf("started %d times, kept %v", ups, kept) // a a, b b, b b, a a
		}
		if slices.Contains(w.did, "r002-2-a start") || !slices.Contains(w.did, "r005-5-b start") {
			t.Errorf("%q", w.did)
		}
	})
}

func TestAnInterruptEndsTheRunAndTheArmAndTheRestIsMadeLater(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ctx, interrupt := context.WithCancel(t.Context())
		w.during = func(_ context.Context, o Order) {
			if o.Slot.Number == 2 {
				interrupt()
			}
		}
		p := parsed(t, "iterations: 2\n")
		o, err := w.run(ctx, w.campaign(p))
		if err != nil || o.State != Stopped || o.Counts[Finished] != 1 {
			t.Fatalf("%+v (%v)", o, err)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "r002-2-b"+AbortedSuffix)); err != nil {
			t.Errorf("what was measured before the interrupt: %v", err)
		}
		w.during = nil
		o, err = w.run(t.Context(), w.campaign(p))
		if err != nil || !o.Sound() || !slices.Equal(w.ordered(), []string{"1-a", "2-b", "2-b", "3-b", "4-a"}) {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
	})
}

func TestAnInterruptWhileLeftoversAreEndedIsNoFailure(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		dir := ArmFolder(w.dir, "m", "a")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		w.left[dir] = []string{"engine (process 4711)"}
		ctx, interrupt := context.WithCancel(t.Context())
		c := w.campaign(parsed(t, "iterations: 1\n"))
		end := c.Operations.Down
		c.Operations.Down = func(ctx context.Context, a plan.Arm, dir string) error { interrupt(); return end(ctx, a, dir) }
		o, err := w.run(ctx, c)
		if err != nil || o.State != Stopped || o.Reason != "interrupted" || len(w.ordered()) > 0 || !slices.Contains(w.did, "end leftovers of a") {
			t.Errorf("%+v (%v) %v", o, err, w.did)
		}
	})
}

func TestTheRestIsMeasuredByAClockThatDoesNotJump(t *testing.T) {
	i, err := newWorld(t).campaign(parsed(t, "iterations: 1\n")).Open() // virtual clocks have no monotonic one
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	i.note(Event{Event: eventRun, Slot: 1, Status: Finished})
	if at := i.known.lastEnd; !strings.Contains(at.String(), "m=") {
		t.Errorf("%s is of the wall clock only", at)
	}
}

func TestACampaignThatIsAskedToStopsWhenItsRunIsOver(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.during = func(_ context.Context, o Order) {
			if pid, err := Stop(w.dir, true); err != nil || pid != os.Getpid() {
				t.Errorf("%d %v", pid, err)
			}
		}
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 2\n")))
		if err != nil || o.State != Stopped || o.Counts[Finished] != 1 || !strings.Contains(o.Reason, "asked") {
			t.Errorf("%+v (%v)", o, err)
		}
	})
}

func TestAFullDiskEndsTheCampaignWithItsArmDownAndAJournalThatCanBeRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.result = func(o Order) Result { return Result{Status: Failed, Problem: "no space left on device", Full: true} }
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 2\n")))
		if err == nil || o.State != Broken || len(w.ordered()) != 1 {
			t.Fatalf("%+v (%v)", o, err)
		}
		if last := events(t, w.dir); last[len(last)-1].State != Broken {
			t.Errorf("%+v", last)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "r001-1-a"+AbortedSuffix)); err != nil {
			t.Errorf("what passes for a run: %v", err)
		}
	})
}

func TestAFullDiskCostsASlotNoneOfItsRunsAndAnOptionalArmNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := parsed(t, "iterations: 1\non_invalid: {repeat: 0}\n")
		p.Arms[0].Optional = true
		w.cannot["a"] = errors.New("arm.json: no space left on device")
		c := w.campaign(p)
		c.Operations.Measure = func(ctx context.Context, o Order) Result {
			result := w.measure(ctx, o)
			result.Full = w.cannot["a"] != nil
			return result
		}
		if o, err := w.run(t.Context(), c); err == nil || o.State != Broken || o.Counts[Skipped] != 0 {
			t.Fatalf("%+v (%v)", o, err)
		}
		w.cannot = nil // somebody has made room
		if o, err := w.run(t.Context(), c); err != nil || o.Counts[Finished] != 2 || !slices.Equal(w.ordered(), []string{"1-a", "2-b"}) {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
	})
}

func TestAnOptionalArmThatWasUpBeforeIsNotSkippedForOneBadStart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := parsed(t, "iterations: 2\nkeep_up: false\n")
		p.Arms[1].Optional = true
		w.during = func(_ context.Context, o Order) {
			if o.Slot.Number == 2 {
				w.mutex.Lock()
				defer w.mutex.Unlock()
				w.cannot["b"] = errors.New("the port is still taken")
				time.AfterFunc(20*time.Minute, func() {
					w.mutex.Lock()
					defer w.mutex.Unlock()
					delete(w.cannot, "b")
				})
			}
		}
		o, err := w.run(t.Context(), w.campaign(p))
		if err != nil || o.Counts[Finished] != 4 || o.Counts[Skipped] != 0 {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
	})
}

func TestAJournalThatTakesNothingEndsTheCampaign(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.campaign(parsed(t, "iterations: 2\n"))
		i, err := c.Open()
		if err != nil {
			t.Fatal(err)
		}
		defer i.Close()
		w.during = func(context.Context, Order) { _ = i.journal.file.Close() }
		if o, err := i.Run(t.Context()); err == nil || o.State != Broken || len(w.ordered()) != 1 || w.up != "" {
			t.Errorf("%+v (%v) %v, up %q", o, err, w.ordered(), w.up)
		}
		if got := named(events(t, w.dir), eventUp); len(got) != 1 {
			t.Errorf("%+v", got)
		}
	})
}
