package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// world is a machine and its engines on a virtual clock.
type world struct {
	mutex sync.Mutex
	t     *testing.T
	dir   string
	// did is what was done, in order.
	did []string
	// result returns what a run ends with; it is Finished if it has none.
	result func(o Order) Result
	// during is called while a run measures.
	during func(ctx context.Context, o Order)
	// up is the arm that is up; lost loses it.
	up        string
	lose      context.CancelCauseFunc
	cannot    map[string]error // arms that do not come up
	cannotEnd error
	machine   func() Machine
	command   func(argv []string) Printed
	left      map[string][]string // by folder of an arm
	cgroup    string              // of an arm
	names     int
	log       bytes.Buffer
	// waited is what runs waited for, and for how long at most; each once.
	waited []string
}

// wait takes what a run waits for.
func (w *world) wait(what string, until time.Time) {
	if !until.IsZero() {
		what += ", at most " + time.Until(until).String()
	}
	if !slices.Contains(w.waited, what) {
		w.waited = append(w.waited, what)
	}
}

// inWorld runs a test on a virtual clock.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t)) })
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, dir: filepath.Join(inMemory(t), "c"), result: func(Order) Result { return Result{Status: Finished} }, cannot: map[string]error{}, left: map[string][]string{},
		machine: func() Machine { return Machine{} }, command: func([]string) Printed { return Printed{Text: "1"} },
	}
}

// inMemory is a folder that waits for no disk, where the machine has one: every line of a journal is synced.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "campaign-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (w *world) do(format string, args ...any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.did = append(w.did, fmt.Sprintf(format, args...))
}

func (w *world) operations() Operations {
	return Operations{
		Name:    w.name,
		Measure: w.measure,
		Up:      w.raise,
		Leftovers: func(_ context.Context, _ plan.Arm, dir string) ([]string, error) {
			return w.left[dir], nil
		},
		Down: func(_ context.Context, a plan.Arm, dir string) error {
			if len(w.left[dir]) > 0 {
				w.do("end leftovers of %s", a.Name)
			}
			return nil
		},
		PageCache: func(_ context.Context, c plan.PageCache) rundir.PageCache { return rundir.PageCache{Policy: c.Policy} },
		Machine:   func(context.Context, *plan.Cell) Machine { return w.machine() },
		Command: func(ctx context.Context, argv []string, most time.Duration) Printed {
			if argv[0] == "burn" { // until it is ended
				<-ctx.Done()
				return Printed{Problem: "it was cut off"}
			}
			return w.command(argv)
		},
		Boot: "boot-1",
	}
}

func (w *world) name(s plan.Slot) string {
	w.names++
	return fmt.Sprintf("r%03d-%d-%s", w.names, s.Number, s.Arm)
}

// measure makes a folder of a run, as the real one does.
func (w *world) measure(ctx context.Context, o Order) Result {
	dir := filepath.Join(o.Dir, o.Run)
	if err := os.Mkdir(dir, 0o755); err != nil {
		w.t.Error(err)
	}
	state := func(text string) {
		m := rundir.Manifest{Schema: rundir.ManifestSchema, Run: o.Run, State: text, Provenance: o.Engine.Ran()}
		if err := rundir.Folder(dir).WriteJSON(rundir.ManifestFile, m); err != nil {
			w.t.Error(err)
		}
	}
	state("running")
	cut := context.WithoutCancel(ctx)
	engine, err := o.Engine.Before(ctx, func(phase string) { w.do("%s %s", o.Run, phase) }, w.wait)
	if err != nil {
		o.Engine.After(cut)
		state("failed")
		if ctx.Err() != nil {
			return Result{Status: Aborted, Problem: "interrupted"}
		}
		return Result{Status: Failed, Problem: err.Error()}
	}
	w.do("%s measure", o.Run)
	if w.during != nil {
		w.during(ctx, o)
	}
	result := Result{Status: Aborted, Problem: "interrupted"}
	select {
	case <-time.After(10 * time.Minute):
		result = w.result(o)
	case <-ctx.Done():
	case <-engine.Done():
		result = Result{Status: Failed, Problem: context.Cause(engine).Error()}
	}
	o.Engine.After(cut)
	state("complete")
	return result
}

func (w *world) raise(ctx context.Context, a plan.Arm, dir string) (Engine, error) {
	if w.up != "" {
		w.t.Errorf("%s is started while %s is up", a.Name, w.up)
	}
	if err := sleep(ctx, 2*time.Minute); err != nil {
		return Engine{}, err
	}
	w.mutex.Lock()
	cannot := w.cannot[a.Name]
	w.mutex.Unlock()
	if cannot != nil {
		return Engine{}, cannot
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Engine{}, err
	}
	w.up = a.Name
	w.do("up %s", a.Name)
	lost, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	w.lose = lose
	state := arm.State{Files: []arm.Written{{Path: "engine.conf"}}, Processes: []arm.Started{{Name: "engine", Log: filepath.Join(dir, "engine.log"), LogFrom: 7}}}
	if w.cgroup != "" {
		state.Cgroup = arm.CgroupRoot + w.cgroup
	}
	return Engine{State: state, Lost: lost, Down: func(context.Context) error {
		lose(errors.New("down"))
		w.up = ""
		w.do("down %s", a.Name)
		return w.cannotEnd
	}}, nil
}

// campaign is one of a plan in the world.
func (w *world) campaign(p *plan.Plan) *Campaign {
	return &Campaign{Kind: rundir.KindCampaign, Plan: p, Text: []byte(p.Name), SHA256: "5ha", Dir: w.dir, Operations: w.operations(), Log: slog.New(slog.NewTextHandler(&w.log, nil))}
}

// run opens and runs a campaign.
func (w *world) run(ctx context.Context, c *Campaign) (Outcome, error) {
	w.t.Helper()
	i, err := c.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	defer i.Close()
	o, err := i.Run(ctx)
	if w.up != "" {
		w.t.Errorf("%s is still up", w.up)
	}
	return o, err
}

// mustRun is run without an error.
func (w *world) mustRun(ctx context.Context, c *Campaign) {
	w.t.Helper()
	if _, err := w.run(ctx, c); err != nil {
		w.t.Fatal(err)
	}
}

// ordered are the runs that were measured, by slot and arm.
func (w *world) ordered() []string {
	var runs []string
	for _, one := range w.did {
		if run, is := strings.CutSuffix(one, " measure"); is {
			_, rest, _ := strings.Cut(run, "-")
			runs = append(runs, rest)
		}
	}
	return runs
}

// parsed is a plan of two arms, with changes.
func parsed(t *testing.T, more string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse("plan.yaml", []byte(`schema: umascope.plan/1
name: c
models: [{name: m}]
arms:
  - {name: a, processes: [{name: engine, argv: [serve]}]}
  - {name: b, processes: [{name: engine, argv: [serve]}]}
scenarios: [{name: s, run: {requests: 1}}]
`+more))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// twoScenarios gives a plan a second scenario, so that a turn of an arm has two runs.
func twoScenarios(p *plan.Plan) *plan.Plan {
	second := p.Scenarios[0]
	second.Name = "t"
	p.Scenarios = append(p.Scenarios, second)
	return p
}

// events reads the journal.
func events(t *testing.T, dir string) []Event {
	t.Helper()
	all, _, err := readJournal(filepath.Join(dir, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// named are the events of a name.
func named(all []Event, name string) []Event {
	return slices.DeleteFunc(slices.Clone(all), func(e Event) bool { return e.Event != name })
}
