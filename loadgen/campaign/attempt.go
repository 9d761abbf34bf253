package campaign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
)

// attempt is one run in its slot.
type attempt struct {
	r      *Invocation
	slot   plan.Slot
	number int
	run    string
	cell   *plan.Cell
	facts  rundir.Campaign
	ran    rundir.Provenance
	// upFailed is why the arm did not start; nil if it started or was not tried.
	upFailed error
	// stopping is done when the campaign should end.
	stopping context.Context
}

// runningEngine is an engine that is up.
type runningEngine struct {
	cell   cell
	engine Engine
}

func (a *attempt) of() cell { return cell{a.slot.Model, a.slot.Arm} }

// order returns the order that the run is made from.
func (a *attempt) order(scenario plan.Scenario) Order {
	return Order{
		Slot: a.slot, Attempt: a.number, Run: a.run, Dir: a.r.c.Dir, Cell: a.cell, Scenario: scenario, Labels: a.labels(), Pinned: a.pinned(scenario),
		Engine: server.EngineLifecycle{Before: a.before, After: a.after, Facts: a.manifest, Ran: a.provenance, Key: a.r.key, Starts: a.hasEngine(), Logs: a.logs},
	}
}

// namesModel reports whether the plan names the model that the run's server must have.
func (a *attempt) namesModel(scenario plan.Scenario) bool {
	return a.cell.Flags["model"] != "" || scenario.Run["model"] != ""
}

// pinned returns the model that the run's server must have.
func (a *attempt) pinned(scenario plan.Scenario) string {
	if a.namesModel(scenario) {
		return ""
	}
	return a.r.known.served[a.slot.Model]
}

// logs returns the logs of the engine that is up, if it is this run's.
func (a *attempt) logs() (logs []server.EngineLog) {
	if up := a.r.up; up != nil && up.cell == a.of() {
		for _, one := range up.engine.Processes {
			logs = append(logs, server.EngineLog{Process: one.Name, Path: one.Log, From: one.LogFrom})
		}
	}
	return logs
}

func (a *attempt) hasEngine() bool {
	return len(a.cell.Arm.Processes)+len(a.cell.Arm.Files) > 0 || a.cell.Arm.Clocks != nil
}

// labels returns the labels that every run of a campaign has. They take precedence over the arm's labels.
func (a *attempt) labels() map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, a.cell.Arm.Labels)
	maps.Copy(labels, map[string]string{
		"arm": a.slot.Arm, "model": a.slot.Model, "campaign": a.r.c.Plan.Name, "slot": fmt.Sprint(a.slot.Number), "iteration": fmt.Sprint(a.slot.Iteration), "scenario": a.slot.Scenario,
	})
	if a.slot.Round > 0 {
		labels["round"], labels["pair"] = fmt.Sprint(a.slot.Round), a.slot.Pair()
	}
	return labels
}

// manifest returns a copy, since the attempt goes on.
func (a *attempt) manifest() *rundir.Campaign {
	facts := a.facts
	return &facts
}

// before brings the machine to rest and starts the engine.
func (a *attempt) before(ctx context.Context, enter func(string), wait func(string, time.Time)) (context.Context, error) {
	enter(metric.PhaseCooldown)
	kept := a.r.engineIsUp(a.of())
	if !kept {
		a.r.lower(ctx, a)
	}
	a.facts.EngineKept = kept
	if err := a.rest(ctx, kept, wait); err != nil {
		return nil, err
	}
	if kept || !a.hasEngine() {
		return a.ready(ctx)
	}
	enter(metric.PhaseStart)
	enter(metric.PhaseLoad)
	wait("arm "+a.slot.Arm+" to be ready", time.Time{})
	if err := a.raise(ctx); err != nil {
		return nil, err
	}
	return a.ready(ctx)
}

// rest waits for the gates, and applies the page cache policy before the engine is started.
func (a *attempt) rest(ctx context.Context, kept bool, wait func(string, time.Time)) error {
	k := &gatekeeper{operations: a.r.c.Operations, log: a.r.c.Log, cell: a.cell, gates: a.cell.Gates, known: a.r.known, kept: kept, show: wait}
	err := k.rest(ctx)
	if err == nil {
		err = a.check(ctx, whenBefore)
	}
	if err == nil {
		err = k.clock(ctx)
	}
	if err == nil && !kept {
		done := a.r.c.Operations.PageCache(ctx, a.cell.PageCache)
		if a.facts.PageCache = &done; done.Problem != "" {
			a.problem("page cache: " + done.Problem)
		}
	}
	if err == nil {
		err = k.open(ctx)
	}
	a.facts.Gates = k.passed
	for _, g := range k.passed {
		switch g.State {
		case gatePassed:
		case gateNotObservable:
			a.facts.Problems = append(a.facts.Problems, "gate "+gateText(g))
			a.r.c.Log.Info("gate "+gateText(g), "slot", a.slot.Number)
		default:
			a.problem("gate " + gateText(g))
		}
	}
	if ctx.Err() == nil {
		k.last = k.operations.Machine(ctx, a.cell)
	}
	e := a.event(eventGates)
	e.Gates, e.Celsius = k.passed, k.last.Celsius
	if !kept {
		e.MemFree = k.last.MemFreeBytes
	}
	a.r.note(e)
	return errors.Join(err, a.r.failure)
}

