package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/summary"
)

// Invocation is a campaign that is ready to continue.
type Invocation struct {
	c       *Campaign
	lock    *os.File
	journal *journal
	known   *progress
	key     server.ProvenanceKey
	slots   []plan.Slot // the selected slots, in order
	started time.Time
	up      *runningEngine
	// collected is the output of commands, by arm and model.
	collected map[cell][]collected
	// unsound counts the slots in a row that ended without a valid run.
	unsound int
	// finding is what a search has found so far.
	finding *Finding
	// summaries are the summaries of runs that have ended, by name.
	summaries map[string]*summary.Summary
	// failure is why the journal cannot be written any more.
	failure error
	// secrets removes the secrets of the plan from what programs print and report.
	secrets *openai.Redactor
}

// Outcome is the result of an invocation.
type Outcome struct {
	State  State
	Reason string
	// Slots is the number of selected slots. Counts counts them by status.
	Slots  int
	Counts map[Status]int
}

// note writes an event to the journal. If that fails, the campaign ends: an event that is not in the journal counts as
// not happened.
func (r *Invocation) note(e Event) {
	now := time.Now()
	e.At, e.Text = now.UTC(), r.secrets.Text(e.Text)
	if r.failure == nil {
		if err := r.journal.add(e); err != nil {
			r.failure = err
			return
		}
	}
	e.At = now // UTC drops the monotonic clock; with it a rest is measured correctly even if the time of day jumps
	r.known.take(e)
}

// Run makes the missing runs. Its error is why it could not continue.
func (r *Invocation) Run(ctx context.Context) (Outcome, error) {
	r.note(Event{Event: eventBegin, BootID: r.c.Operations.Boot, PID: os.Getpid(), Plan: r.c.SHA256, Selected: len(r.slots), Decides: r.decides(), Compared: r.c.Compared, Placement: r.c.Placement})
	for _, s := range r.known.slots { // slots that were open when the last invocation ended
		if s.open {
			r.c.Log.Warn("the last start of the campaign was cut off: its slot gets another run", "slot", s.slot.Number, "run", s.run)
			e := slotEvent(eventRun, s.slot)
			e.Attempt, e.Run, e.Status, e.Text = s.attempts, s.run, Aborted, "the campaign was cut off; the folder is kept as "+s.run+AbortedSuffix
			r.note(e)
		}
	}
	err := errors.Join(r.failure, r.keep()) // so that readers find the campaign before its first run
	if err == nil {
		err = r.endLeftovers(ctx)
	}
	state, reason := Stopped, "interrupted"
	if err == nil {
		state, reason, err = r.drive(ctx)
	}
	r.lower(context.WithoutCancel(ctx), nil)
	if err != nil {
		state, reason = Broken, err.Error()
	}
	r.note(Event{Event: eventEnd, State: state, Text: reason})
	err = errors.Join(err, r.failure, r.keep())
	return r.tell(r.outcome(state, reason)), err
}

// endLeftovers ends the processes that a killed invocation left running, and logs them.
func (r *Invocation) endLeftovers(ctx context.Context) error {
	for _, c := range r.cells() {
		dir := r.armDir(c)
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		rendered, err := r.c.Plan.Render(c.model, c.arm, map[string]string{plan.ValueFolder: dir})
		if err != nil {
			return err
		}
		left, err := r.c.Operations.Leftovers(ctx, rendered.Arm, dir)
		if err != nil {
			return fmt.Errorf("arm %s: what is left of it is not known: %w", c.arm, err)
		}
		for _, what := range left {
			r.c.Log.Warn("left over from an invocation before this one", "arm", c.arm, "model", c.model, "what", what)
			r.note(Event{Event: eventLeftover, Model: c.model, Arm: c.arm, Text: what})
		}
		if err := r.c.Operations.Down(ctx, rendered.Arm, dir); err != nil {
			return fmt.Errorf("arm %s: what is left of it could not be ended: %w", c.arm, err)
		}
	}
	return nil
}

