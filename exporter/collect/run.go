package collect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"
)

// start begins a run of a collector that is not running. Runner.mu is held.
func (r *Runner) start(c *collector, sample *Sample, deadline time.Time) {
	one := &run{sample: sample, started: time.Now(), settled: make(chan struct{})}
	c.running = one
	go r.supervise(c, one, deadline)
}

// supervise runs the collector and settles its outcome, at the latest at the deadline. It stays
// until the collector has returned, however long that takes. The context is not that of the
// scrape that began the run: others wait for it too.
func (r *Runner) supervise(c *collector, one *run, deadline time.Time) {
	ctx, cancel := context.WithDeadline(context.Background(), deadline.Add(-margin(time.Until(deadline))))
	defer cancel()
	overdue := time.NewTimer(time.Until(deadline))
	defer overdue.Stop()
	returned := make(chan Outcome, 1)
	go func() { returned <- c.read(ctx, r.host, one.sample) }()
	select {
	case outcome := <-returned:
		r.settle(c, one, outcome, true)
	case <-overdue.C:
		r.settle(c, one, c.overdue(time.Since(one.started)), false)
		<-returned
		r.release(c)
	}
}

func (c *collector) overdue(after time.Duration) Outcome {
	return Outcome{Spec: c.spec, State: Failed, Err: fmt.Errorf(
		"has not ended by its deadline of %v and is not started again until it does", after.Round(time.Millisecond))}
}

// margin is how long before the deadline of a collection its collectors are asked to end.
func margin(whole time.Duration) time.Duration { return min(whole/10, 250*time.Millisecond) }

// settle publishes the outcome of a run and logs its condition if that is news. It logs without
// the lock: a blocked log must not block scrapes.
func (r *Runner) settle(c *collector, one *run, outcome Outcome, returned bool) {
	outcome.Duration = time.Since(one.started)
	before := r.publish(c, one, outcome, returned)
	if before != outcome.condition() {
		r.log(outcome, before == "")
	}
}

// publish returns the condition before. A collector that has returned is free in the same moment:
// nobody may mistake a settled run for one in flight.
func (r *Runner) publish(c *collector, one *run, outcome Outcome, returned bool) (before string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if returned {
		c.running = nil
	}
	if outcome.State == OK {
		c.lastSuccess = time.Now()
	}
	one.outcome = outcome
	close(one.settled)
	before, c.condition = c.condition, outcome.condition()
	return before
}

// release frees a collector that returned after its deadline. What it read is too old to serve.
func (r *Runner) release(c *collector) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.running = nil
}

// log tells of a condition that is news. That a collector works from the first is none.
func (r *Runner) log(outcome Outcome, first bool) {
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
	for _, need := range outcome.Unmet() {
		r.settings.Logger.Warn("collector lacks access", "collector", outcome.Spec.Name,
			"needs", need.Name, "cost", need.Cost, "mend", need.Mend)
	}
}

// read runs the collector with a private batch. It looks at the needs here and not in the page,
// because that reads the host too and may hang or panic like the rest.
func (c *collector) read(ctx context.Context, host Host, sample *Sample) (outcome Outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			outcome = Outcome{Spec: c.spec, State: Failed, Err: &panicError{cause, debug.Stack()}}
		}
	}()
	batch := newBatch(c.families)
	outcome = Outcome{Spec: c.spec, Sample: sample}
	err := c.collect(ctx, sample, batch)
	outcome.Met = c.needsMet(host, batch) // now, since some can be told only by what was refused
	found, refused := batch.close()
	if refused != nil {
		// A refused value is a mistake of the collector: it must not hide behind ErrAbsent.
		err = fmt.Errorf("refused: %w%s", refused, andAlso(err))
	}
	outcome.State, outcome.Err, outcome.families = stateOf(err), err, found
	return outcome
}

func andAlso(err error) string {
	if err == nil {
		return ""
	}
	return "; " + err.Error()
}

// needsMet asks the host and what the collector was refused.
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
