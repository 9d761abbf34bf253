package promexport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/summary"
)

func TestTheNewestOfACellAreShown(t *testing.T) {
	b := newBench(t)
	b.PerCell, b.Most = 2, 3
	for i := range 4 {
		for _, arm := range []string{"a", "b"} {
			o, s := whole(fmt.Sprint(arm, i), i)
			o.Labels = map[string]string{"arm": arm}
			b.put(Of(o, s))
		}
	}
	shown := b.Look()
	var names []string
	for _, r := range shown.Runs {
		names = append(names, r.info.run)
	}
	if want := []string{"b3", "a3", "b2"}; !slices.Equal(names, want) || shown.LeftOut != 5 {
		t.Errorf("%v, %d left out", names, shown.LeftOut)
	}
}

func TestAScoreIsOfRunsBeforeThatDidTheSame(t *testing.T) {
	b := newBench(t)
	put := func(minute int, tokens float64, change func(*compare.Run)) {
		o, s := whole(fmt.Sprint("r", minute), minute)
		o.Metrics = map[string]float64{"tokens": tokens}
		change(&o)
		b.put(Of(o, s))
	}
	same := func(*compare.Run) {}
	for i, tokens := range []float64{98, 99, 100, 101, 102} {
		put(i, tokens, same)
	}
	// None of these says anything of the run that follows.
	put(5, 1000, func(o *compare.Run) { o.Valid = false })
	put(6, 1000, func(o *compare.Run) { o.Simulated = true })
	put(7, 1000, func(o *compare.Run) { o.Mode = metric.ModeReplay })
	put(8, 1000, func(o *compare.Run) { o.WorkloadSHA256 = "bb" })
	put(9, 1000, func(o *compare.Run) { o.Host = "another" })
	put(10, 110, same)
	put(11, 1000, same) // later
	shown := b.Look()
	if z := shown.Scores["r10"]["tokens"]; z < 10/asDeviation-1e-9 || z > 10/asDeviation+1e-9 {
		t.Errorf("score %v", z)
	}
	for _, none := range []string{"r0", "r4", "r5", "r6", "r7", "r8", "r9"} {
		if len(shown.Scores[none]) > 0 {
			t.Errorf("%s has a score: %v", none, shown.Scores[none])
		}
	}
}

func TestAScoreHasAFloorAndIsNeverInfinite(t *testing.T) {
	for _, c := range []struct {
		x      float64
		others []float64
		want   float64
		known  bool
	}{
		{102, []float64{100, 100, 100, 100, 100}, 2, true},
		{1, []float64{0, 0, 0, 0, 0}, 0, false},
		{0, []float64{0, 0, 0, 0, 0}, 0, false},
		{1, []float64{1, 1, 1, 1}, 0, false},
		{-102, []float64{-100, -100, -100, -100, -100}, -2, true},
	} {
		if z, ok := zScore(c.x, c.others); ok != c.known || ok && (z < c.want-1e-9 || z > c.want+1e-9) {
			t.Errorf("%v against %v: %v, %v", c.x, c.others, z, ok)
		}
	}
}

func TestOnlyWhatChangedIsReadAgain(t *testing.T) {
	b := newBench(t)
	for i := range 3 {
		o, s := whole(fmt.Sprint("r", i), i)
		b.put(Of(o, s))
	}
	path := filepath.Join(b.Root, "0001")
	b.errs[path] = summary.ErrUnfinished
	look := func(after time.Duration, wantOpened int64, wantRuns int) {
		t.Helper()
		b.now = b.now.Add(after)
		b.opened.Store(0)
		if shown := b.Look(); b.opened.Load() != wantOpened || len(shown.Runs) != wantRuns {
			t.Errorf("%d read, %d shown", b.opened.Load(), len(shown.Runs))
		}
	}
	look(0, 3, 2)
	look(maxAge, 0, 2)
	// The run ends: its summary is written.
	delete(b.errs, path)
	if err := errors.Join(os.Mkdir(path, 0o755), os.WriteFile(filepath.Join(path, "summary.json"), []byte("{}"), 0o644)); err != nil {
		t.Fatal(err)
	}
	look(maxAge/2, 0, 2) // a moment after the last look
	look(maxAge/2, 1, 3)
	look(-time.Hour, 0, 3) // the clock was set
	delete(b.runs, path)
	look(maxAge, 0, 2)
}

func TestARootThatIsNoFolderIsRefused(t *testing.T) {
	s := &Results{Root: filepath.Join(t.TempDir(), "none")}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), s.Root) {
		t.Errorf("error %v", err)
	}
	s.Root = t.TempDir()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestACopyOfARunIsLeftOutByItsPathAndNotTheRun(t *testing.T) {
	b := newBench(t)
	o, s := whole("r0", 0)
	run, original := Of(o, s), filepath.Join(b.Root, "r0")
	copies := []string{filepath.Join(b.Root, "a copy of r0"), filepath.Join(b.Root, "backup", "r0")}
	for _, path := range append([]string{original}, copies...) {
		b.runs[path] = run
	}
	shown := b.Look()
	if len(shown.Runs) != 1 || shown.Runs[0].Folder != original || shown.LeftOut != len(copies) {
		t.Fatalf("%d runs, %d left out", len(shown.Runs), shown.LeftOut)
	}
	for _, path := range copies {
		if want := path + ": it is a copy of the run in " + original; !slices.Contains(shown.Problems, want) {
			t.Errorf("%q lacks %q", shown.Problems, want)
		}
	}
}
