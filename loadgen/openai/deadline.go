package openai

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// deadlineError names the deadline that has passed.
type deadlineError struct {
	missed string
	limit  time.Duration
}

func (e *deadlineError) Error() string { return fmt.Sprintf("%s within %s", e.missed, e.limit) }

// deadline cancels a request that makes no progress: first until the first payload, then from
// payload to payload, and after [DONE] a drain. It belongs to one goroutine.
type deadline struct {
	cancel context.CancelCauseFunc
	chunk  time.Duration
	timer  *time.Timer // nil: no limit now
	gaps   *gapLimit   // nil: not yet, or no limit
	began  bool        // the first payload has come
}

// watch starts a request's deadlines; a limit of 0 is none. stop must be called.
func watch(parent context.Context, request, first, chunk time.Duration) (ctx context.Context, d *deadline, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	d = &deadline{cancel: cancel, chunk: chunk}
	d.arm(first, "no first token")
	release := func() {}
	if request > 0 {
		ctx, release = context.WithTimeoutCause(ctx, request, &deadlineError{"request not finished", request})
	}
	return ctx, d, func() {
		d.arm(0, "")
		release()
		cancel(nil)
	}
}

// arm replaces the current limit.
func (d *deadline) arm(limit time.Duration, missed string) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if d.gaps != nil {
		d.gaps.stop()
		d.gaps = nil
	}
	if limit > 0 {
		d.timer = time.AfterFunc(limit, func() { d.cancel(&deadlineError{missed, limit}) })
	}
}

// payload restarts the deadline: payload has just come.
func (d *deadline) payload() {
	switch {
	case !d.began:
		d.began = true
		d.arm(0, "")
		if d.chunk > 0 {
			d.gaps = newGapLimit(d.chunk, d.cancel)
		}
	case d.gaps != nil:
		d.gaps.latest.Store(int64(time.Since(d.gaps.start)))
	}
}

// gapLimit cancels a request after a time without payload. Payload only notes when it came: to reset a timer for each
// token costs 2 % of a client with 1,000 streams.
type gapLimit struct {
	limit  time.Duration
	cancel context.CancelCauseFunc
	start  time.Time
	latest atomic.Int64 // ns after start

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

func newGapLimit(limit time.Duration, cancel context.CancelCauseFunc) *gapLimit {
	g := &gapLimit{limit: limit, cancel: cancel, start: time.Now()}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.timer = time.AfterFunc(limit, g.check)
	return g
}

// check runs when a gap may have lasted for the limit.
func (g *gapLimit) check() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return
	}
	if rest := g.limit - (time.Since(g.start) - time.Duration(g.latest.Load())); rest > 0 {
		g.timer.Reset(rest)
		return
	}
	g.cancel(&deadlineError{"no further token", g.limit})
}

func (g *gapLimit) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	g.timer.Stop()
}
