package runner

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// journalAt is a journal in a folder of its own, whose clock advances by 1 ns each time it is read.
func journalAt(t *testing.T, dir string) *journal {
	t.Helper()
	s := &Capture{}
	s.recordIn(rundir.Folder(dir), &rundir.Manifest{})
	var now int64
	j := &journal{}
	j.show(newLiveRun(liveFacts{Run: "r1"}))
	j.open(s, func() int64 { now++; return now })
	return j
}

func TestPhasesAreNotedWhenTheNextBegins(t *testing.T) {
	dir := t.TempDir()
	j := journalAt(t, dir)
	expect := func(want ...rundir.Span) {
		t.Helper()
		if got := read[rundir.Phases](t, filepath.Join(dir, rundir.PhasesFile)).Phases; !slices.Equal(got, want) {
			t.Errorf("phases %+v, want %+v", got, want)
		}
	}
	cooldown, ready, again := rundir.Span{Name: "cooldown", StartNS: 1, EndNS: 2}, rundir.Span{Name: "ready", StartNS: 3, EndNS: 4}, rundir.Span{Name: "ready", StartNS: 5, EndNS: 6}
	load := rundir.Span{Name: "measure", StartNS: 10, EndNS: 20}
	err := errors.Join(j.pass("cooldown"), j.pass("ready"), j.pass("ready")) // which lasts already
	expect(cooldown)
	err = errors.Join(err, j.begin("ready"))
	expect(cooldown, ready)
	err = errors.Join(err, j.leave(), j.leave())
	expect(cooldown, ready, again)
	j.enter("measure")
	if err = errors.Join(err, j.passed(load), j.leave()); err != nil {
		t.Error(err)
	}
	expect(cooldown, ready, again, load)
}

func TestAnEngineIsNotRaisedIfAPhaseCannotBeNoted(t *testing.T) {
	full, lost := errors.New("disk full"), errors.New("never ready")
	for _, c := range []struct {
		name         string
		entered      error // by the first phase
		came         error
		interrupted  bool
		want, butNot error
	}{
		{name: "ready"},
		{name: "a phase is not noted", entered: full, want: full},
		{name: "never ready", came: lost, want: lost},
		{name: "interrupted", came: lost, interrupted: true, want: ErrInterrupted, butNot: lost},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		e := &server.EngineLifecycle{Before: func(ctx context.Context, enter func(string), _ func(string, time.Time)) (context.Context, error) {
			enter("cooldown")
			if c.interrupted {
				interrupt()
			}
			return ctx, c.came
		}}
		_, err := (&run{journal: &journal{}, env: Environment{Engine: e}}).startEngine(ctx, func(string) error { return c.entered })
		if !errors.Is(err, c.want) || c.butNot != nil && errors.Is(err, c.butNot) {
			t.Errorf("%s: %v", c.name, err)
		}
		interrupt()
	}
}
