package collector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// start starts a run of collectors that are not running, with a shared context and deadline. The context is not that of
// the scrape that started the run, since other scrapes wait for it too. Runner.mu is held.
func (r *Runner) start(together []*collector, sample *Sample, deadline time.Time) {
	wait := time.Until(deadline)
	ctx, cancel := context.WithDeadline(context.Background(), deadline.Add(-margin(wait)))
	runs := make([]*run, len(together))
	for i, c := range together {
		runs[i] = &run{collector: c, started: time.Now(), settled: make(chan struct{})}
		c.running = runs[i]
	}
	overdue := time.AfterFunc(wait, func() { r.overdue(runs) })
	var returning sync.WaitGroup
	for _, one := range runs {
		returning.Go(func() { r.returned(one, one.collector.read(ctx, r.host, sample)) })
	}
	go func() {
		returning.Wait()
		overdue.Stop()
		cancel()
	}()
}

// margin is how long before the deadline of a collection its collectors are asked to end.
func margin(whole time.Duration) time.Duration { return min(whole/10, 250*time.Millisecond) }

// returned settles a run with its result.
func (r *Runner) returned(one *run, outcome Outcome) {
	if logChange := r.settle(one, outcome, true); logChange != nil {
		logChange()
	}
}

// overdue settles the runs that have not returned by their deadline. What they read after it is too old to serve. The
// log comes last and without the lock: a blocked log must not block scrapes.
func (r *Runner) overdue(runs []*run) {
	var changes []func()
	for _, one := range runs {
		outcome := Outcome{Spec: one.collector.spec, State: Failed, Err: fmt.Errorf(
			"has not ended by its deadline of %v and is not started again until it does", time.Since(one.started).Round(time.Millisecond))}
		if logChange := r.settle(one, outcome, false); logChange != nil {
			changes = append(changes, logChange)
		}
	}
	for _, logChange := range changes {
		logChange()
	}
}

// settle publishes the outcome of a run, unless it has one. It returns how to log the condition, nil if it has not
// changed. A collector that has returned is free in the same moment, so that a settled run cannot be mistaken for one
// in flight.
func (r *Runner) settle(one *run, outcome Outcome, returned bool) (logChange func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := one.collector
	if returned {
		c.running = nil
	}
	if one.isSettled() {
		return nil
	}
	outcome.Duration = time.Since(one.started)
	if outcome.State == OK {
		c.lastSuccess = r.host.Now()
	}
	one.outcome, one.ended = outcome, time.Now()
	c.latest = one
	close(one.settled)
	before := c.condition
	if c.condition = outcome.condition(); c.condition == before {
		return nil
	}
	lacks := c.newLacks(outcome)
	return func() { r.log(outcome, before == "", lacks) }
}

// newLacks are the unmet needs that were met at the last check that gave an answer.
func (c *collector) newLacks(outcome Outcome) []Need {
	if outcome.State == Absent || outcome.Met == nil {
		return nil
	}
	before := c.lacking
	c.lacking = nil
	var lacks []Need
	for _, need := range outcome.Unmet() {
		c.lacking = append(c.lacking, need.Name)
		if !slices.Contains(before, need.Name) {
			lacks = append(lacks, need)
		}
	}
	return lacks
}

// log logs a condition that has changed, and new unmet needs. A first state of OK is logged at debug level only.
func (r *Runner) log(outcome Outcome, first bool, lacks []Need) {
	level := slog.LevelInfo
	switch {
	case outcome.State == Failed:
		level = slog.LevelWarn
	case outcome.State == OK && first:
		level = slog.LevelDebug
	}
	attrs := []slog.Attr{slog.String("collector", outcome.Spec.Name), slog.String("state", string(outcome.State))}
	if outcome.Err != nil {
		attrs = append(attrs, slog.String("reason", outcome.Reason()))
	}
	if stack := stackOf(outcome.Err); stack != nil {
		attrs = append(attrs, slog.String("stack", string(stack)))
	}
	r.settings.Logger.LogAttrs(context.Background(), level, "collector changed", attrs...)
	for _, need := range lacks {
		r.settings.Logger.Warn("collector lacks access", "collector", outcome.Spec.Name,
			"needs", need.Name, "cost", need.Cost, "fix", need.Fix)
	}
}

// read runs the collector with a private batch. It checks the needs here and not in the page, because that reads the
// host too and may hang or panic like the rest.
func (c *collector) read(ctx context.Context, host Host, sample *Sample) (outcome Outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			outcome = Outcome{Spec: c.spec, State: Failed, Err: &panicError{cause, debug.Stack()}}
		}
	}()
	if err := sample.begin(); err != nil {
		return Outcome{Spec: c.spec, State: Failed, Err: err}
	}
	batch := newBatch(c.families)
	outcome = Outcome{Spec: c.spec, Sample: sample}
	err := c.collect(ctx, sample, batch)
	outcome.Met = c.needsMet(host, batch) // now, since some needs show only when the collector is refused
	found, refused := batch.close()
	if refused != nil {
		// A refused value is a mistake of the collector: it must not hide behind ErrAbsent.
		err = fmt.Errorf("refused: %w%s", refused, andAlso(err))
	}
	outcome.State, outcome.Err, outcome.families, outcome.Notes = stateOf(err), err, found, batch.notes
	return outcome
}

func andAlso(err error) string {
	if err == nil {
		return ""
	}
	return "; " + err.Error()
}

// needsMet combines the host's answer with what the collector was refused.
func (c *collector) needsMet(host Host, batch *Batch) []bool {
	met := make([]bool, len(c.spec.Needs))
	for i, need := range c.spec.Needs {
		met[i] = !slices.Contains(batch.lacking, need.Name) && (need.Met == nil || need.Met(host))
	}
	return met
}

// panicError is a contained panic. The stack is for the log, not for pages.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.cause) }

// stackOf returns the stack of a contained panic.
func stackOf(err error) []byte {
	var contained *panicError
	if errors.As(err, &contained) {
		return contained.stack
	}
	return nil
}
