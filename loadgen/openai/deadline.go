package openai

import (
	"context"
	"fmt"
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
	if limit > 0 {
		d.timer = time.AfterFunc(limit, func() { d.cancel(&deadlineError{missed, limit}) })
	}
}

// payload restarts the deadline: payload has just come.
func (d *deadline) payload() {
	if !d.began {
		d.began = true
		d.arm(d.chunk, "no further token")
	} else if d.timer != nil {
		d.timer.Reset(d.chunk)
	}
}
