package campaign

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// awkward is a campaign in which most of what can happen does.
func awkward(t *testing.T, w *world) *plan.Plan {
	t.Helper()
	p := parsed(t, "iterations: 2\non_invalid: {repeat: 1, stop_after: 9}\ngates: {cooldown: 1m}\n")
	p.Arms = append(p.Arms, plan.Arm{Name: "o", Optional: true, Processes: p.Arms[0].Processes})
	w.cannot["o"] = errors.New("not here")
	w.result = func(o Order) Result {
		switch {
		case o.Slot.Number == 6: // never valid
			return Result{Status: Invalid, Problem: "swap_in"}
		case o.Slot.Number == 5 && w.tries(5) == 1:
			return Result{Status: Failed, Problem: "the server went away"}
		}
		return Result{Status: Finished}
	}
	return p
}

func TestARunThatIsNotFinishedSaysWhyAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.mustRun(t.Context(), w.campaign(awkward(t, w)))
		for _, want := range []string{"why=swap_in", `why="the server went away"`} {
			if log := w.log.String(); !strings.Contains(log, want) {
				t.Errorf("no %s in\n%s", want, log)
			}
		}
	})
}

// tries counts the runs that were measured in a slot.
func (w *world) tries(slot int) int {
	n := 0
	for _, run := range w.ordered() {
		if strings.HasPrefix(run, fmt.Sprint(slot, "-")) {
			n++
		}
	}
	return n
}

// ends are the slots with what each came to, by campaign.json.
func ends(t *testing.T, dir string) (all []string) {
	t.Helper()
	facts, err := ReadFacts(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range facts.Slots {
		all = append(all, fmt.Sprintf("%d %s %s %s", s.Number, s.Arm, s.Scenario, s.Status))
	}
	return all
}

// TestWhereverACampaignIsCutOffTheSameSlotsAreMadeInTheEnd cuts the journal after every line, and in the
// middle of every line, as a kill does, and goes on.
func TestWhereverACampaignIsCutOffTheSameSlotsAreMadeInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		whole := newWorld(t)
		if o, err := whole.run(t.Context(), whole.campaign(awkward(t, whole))); err != nil || o.State != Complete {
			t.Fatalf("%+v (%v)", o, err)
		}
		want := ends(t, whole.dir)
		if text := strings.Join(want, "\n"); !strings.Contains(text, "skipped") || !strings.Contains(text, "invalid") {
			t.Fatalf("not awkward enough: %v", want)
		}
		journal, err := os.ReadFile(filepath.Join(whole.dir, JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(journal, []byte("\n"))
		for cut := range lines {
			for _, torn := range []bool{false, true} {
				text := bytes.Join(lines[:cut], nil)
				if torn {
					text = append(text, lines[cut][:len(lines[cut])/2]...)
				}
				goOn(t, text, want, func(t *testing.T, w *world) *Campaign { return w.campaign(awkward(t, w)) })
			}
		}
	})
}

// goOn goes on behind a journal as a kill left it.
func goOn(t *testing.T, journal []byte, want []string, of func(*testing.T, *world) *Campaign) *world {
	t.Helper()
	w := newWorld(t)
	killed := leave(t, w, journal)
	o, err := w.run(t.Context(), of(t, w))
	if err != nil || o.State != Complete {
		t.Fatalf("after %d bytes: %+v (%v)", len(journal), o, err)
	}
	if got := ends(t, w.dir); !slices.Equal(got, want) {
		t.Errorf("after %d bytes:\n%v\nwant\n%v", len(journal), got, want)
	}
	all := events(t, w.dir)
	valid := map[int]int{}
	for _, e := range named(all, eventRun) {
		if e.Status == Finished {
			valid[e.Slot]++
		}
	}
	for slot, n := range valid {
		if n != 1 {
			t.Errorf("after %d bytes: slot %d has %d valid runs", len(journal), slot, n)
		}
	}
	if killed == "" {
		return w
	}
	if _, err := os.Stat(filepath.Join(w.dir, killed+AbortedSuffix, "manifest"+AbortedSuffix+".json")); err != nil {
		t.Errorf("after %d bytes: the half run is lost: %v", len(journal), err)
	}
	if found, _ := filepath.Glob(filepath.Join(w.dir, killed, rundir.ManifestFile)); len(found) > 0 {
		t.Errorf("after %d bytes: the half run passes for one: %v", len(journal), found)
	}
	return w
}

