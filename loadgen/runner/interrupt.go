package runner

import (
	"context"
	"log/slog"
	"time"
)

// interrupts are the contexts that end a load early.
type interrupts struct {
	// stop ends the sending: when the caller's context is done, when the run is cut, or by halt, with its cause.
	stop context.Context
	halt context.CancelCauseFunc
	// cut cancels the requests that stop lets drain.
	cut context.Context
}

// newInterrupts derives the interrupts from the context of the run. When the context is done, requests in flight have
// the grace period to end, and wait shows it; when now is closed, they are cancelled at once. The caller calls end, after
// which nothing is logged.
func newInterrupts(ctx context.Context, now <-chan struct{}, grace time.Duration, wait func(string, time.Time), log *slog.Logger) (i interrupts, end func()) {
	i.stop, i.halt = context.WithCancelCause(ctx)
	logged := make(chan struct{})
	silence := context.AfterFunc(ctx, func() {
		defer close(logged)
		wait("requests in flight to end; interrupt again to cancel them", time.Now().Add(grace))
		log.Warn("interrupted: requests in flight may end; interrupt again to cancel them", "at_most", grace)
	})
	var release func()
	i.cut, release = untilCut(ctx, now, func() { i.halt(nil) })
	return i, func() {
		if !silence() {
			<-logged
		}
		release()
		i.halt(nil)
	}
}

// untilCut returns a context that outlives ctx and is done when now is closed. It calls first just before that.
func untilCut(ctx context.Context, now <-chan struct{}, first func()) (cut context.Context, release func()) {
	cut, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		select {
		case <-now:
			first()
			cancel()
		case <-cut.Done():
		}
	}()
	return cut, cancel
}
