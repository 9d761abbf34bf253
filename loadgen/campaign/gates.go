package campaign

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/rundir"
)

// How waiting for a gate ends.
const (
	gatePassed        = "passed"
	gateTimedOut      = "timed_out"
	gateFailed        = "failed" // timed out, in a strict plan
	gateNotObservable = "not_observable"
)

// Names of gates, as in plans.
const (
	gateCooldown      = "cooldown"
	gateSMClock       = "sm_clock"
	gateGPUCelsius    = "gpu_celsius"
	gateCPURatio      = "cpu_ratio"
	gateMemFree       = "mem_free"
	gateMemFreeWithin = "mem_free_within"
	gateExpected      = "expected_memory"
	gatePState        = "p_state"
)

const (
	// askEvery is the time between two checks of a gate.
	askEvery = 5 * time.Second
	// clockProbe is how long the GPU is loaded before its clock is read, and the time between two readings.
	clockProbe = 2 * time.Second
	// clockStart is how long the command of the probe may take before it loads the GPU: Python with PyTorch takes 5 to
	// 10 s.
	clockStart = 30 * time.Second
	// steadyFor is how long memory must be constant to end the wait for it: then no process is releasing memory.
	steadyFor   = time.Minute
	steadyBytes = 64 << 20
)

// unitPState is the unit of performance states, from 0, the fastest, to 15.
const unitPState = "performance state"

// ErrGate is the error of a run of a strict plan that did not begin because of a gate.
var ErrGate = errors.New("a gate did not open")

// gatekeeper waits for the machine before a run.
type gatekeeper struct {
	operations Operations
	log        *slog.Logger
	cell       *plan.Cell
	gates      plan.Gates
	known      *progress
	kept       bool // the engine is up already, so its memory is not checked
	// show shows what the run waits for, and until when at most.
	show   func(what string, until time.Time)
	passed []rundir.Gate
	last   Machine
}

// gate is one condition to wait for.
type gate struct {
	name, unit string
	limit      float64
	// ask returns the current value and whether the gate is open. A nil value means that it cannot be read. why is a
	// reason for people.
	ask func(Machine) (value *float64, ok bool, why string)
	// patient gates wait until their timeout even if the value does not change.
	patient bool
}

// rest waits until the machine has had the least time since it was last loaded.
func (k *gatekeeper) rest(ctx context.Context) error {
	if k.gates.Cooldown == nil {
		return ctx.Err()
	}
	want := *k.gates.Cooldown
	facts := rundir.Gate{Name: gateCooldown, State: gatePassed, Limit: number(want.Seconds()), Unit: "seconds"}
	if k.known.lastEnd.IsZero() {
		facts.Detail = "it is the first run"
		want = 0
	}
	left := min(max(want-time.Since(k.known.lastEnd), 0), want)
	if left > 0 {
		k.show("the machine to rest", time.Now().Add(left))
	}
	err := sleep(ctx, left)
	facts.Seconds = left.Seconds()
	k.note(facts)
	return err
}

