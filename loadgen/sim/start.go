package sim

import (
	"context"
	"time"
)

// loading is the progress of reading the weights.
type loading struct {
	from, until time.Time // from is zero before the start
}

// bytes returns how many of all bytes are read by now.
func (l loading) bytes(all int64, now time.Time) int64 {
	switch {
	case l.from.IsZero():
		return 0
	case !now.Before(l.until):
		return all
	}
	return int64(float64(all) * float64(now.Sub(l.from)) / float64(l.until.Sub(l.from)))
}

// claim ensures that Run runs once at a time.
func (e *Engine) claim(cancel context.CancelFunc) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cancel != nil {
		return false
	}
	e.cancel, e.crashed = cancel, false
	return true
}

// start prepares the engine before it accepts requests: it loads the weights and makes the KV cache from the memory
// that is then free. It drops all earlier state.
func (e *Engine) start(ctx context.Context) error {
	now := time.Now()
	e.load(now)
	timer := time.NewTimer(0)
	defer timer.Stop()
	if !sleepUntil(ctx, timer, now.Add(e.config.Memory.loading())) {
		return nil
	}
	// OnUse reports the weights before FreeBytes is read.
	use, _ := e.use(time.Now())
	e.report(use)
	tiers, err := e.config.tiers()
	if err != nil {
		return err
	}
	e.makeCache(tiers)
	// OnUse reports the cache before the first request: a serving engine has its memory.
	use, _ = e.use(time.Now())
	e.report(use)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = true
	return nil
}

// makeCache makes an empty KV cache and resets the counters.
func (e *Engine) makeCache(tiers cacheConfig) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tiers, e.made = tiers, true
	e.batch = newBatch(e.config, tiers, e.onAdmission)
	e.faults.ModelGone = e.config.Faults.ModelGone
	e.resetCounters()
	e.told = lookup{}
	e.tellTiers(time.Now())
}

func (e *Engine) load(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loads = loading{from: now, until: now.Add(e.config.Memory.loading())}
}

// stop fails all requests in progress, and reports whether the engine crashed.
func (e *Engine) stop() (crashed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open, e.made, e.cancel, e.loads = false, false, nil, loading{}
	e.busy.stop(time.Now())
	e.tally.ends[finishError] += int64(e.batch.fail(e.crashed))
	return e.crashed
}

// resetCounters starts counting from 0; the lock is held.
func (e *Engine) resetCounters() {
	e.tally = newTally()
	e.tally.moved = e.batch.cache.Moves()
}

// running reports whether requests are accepted.
func (e *Engine) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// serves reports whether the engine runs and has its model.
func (e *Engine) serves() (open, model bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open, e.open && !e.faults.ModelGone
}

// faultOf returns the fault of a request.
func (e *Engine) faultOf(number uint64) Fault {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.faults.of(e.config.Seed, number)
}