// cells returns the arms with models of the whole plan, in order.
func (r *Invocation) cells() []cell {
	var all []cell
	for _, s := range r.c.Plan.Schedule() {
		if c := (cell{s.Model, s.Arm}); !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

func (r *Invocation) armDir(c cell) string { return ArmFolder(r.c.Dir, c.model, c.arm) }

// ArmFolder returns the folder for the state and logs of an arm with a model, in the folder of a campaign.
func ArmFolder(dir, model, arm string) string { return filepath.Join(dir, armsFolder, model, arm) }

// drive makes the missing runs, and the runs of rounds that are repeated because of an outlier.
func (r *Invocation) drive(ctx context.Context) (State, string, error) {
	for {
		if state, reason, err := r.driveSlots(ctx); state != Complete || err != nil {
			return state, reason, err
		}
		if added, err := r.repeatOutliers(); added == 0 || err != nil {
			return Complete, "", err
		}
	}
}

// driveSlots makes the missing runs, one after the other.
func (r *Invocation) driveSlots(ctx context.Context) (State, string, error) {
	for at := 0; ; at++ {
		slot, ends, why := r.choose(at)
		if ends != "" {
			return ends, why, r.failure
		}
		for !r.known.over(slot.Number, r.c.Plan.OnInvalid.Repeat) {
			if state, reason := r.stopNow(ctx); state != "" {
				return state, reason, nil
			}
			if why, skipped := r.known.skipped[cell{slot.Model, slot.Arm}]; skipped {
				e := slotEvent(eventSkip, slot)
				e.Text = why
				r.note(e)
				break
			}
			if err := r.attempt(ctx, slot); err != nil {
				return "", "", err
			}
			if state, reason := r.judge(ctx, slot); state != "" {
				return state, reason, nil
			}
		}
	}
}

// stopNow reports whether the campaign was asked to end, and how.
func (r *Invocation) stopNow(ctx context.Context) (State, string) {
	if ctx.Err() != nil {
		return Stopped, "interrupted"
	}
	if os.Remove(filepath.Join(r.c.Dir, stopFile)) == nil {
		return Stopped, "asked to stop when the run was over"
	}
	return "", ""
}

// attempt makes one run.
func (r *Invocation) attempt(ctx context.Context, slot plan.Slot) error {
	c := cell{slot.Model, slot.Arm}
	rendered, err := r.c.Plan.Render(slot.Model, slot.Arm, map[string]string{plan.ValueFolder: r.armDir(c)})
	if err != nil {
		return err
	}
	scenario, _ := rendered.Scenario(slot.Scenario)
	ran, err := identify(r.key, r.c.Plan, slot)
	if err != nil {
		return err
	}
	number := 1
	if s := r.known.slots[slot.Number]; s != nil {
		number = s.attempts + 1
	}
	a := &attempt{r: r, slot: slot, ran: ran, number: number, run: r.c.Operations.Name(slot), cell: rendered, stopping: ctx, facts: rundir.Campaign{
		Name: r.c.Plan.Name, PlanSHA256: r.c.SHA256, Slot: slot.Number, Attempt: number, Model: slot.Model, Arm: slot.Arm, Scenario: slot.Scenario,
		Iteration: slot.Iteration, Round: slot.Round, Repeats: slot.Repeats, NRaisedFrom: r.raisedFrom(slot), BootID: r.c.Operations.Boot,
	}}
	began := time.Now()
	e := a.event(eventSlot)
	e.BootID = r.c.Operations.Boot
	r.note(e)
	if err := errors.Join(r.failure, r.keep()); err != nil {
		return err
	}
	settled := r.watch(a)
	result := r.c.Operations.Measure(ctx, a.order(scenario))
	result.Problem = r.secrets.Text(result.Problem)
	settled()
	r.finish(a, result, time.Since(began))
	if result.Full {
		return fmt.Errorf("no other run can be kept: %s", result.Problem)
	}
	return errors.Join(r.failure, r.keep())
}

// finish records how a run ended.
func (r *Invocation) finish(a *attempt, result Result, took time.Duration) {
	if result.Status != Finished && !r.engineIsUp(a.of()) {
		r.lower(context.WithoutCancel(a.stopping), a) // if the engine was lost, stop the rest of it
	}
	if result.Full && result.Status == Failed {
		result.Status = Aborted // for a reason outside of the run and its arm: the slot gets another run
	}
	if result.Status == Aborted || result.Torn {
		if err := SetAside(r.c.Dir, a.run); err != nil {
			r.c.Log.Warn("a run that was cut off is not marked", "run", a.run, "why", err)
		}
	}
	e := a.event(eventRun)
	e.Status, e.Text, e.Proven, e.Second = result.Status, result.Problem, result.Proven, took.Seconds()
	if scenario, _ := a.cell.Scenario(a.slot.Scenario); !a.namesModel(scenario) {
		e.Served = result.Served
	}
	r.note(e)
	fields := []any{"number", a.slot.Number, "of", len(r.schedule()), "model", a.slot.Model, "arm", a.slot.Arm, "scenario", a.slot.Scenario,
		"run", a.run, "status", string(result.Status), "took", took.Round(time.Second)}
	if result.Problem != "" {
		fields = append(fields, "why", result.Problem)
	}
	r.c.Log.Info("slot", fields...)
	if a.upFailed != nil && a.cell.Arm.Optional && result.Status == Failed && !r.known.came[a.of()] {
		e := a.event(eventSkip)
		e.Text = "the arm is optional and cannot be started: " + a.upFailed.Error()
		r.note(e)
		r.c.Log.Warn("arm is skipped", "arm", a.slot.Arm, "model", a.slot.Model, "why", a.upFailed)
	}
}

// judge reports whether the plan ends the campaign after a run.
func (r *Invocation) judge(ctx context.Context, slot plan.Slot) (State, string) {
	if ctx.Err() != nil {
		return Stopped, "interrupted"
	}
	if signal := r.known.absent(r.c.Plan.AbortIf, cell{slot.Model, slot.Arm}); signal != "" && r.known.slots[slot.Number].last == Finished {
		return Gaveup, fmt.Sprintf("no run of arm %s with model %s has proven %s", slot.Arm, slot.Model, signal)
	}
	switch r.known.status(slot.Number, r.c.Plan.OnInvalid.Repeat) {
	case Finished, Skipped:
		r.unsound = 0
	case Invalid, Failed:
		r.unsound++
		if r.c.Plan.OnInvalid.Then == "stop" {
			return Ended, fmt.Sprintf("slot %d has no valid run, and by the plan the campaign stops then", slot.Number)
		}
		if most := r.c.Plan.OnInvalid.StopAfter; most > 0 && r.unsound >= most {
			return Ended, fmt.Sprintf("%d slots in a row have no valid run", r.unsound)
		}
	}
	return "", ""
}

// engineIsUp reports whether the engine of a cell is up.
func (r *Invocation) engineIsUp(c cell) bool {
	return r.up != nil && r.up.cell == c && r.up.engine.Lost.Err() == nil
}

// nextIs reports whether the next run is of the same turn as a slot. A repetition in this slot counts too.
func (r *Invocation) nextIs(slot plan.Slot) bool {
	at := slices.IndexFunc(r.slots, func(s plan.Slot) bool { return s.Number == slot.Number })
	for _, next := range r.slots[at+1:] {
		if !r.known.over(next.Number, r.c.Plan.OnInvalid.Repeat) {
			return next.SameTurn(slot)
		}
	}
	return false
}

// lower stops the engine, if one is up.
func (r *Invocation) lower(ctx context.Context, a *attempt) {
	if r.up == nil {
		return
	}
	up := r.up
	r.up = nil
	e := Event{Model: up.cell.model, Arm: up.cell.arm}
	if a != nil {
		e = a.event(eventDown)
	}
	e.Event = eventDown
	began := time.Now()
	if err := up.engine.Down(ctx); err != nil {
		e.Text = err.Error()
		r.c.Log.Error("arm did not go down as it should", "arm", up.cell.arm, "error", err)
		if a != nil {
			a.facts.Problems = append(a.facts.Problems, "the arm did not go down as it should: "+strings.ReplaceAll(err.Error(), "\n", "; "))
		}
	}
	e.Second = time.Since(began).Seconds()
	r.note(e)
}

// Slots returns how many slots are selected.
func (r *Invocation) Slots() int { return len(r.slots) }

// Resumed returns how many of the selected slots have ended already.
func (r *Invocation) Resumed() int {
	n := 0
	for _, s := range r.slots {
		if r.known.over(s.Number, r.c.Plan.OnInvalid.Repeat) {
			n++
		}
	}
	return n
}

// Left estimates the remaining time of the selected slots by the runs that were measured. known is false if there were
// none. It must not be called while another goroutine than the caller's carries out Run.
func (r *Invocation) Left() (left time.Duration, known bool) {
	for _, s := range r.slots {
		if r.known.over(s.Number, r.c.Plan.OnInvalid.Repeat) {
			continue
		}
		usual, measured := r.known.usual(s)
		if !measured {
			return 0, false
		}
		left, known = left+usual, true
	}
	return left, known
}

// Outcome returns the result so far. It must not be called while another goroutine than the caller's carries out Run.
func (r *Invocation) Outcome() Outcome { return r.outcome(Running, "") }

func (r *Invocation) outcome(state State, reason string) Outcome {
	o := Outcome{State: state, Reason: r.secrets.Text(reason), Slots: len(r.slots), Counts: map[Status]int{}}
	for _, s := range r.slots {
		o.Counts[r.known.status(s.Number, r.c.Plan.OnInvalid.Repeat)]++
	}
	delete(o.Counts, "")
	return o
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