// check runs the checks of one time. In a strict plan, a check that fails before the load fails the run.
func (a *attempt) check(ctx context.Context, at string) error {
	for _, c := range a.cell.Checks {
		if !when(c, at) || ctx.Err() != nil {
			continue
		}
		facts := check(ctx, a.r.c.Operations, c, at)
		facts.Problem = a.r.secrets.Text(facts.Problem)
		a.facts.Checks = append(a.facts.Checks, facts)
		if !facts.Passed && ctx.Err() == nil {
			a.r.c.Log.Warn(facts.Failure())
			if at == whenBefore && a.cell.Gates.Strict {
				return fmt.Errorf("%w: %s", ErrGate, facts.Failure())
			}
		}
	}
	return ctx.Err()
}

// raise starts the engine.
func (a *attempt) raise(ctx context.Context) error {
	began := time.Now()
	// The context cancels only the start. Later the engine is stopped in order.
	coming, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	unbind := context.AfterFunc(ctx, func() { stop(context.Cause(ctx)) })
	engine, err := a.r.c.Operations.Up(coming, a.cell.Arm, a.r.armDir(a.of()))
	unbind()
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	if err != nil {
		a.upFailed = err
		return err
	}
	a.r.up = &runningEngine{a.of(), engine}
	e := a.event(eventUp)
	e.Second = time.Since(began).Seconds()
	a.r.note(e)
	return a.r.failure
}

// ready completes the start of the engine: it collects facts about the engine and adds them to the manifest.
func (a *attempt) ready(ctx context.Context) (context.Context, error) {
	lost := context.WithoutCancel(ctx)
	if up := a.r.up; up != nil {
		lost = up.engine.Lost
		a.started(up.engine.State)
		a.observe(up.engine)
	}
	if _, known := a.r.collected[a.of()]; !known && len(a.cell.Collect) > 0 {
		a.r.collected[a.of()] = collect(ctx, a.r.c.Operations, a.cell.Collect, a.r.secrets)
	}
	for _, one := range a.r.collected[a.of()] {
		if err := one.keep(rundir.Folder(filepath.Join(a.r.c.Dir, a.run))); err != nil {
			return nil, err
		}
		a.facts.Collected = append(a.facts.Collected, one.facts())
	}
	return lost, ctx.Err()
}

// started adds what was started for the engine to the manifest.
func (a *attempt) started(state arm.State) {
	a.facts.Files, a.facts.Processes = nil, nil
	for _, f := range state.Files {
		a.facts.Files = append(a.facts.Files, rundir.ArmFile{Path: f.Path})
	}
	for _, p := range state.Processes {
		a.facts.Processes = append(a.facts.Processes, rundir.ArmMember{Name: p.Name, Program: p.Program, Options: p.Options, Container: p.Container, Host: p.Host})
	}
	if len(state.Processes) > 0 {
		a.facts.Placement, a.facts.Cgroup = a.r.known.placement, strings.TrimPrefix(state.Cgroup, arm.CgroupRoot)
	}
	if state.LockedClock > 0 {
		a.facts.LockedClockHertz = number(float64(state.LockedClock))
	}
}

// after stops the engine, unless the next run uses the same one.
func (a *attempt) after(cut context.Context) {
	if !a.stays() {
		a.r.lower(cut, a)
	}
	if a.stopping.Err() == nil {
		_ = a.check(cut, whenAfter) // after the load a check stops nothing
	}
}

// stays reports whether the engine stays up for the next run, which must be of the same turn. Runs of several rounds
// that shared one start of the engine would not be independent runs.
func (a *attempt) stays() bool {
	return a.r.c.Plan.KeepUp && a.stopping.Err() == nil && a.r.engineIsUp(a.of()) && a.r.nextIs(a.slot)
}

func (a *attempt) problem(text string) {
	text = a.r.secrets.Text(text)
	a.facts.Problems = append(a.facts.Problems, text)
	a.r.c.Log.Warn(text, "slot", a.slot.Number)
}

// event returns an event of this run.
func (a *attempt) event(name string) Event {
	e := slotEvent(name, a.slot)
	e.Attempt, e.Run = a.number, a.run
	return e
}

func slotEvent(name string, s plan.Slot) Event {
	return Event{Event: name, Slot: s.Number, Model: s.Model, Arm: s.Arm, Scenario: s.Scenario, Iteration: s.Iteration}
}