// leave makes the folder that a kill would leave: the journal, and what its runs had written. It returns
// the run that was cut off.
func leave(t *testing.T, w *world, journal []byte) (killed string) {
	t.Helper()
	if err := os.MkdirAll(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, JournalFile), journal, 0o644); err != nil {
		t.Fatal(err)
	}
	past, _, err := parseJournal(journal)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range past {
		switch e.Event {
		case eventSlot:
			w.names++
			killed = e.Run
			if err := os.Mkdir(filepath.Join(w.dir, e.Run), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w.dir, e.Run, rundir.ManifestFile), []byte("running"), 0o644); err != nil {
				t.Fatal(err)
			}
		case eventUp:
			w.do("%s measure", e.Run) // so that tries counts it, as the engines would
		case eventRun:
			killed = ""
		}
	}
	if killed != "" && len(w.did) > 0 && strings.HasPrefix(w.did[len(w.did)-1], killed) {
		w.did = w.did[:len(w.did)-1] // it did not come to its end
	}
	return killed
}

func TestWhatAKilledInvocationLeftRunningIsNamedAndEnded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		dir := ArmFolder(w.dir, "m", "b")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		w.left[dir] = []string{"engine (process 4711)"}
		o, err := w.run(t.Context(), w.campaign(parsed(t, "iterations: 1\n")))
		if err != nil || !o.Sound() || w.did[0] != "end leftovers of b" {
			t.Fatalf("%+v (%v) %q", o, err, w.did)
		}
		if left := named(events(t, w.dir), eventLeftover); len(left) != 1 || left[0].Text != "engine (process 4711)" || left[0].Arm != "b" {
			t.Errorf("%+v", left)
		}
		if !strings.Contains(w.log.String(), "process 4711") {
			t.Error(w.log.String())
		}
	})
}

func TestAnotherPlanIsRefusedUnlessItMayBe(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.mustRun(t.Context(), w.campaign(parsed(t, "iterations: 1\n")))
		changed := w.campaign(parsed(t, "iterations: 2\n"))
		changed.SHA256 = "other"
		if _, err := changed.Open(); err == nil || !strings.Contains(err.Error(), "sha256 5ha there, other now") {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(w.dir, PlanFile)); err != nil || string(text) != "c" {
			t.Errorf("%q (%v)", text, err)
		}
		changed.Changed = true
		if o, err := w.run(t.Context(), changed); err != nil || !o.Sound() || o.Counts[Finished] != 4 || len(w.ordered()) != 4 {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
		p := parsed(t, "iterations: 2\n")
		slices.Reverse(p.Arms)
		other := w.campaign(p)
		other.SHA256, other.Changed = "third", true
		if _, err := other.Open(); err == nil || !strings.Contains(err.Error(), "slot 1 was of m, a, s") {
			t.Error(err)
		}
	})
}

func TestSlotsWithoutAValidRunAreMadeAgainOnRequest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad := Result{Status: Invalid, Problem: "swap_in"}
		w.result = func(o Order) Result {
			if o.Slot.Arm == "b" {
				return bad
			}
			return Result{Status: Finished}
		}
		p := parsed(t, "iterations: 1\non_invalid: {repeat: 1}\n")
		if o, err := w.run(t.Context(), w.campaign(p)); err != nil || o.Sound() {
			t.Fatalf("%+v (%v)", o, err)
		}
		if o, err := w.run(t.Context(), w.campaign(p)); err != nil || o.Sound() || len(w.ordered()) != 3 {
			t.Fatalf("without it: %+v (%v) %v", o, err, w.ordered())
		}
		bad = Result{Status: Finished}
		again := w.campaign(p)
		again.Retry = []Status{Invalid, Failed, Skipped}
		if o, err := w.run(t.Context(), again); err != nil || !o.Sound() || !slices.Equal(w.ordered(), []string{"1-a", "2-b", "2-b", "2-b"}) {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
		// What was made again is over for whoever only reads the journal.
		if o, err := w.run(t.Context(), w.campaign(p)); err != nil || !o.Sound() || len(w.ordered()) != 4 {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
	})
}

