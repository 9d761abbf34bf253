package sim

import (
	"context"
	"time"
)

// Use is what the engine uses, in plain numbers that a simulated host can follow.
type Use struct {
	// Running and Waiting are requests in the batch and in the queue.
	Running, Waiting int
	// KVTokens is how many tokens the KV cache holds, of KVCapacityTokens.
	KVTokens, KVCapacityTokens int
	// BusyRatio is the share of the time since the last report in which the engine computed, 0 to 1.
	BusyRatio float64
}

// useInterval is short beside the second at which hosts are sampled, long beside a step.
const useInterval = 100 * time.Millisecond

// reportUse calls OnUse until the context ends.
func (e *Engine) reportUse(ctx context.Context) {
	ticker := time.NewTicker(useInterval)
	defer ticker.Stop()
	last, lastBusy := time.Now(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			use, busy := e.use(now)
			if elapsed := now.Sub(last); elapsed > 0 {
				use.BusyRatio = min(1, max(0, float64(busy-lastBusy)/float64(elapsed)))
			}
			last, lastBusy = now, busy
			e.config.OnUse(use)
		}
	}
}

// use is the state now, and for how long the engine has computed so far.
func (e *Engine) use(now time.Time) (Use, time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Use{
		Running: len(e.batch.running), Waiting: len(e.batch.waiting),
		KVTokens: e.batch.held, KVCapacityTokens: e.batch.kvCapacity,
	}, e.busy.read(now)
}

// stopwatch adds up time.
type stopwatch struct {
	total time.Duration
	since time.Time // zero: stands still
}

func (w *stopwatch) start(now time.Time) {
	if w.since.IsZero() {
		w.since = now
	}
}

func (w *stopwatch) stop(now time.Time) {
	w.total, w.since = w.read(now), time.Time{}
}

func (w *stopwatch) read(now time.Time) time.Duration {
	if w.since.IsZero() {
		return w.total
	}
	return w.total + now.Sub(w.since)
}
