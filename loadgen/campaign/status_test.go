package campaign

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seen is what the status of a campaign says to a person.
func seen(t *testing.T, dir string) string {
	t.Helper()
	look, err := LookAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := look.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheStatusOfACampaignThatRuns(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var during, stalled string
		w.result = func(o Order) Result {
			if o.Slot.Number == 2 {
				return Result{Status: Invalid, Problem: "swap_in \x1b[31m"}
			}
			if o.Slot.Number != 4 {
				return Result{Status: Finished}
			}
			logs := filepath.Join(ArmFolder(w.dir, "m", "a"), "logs")
			if err := os.MkdirAll(logs, 0o755); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(logs, "engine.log"), []byte("loading\nready \x1b]0;x\x07now\n\n"), 0o644); err != nil {
				t.Error(err)
			}
			during = seen(t, w.dir)
			time.Sleep(2 * time.Hour)
			stalled = seen(t, w.dir)
			return Result{Status: Finished}
		}
		w.mustRun(t.Context(), w.campaign(parsed(t, "iterations: 3\non_invalid: {repeat: 0}\ngates: {gpu_celsius: 45, cooldown: 0s}\n")))
		for _, want := range []string{
			"campaign c: running as process ", "order abba, plan 5ha, began ",
			"m      a    s         1         0        0       0        2", "m      b    s         1         1        0       0        1",
			"now   slot 4: m, a, s, iteration 2, attempt 1, for 12m0s: it measures", "left  3 slots, about 24m by the runs so far",
			"invalid  slot 2: m, b, s, iteration 1: swap_in", "log   arms/m/a/logs/engine.log: ready", "now\n",
		} {
			if !strings.Contains(during, want) {
				t.Errorf("%q is not in\n%s", want, during)
			}
		}
		if strings.ContainsAny(during, "\x1b\x07") || strings.Contains(during, "STALLED") {
			t.Errorf("%q", during)
		}
		if !strings.Contains(stalled, "STALLED  slot 4: m, a, s, iteration 2 runs for 2h12m0s") {
			t.Error(stalled)
		}
		if over := seen(t, w.dir); !strings.Contains(over, "campaign c: complete\n") || strings.Contains(over, "left ") || strings.Contains(over, "now ") {
			t.Error(over)
		}
	})
}

func TestTheStatusOfACampaignThatWasCutOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		i, err := w.campaign(parsed(t, "iterations: 1\n")).Open()
		if err != nil {
			t.Fatal(err)
		}
		i.note(Event{Event: eventBegin})
		i.note(Event{Event: eventSlot, Slot: 1, Model: "m", Arm: "a", Scenario: "s", Iteration: 1, Run: "r"})
		if err := i.keep(); err != nil {
			t.Fatal(err)
		}
		i.Close()
		text := seen(t, w.dir)
		if !strings.Contains(text, "campaign c: cut off\n") || !strings.Contains(text, "left  2 slots; how long that takes is not known") || !strings.Contains(text, "STALLED  the process that carried it out is gone") {
			t.Error(text)
		}
	})
}

func TestAFolderWithoutACampaignSaysSo(t *testing.T) {
	dir := t.TempDir()
	if _, err := LookAt(dir); err == nil || !strings.Contains(err.Error(), dir+": no campaign is there") {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, StateFile), []byte(`{"schema":"other/1"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LookAt(dir); err == nil || !strings.Contains(err.Error(), `its form is "other/1"`) {
		t.Error(err)
	}
}

// TestTheStatusOfACampaignIsThatOfItsJournal: campaign.json is behind when the program was killed between the
// two, and when a full disk took the one and not the other.
func TestTheStatusOfACampaignIsThatOfItsJournal(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var behind []byte
		w.during = func(_ context.Context, o Order) {
			var err error
			if behind, err = os.ReadFile(filepath.Join(w.dir, StateFile)); err != nil {
				t.Error(err)
			}
		}
		w.result = func(Order) Result { return Result{Status: Aborted, Problem: "no room", Full: true} }
		if _, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 1\n"))); err == nil {
			t.Fatal("the disk was full")
		}
		if err := os.WriteFile(filepath.Join(w.dir, StateFile), behind, 0o644); err != nil {
			t.Fatal(err)
		}
		text := seen(t, w.dir)
		if !strings.Contains(text, "campaign c: failed: no other run can be kept: no room\n") || !strings.Contains(text, "aborted  slot 1: m, a, s, iteration 1: no room") {
			t.Error(text)
		}
		if err := os.Remove(filepath.Join(w.dir, JournalFile)); err != nil {
			t.Fatal(err)
		}
		if text := seen(t, w.dir); !strings.Contains(text, "left  2 slots") {
			t.Error(text)
		}
	})
}

// TestTheTimeThatIsLeftHasTheCooldownOfEveryRunThatIsLeft: the first run, which all is known by, has none.
func TestTheTimeThatIsLeftHasTheCooldownOfEveryRunThatIsLeft(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var during []string
		w.during = func(_ context.Context, o Order) { during = append(during, seen(t, w.dir)) }
		p := parsed(t, "iterations: 2\ngates: {cooldown: 1h, off: [gpu_celsius, cpu_ratio, mem_free_within]}\n")
		w.mustRun(t.Context(), w.campaign(p))
		// A run takes 12 minutes, of which 2 are over when it measures, and its cooldown.
		for at, want := range map[int]string{1: "left  3 slots, about 2h34m by", 2: "left  2 slots, about 1h22m by", 3: "left  1 slot, about 10m by"} {
			if !strings.Contains(during[at], want) {
				t.Errorf("%q is not in\n%s", want, during[at])
			}
		}
		look, err := LookAt(w.dir)
		if err != nil {
			t.Fatal(err)
		}
		if d, known := look.Measured(p.Schedule()[1]); !known || d != 12*time.Minute {
			t.Errorf("behind its cooldown a run took %s", d)
		}
	})
}

func TestTheLastLineIsFoundWhateverTheFolderIsCalled(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night [1]*")
	logs := filepath.Join(ArmFolder(dir, "m", "a"), "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "engine.log"), []byte("ready\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if name, line := lastLine(dir); name != "arms/m/a/logs/engine.log" || line != "ready" {
		t.Errorf("%q %q", name, line)
	}
}