// open waits for all gates except rest, one after the other.
func (k *gatekeeper) open(ctx context.Context) error {
	for _, g := range k.list() {
		if err := k.wait(ctx, g); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (k *gatekeeper) note(g rundir.Gate) { k.passed = append(k.passed, g) }

// list returns the gates of the plan in order. If the engine is kept, its memory is not checked.
func (k *gatekeeper) list() []gate {
	var all []gate
	if limit, has := k.celsius(); has {
		all = append(all, gate{gateGPUCelsius, "celsius", limit, func(m Machine) (*float64, bool, string) {
			return m.Celsius, m.Celsius != nil && *m.Celsius <= limit, ""
		}, true})
	}
	if k.gates.CPURatio != nil {
		all = append(all, gate{gateCPURatio, "ratio", float64(*k.gates.CPURatio), k.busy(float64(*k.gates.CPURatio)), true})
	}
	if k.kept {
		return all
	}
	atLeast := func(name string, least plan.Bytes) {
		if least > 0 {
			all = append(all, gate{name, "bytes", float64(least), func(m Machine) (*float64, bool, string) {
				return m.MemFreeBytes, m.MemFreeBytes != nil && *m.MemFreeBytes >= float64(least), ""
			}, false})
		}
	}
	atLeast(gateExpected, k.cell.Model.ExpectedBytes)
	atLeast(gateMemFree, k.gates.MemFree)
	if k.gates.MemFreeWithin != nil {
		all = append(all, gate{gateMemFreeWithin, "bytes", float64(*k.gates.MemFreeWithin), k.like(float64(*k.gates.MemFreeWithin)), false})
	}
	return all
}

// celsius returns the temperature to wait for: the absolute limit, or the one relative to the first start, whichever
// is higher.
func (k *gatekeeper) celsius() (limit float64, has bool) {
	limit = math.Inf(-1)
	if k.gates.GPUCelsius != nil {
		limit, has = *k.gates.GPUCelsius, true
	}
	if within := k.gates.WithinFirstCelsius; within != nil && k.known.celsius != nil {
		limit, has = max(limit, *k.known.celsius+*within), true
	}
	return limit, has
}

// busy returns a function that computes the busy share of CPU time since its last call.
func (k *gatekeeper) busy(most float64) func(Machine) (*float64, bool, string) {
	var before Machine
	return func(now Machine) (*float64, bool, string) {
		if now.BusySeconds == nil || now.TotalSeconds == nil {
			return nil, false, ""
		}
		defer func() { before = now }()
		if before.TotalSeconds == nil || *now.TotalSeconds <= *before.TotalSeconds {
			return number(math.NaN()), false, "" // a share needs two readings
		}
		share := (*now.BusySeconds - *before.BusySeconds) / (*now.TotalSeconds - *before.TotalSeconds)
		return &share, share <= most, ""
	}
}

// like returns a function that computes the distance of MemFree from its value at the last starts of the other arms.
func (k *gatekeeper) like(most float64) func(Machine) (*float64, bool, string) {
	return func(m Machine) (*float64, bool, string) {
		if m.MemFreeBytes == nil {
			return nil, false, ""
		}
		var widest float64
		why := "no other arm has been started yet"
		for arm, free := range k.known.memFree {
			if away := math.Abs(*m.MemFreeBytes - free); arm != k.cell.Arm.Name && away >= widest {
				widest, why = away, fmt.Sprintf("%s is free, %s was when %s was started", plan.Bytes(*m.MemFreeBytes), plan.Bytes(free), arm)
			}
		}
		return &widest, widest <= most, why
	}
}

// wait waits for one gate and records the result. Its error is the context's, or ErrGate.
func (k *gatekeeper) wait(ctx context.Context, g gate) error {
	began := time.Now()
	moved, at, logged := began, math.NaN(), false
	facts := rundir.Gate{Name: g.name, Unit: g.unit, Limit: &g.limit}
	for {
		k.last = k.operations.Machine(ctx, k.cell)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		value, ok, why := g.ask(k.last)
		facts.Detail, facts.Seconds = why, time.Since(began).Seconds()
		if value != nil && !math.IsNaN(*value) {
			facts.Value = value
			if !(math.Abs(*value-at) < steadyBytes) {
				moved, at = time.Now(), *value
			}
		}
		facts.State = k.judge(g, value, ok, time.Since(began), time.Since(moved))
		if facts.State != "" {
			break
		}
		k.show("gate "+gateText(facts), began.Add(k.gates.Timeout))
		if facts.Value != nil && !logged {
			logged = true
			k.log.Info("waiting for gate "+gateText(facts), "at_most", k.gates.Timeout)
		}
		if err := sleep(ctx, askEvery); err != nil {
			return err
		}
	}
	k.note(facts)
	if facts.State == gateFailed {
		return fmt.Errorf("%w: %s", ErrGate, gateText(facts))
	}
	return nil
}

// judge returns how the wait ends, or "" if it goes on.
func (k *gatekeeper) judge(g gate, value *float64, ok bool, waited, stood time.Duration) string {
	switch {
	case value == nil && k.gates.Strict && waited >= k.gates.Timeout:
		return gateFailed
	case value == nil && !k.gates.Strict:
		return gateNotObservable
	case ok:
		return gatePassed
	case waited < k.gates.Timeout && (g.patient || stood < steadyFor):
		return ""
	case k.gates.Strict:
		return gateFailed
	default:
		return gateTimedOut
	}
}

// clock loads the GPU for a moment, and meanwhile reads its clock and its performance state.
func (k *gatekeeper) clock(ctx context.Context) error {
	probe := k.gates.SMClock
	if probe == nil {
		return nil
	}
	began := time.Now()
	k.show("the clock of the GPU under load", began.Add(clockStart))
	loading, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	var printed Printed // set once ended is closed
	go func() {
		defer close(ended)
		printed = k.operations.Command(loading, probe.Argv, k.gates.Timeout)
	}()
	under := k.underLoad(ctx, ended)
	stop()
	<-ended // before the arm starts, which needs the memory that the command holds
	detail := ""
	if under == nil {
		under, detail = &Machine{}, fmt.Sprintf("the probe ended before the GPU was read: exit code %d %s", printed.ExitCode, printed.Problem)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	took := time.Since(began).Seconds()
	err := k.probed(rundir.Gate{Name: gateSMClock, Unit: "hertz", Limit: &probe.MinHertz, Value: under.SMClockHertz, Detail: detail, Seconds: took},
		under.SMClockHertz != nil && *under.SMClockHertz >= probe.MinHertz)
	if k.gates.PState == "" {
		return err
	}
	facts := rundir.Gate{Name: gatePState, Unit: unitPState, Limit: k.pState(), Value: under.PState, Detail: detail, Seconds: took}
	if facts.Limit == nil && facts.Value != nil {
		facts.Detail = "it is the first probe of this arm and model"
	}
	return errors.Join(err, k.probed(facts, under.PState != nil && (facts.Limit == nil || *under.PState <= *facts.Limit)))
}

// underLoad reads the machine while a command loads its GPU, until clock and performance state are as the plan
// requires, and returns the reading with the highest clock. The first readings may precede the load. It returns nil if
// the command ended before there was one.
func (k *gatekeeper) underLoad(ctx context.Context, ended <-chan struct{}) (best *Machine) {
	limit := k.pState()
	for began := time.Now(); time.Since(began) < clockStart; {
		select {
		case <-ctx.Done():
			return best
		case <-ended:
			return best
		case <-time.After(clockProbe):
		}
		now := k.operations.Machine(ctx, k.cell)
		if now.SMClockHertz == nil {
			return &now // no later reading has one
		}
		if best == nil || *now.SMClockHertz >= *best.SMClockHertz {
			best = &now
		}
		slow := k.gates.PState != "" && limit != nil && best.PState != nil && *best.PState > *limit
		if *best.SMClockHertz >= k.gates.SMClock.MinHertz && !slow {
			return best
		}
	}
	return best
}

// pState returns the slowest performance state that the plan accepts. It is nil if the plan wants the usual one of a
// cell and that cell was never probed.
func (k *gatekeeper) pState() *float64 {
	if k.gates.PState == "P0" {
		return number(0)
	}
	var usual *float64
	times := k.known.pStates[cell{k.cell.Model.Name, k.cell.Arm.Name}]
	for _, state := range slices.Sorted(maps.Keys(times)) {
		if usual == nil || times[state] > times[*usual] {
			usual = &state
		}
	}
	return usual
}

// probed records the values read under the probe, which are not waited for.
func (k *gatekeeper) probed(facts rundir.Gate, ok bool) error {
	facts.State = gateTimedOut
	switch {
	case facts.Value == nil:
		facts.State = gateNotObservable
	case ok:
		facts.State = gatePassed
	}
	if facts.State != gatePassed && k.gates.Strict {
		facts.State = gateFailed
	}
	k.note(facts)
	if facts.State == gateFailed {
		return fmt.Errorf("%w: %s", ErrGate, gateText(facts))
	}
	return nil
}

// gateText describes a gate for people.
func gateText(g rundir.Gate) string {
	text := strings.TrimSpace(g.Name + " " + g.State)
	if g.Value != nil && g.Limit != nil {
		text += fmt.Sprintf(" at %s, %s wanted", quantity(*g.Value, g.Unit), quantity(*g.Limit, g.Unit))
	}
	if g.Detail != "" {
		text += " (" + g.Detail + ")"
	}
	return text
}

func quantity(v float64, unit string) string {
	switch unit {
	case "bytes":
		return plan.Bytes(max(v, 0)).String()
	case "celsius":
		return fmt.Sprintf("%.4g C", v)
	case "ratio":
		return fmt.Sprintf("%.3g %%", 100*v)
	case unitPState:
		return fmt.Sprintf("P%.0f", v)
	case "hertz":
		return fmt.Sprintf("%.4g MHz", v/1e6)
	default:
		return fmt.Sprintf("%.4g %s", v, unit)
	}
}

func number(v float64) *float64 { return &v }

// sleep waits for a duration, or until the context is done.
func sleep(ctx context.Context, how time.Duration) error {
	if how <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