func TestTwoDoNotHaveOneCampaign(t *testing.T) {
	w := newWorld(t)
	p := parsed(t, "iterations: 1\n")
	first, err := w.campaign(p).Open()
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.campaign(p).Open()
	for _, want := range []string{fmt.Sprintf("a campaign runs there already, as process %d since ", os.Getpid()), "uma-load campaign status " + w.dir, "uma-load campaign stop " + w.dir} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	if pid, err := Holder(w.dir); err != nil || pid != os.Getpid() {
		t.Errorf("%d %v", pid, err)
	}
	first.Close()
	if pid, err := Holder(w.dir); err != nil || pid != 0 {
		t.Errorf("%d %v", pid, err)
	}
	second, err := w.campaign(p).Open()
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
	if pid, err := Stop(w.dir, false); pid != 0 || err != nil {
		t.Errorf("%d %v", pid, err)
	}
}

func TestAPartOfAPlanIsTheSameSlots(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := parsed(t, "iterations: 2\n")
		part := w.campaign(p)
		part.Only = plan.Filter{Arms: []string{"b"}}
		if o, err := w.run(t.Context(), part); err != nil || !o.Sound() || o.Slots != 2 || !slices.Equal(w.ordered(), []string{"2-b", "3-b"}) {
			t.Fatalf("%+v (%v) %v", o, err, w.ordered())
		}
		if facts, err := ReadFacts(w.dir); err != nil || !facts.Slots[0].Unselected || facts.Slots[1].Unselected {
			t.Errorf("%+v (%v)", facts, err)
		}
		if o, err := w.run(t.Context(), w.campaign(p)); err != nil || !o.Sound() || !slices.Equal(w.ordered(), []string{"2-b", "3-b", "1-a", "4-a"}) {
			t.Errorf("%+v (%v) %v", o, err, w.ordered())
		}
	})
}

func TestAJournalBehindAFullDiskEndsWithItsLastWholeLine(t *testing.T) {
	dir := t.TempDir()
	j, _, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.add(Event{Event: eventBegin}); err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	whole := j.file
	j.file = full
	if err := j.add(Event{Event: eventEnd}); err == nil || !strings.Contains(err.Error(), JournalFile) || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	j.file = whole
	if err := j.add(Event{Event: eventEnd, State: Broken}); err != nil {
		t.Fatal(err)
	}
	if all := events(t, dir); len(all) != 2 || all[1].State != Broken {
		t.Errorf("%+v", all)
	}
}

func TestALineOfAJournalThatIsDamagedIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, JournalFile), []byte("{\"event\":\"begin\"}\nnonsense\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openJournal(dir); err == nil || !strings.Contains(err.Error(), JournalFile+":2:") {
		t.Errorf("%v", err)
	}
}

// FuzzJournal: whatever stands in a journal, what is read of it are its whole lines, and what they come to
// can be told.
func FuzzJournal(f *testing.F) {
	f.Add([]byte("{\"event\":\"begin\"}\n{\"event\":\"slot\",\"slot\":1,\"run\":\"r\"}\n{\"event\":\"run\",\"slot\":1,\"status\":\"finished\",\"proven\":[\"reuse\"]}\n{\"ev"))
	f.Add([]byte("{\"event\":\"gates\",\"slot\":-1,\"gates\":[{\"name\":\"x\",\"state\":\"failed\"}],\"mem_free_bytes\":1}\n{\"event\":\"skip\",\"slot\":9}\n"))
	f.Add([]byte("\n"))
	f.Add([]byte("null\n[]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, whole, err := parseJournal(text)
		if err != nil {
			return
		}
		if whole > len(text) || whole > 0 && text[whole-1] != '\n' || bytes.Count(text[:whole], []byte("\n")) != len(all) || bytes.IndexByte(text[whole:], '\n') >= 0 {
			t.Fatalf("%d of %d bytes, %d events", whole, len(text), len(all))
		}
		p := replay(all)
		for number, s := range p.slots {
			status := p.status(number, 2)
			if s.spent > s.attempts+len(all) || status == Aborted || p.over(number, 2) != (status != "") || s.open && status != "" {
				t.Fatalf("slot %d: %+v is %q", number, s, status)
			}
			p.expected(s.slot)
			p.absent([]plan.AbortIf{{Signal: "reuse"}}, cell{s.slot.Model, s.slot.Arm})
		}
	})
}
