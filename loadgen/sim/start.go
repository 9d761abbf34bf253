package sim

import (
	"context"
	"time"

	"github.com/umascope/umascope/loadgen/sim/kvcache"
)

// loading is how far the weights are read.
type loading struct {
	from, until time.Time // from zero: not begun
}

// bytes is how many of all are read by now.
func (l loading) bytes(all int64, now time.Time) int64 {
	switch {
	case l.from.IsZero():
		return 0
	case !now.Before(l.until):
		return all
	}
	return int64(float64(all) * float64(now.Sub(l.from)) / float64(l.until.Sub(l.from)))
}

// claim makes sure that Run runs once at a time.
func (e *Engine) claim(cancel context.CancelFunc) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cancel != nil {
		return false
	}
	e.cancel, e.crashed = cancel, false
	return true
}

// start is what an engine does before it accepts requests: it loads the weights and makes the KV
// cache of what memory is free then. Whatever was there before is gone.
func (e *Engine) start(ctx context.Context) error {
	now := time.Now()
	e.load(now)
	timer := time.NewTimer(0)
	defer timer.Stop()
	if !sleepUntil(ctx, timer, now.Add(e.config.Memory.loading())) {
		return nil
	}
	// The host hears of the weights before it is asked what is free.
	use, _ := e.use(time.Now())
	e.report(use)
	tiers, err := e.config.tiers()
	if err != nil {
		return err
	}
	e.makeCache(tiers)
	// And of the cache before anybody can ask for something: an engine that serves has its memory.
	use, _ = e.use(time.Now())
	e.report(use)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = true
	return nil
}

// makeCache makes the KV cache, empty, and begins to count.
func (e *Engine) makeCache(tiers kvcache.Config) {
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

// stop fails whatever is under way, and says whether the engine crashed.
func (e *Engine) stop() (crashed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open, e.made, e.cancel, e.loads = false, false, nil, loading{}
	e.busy.stop(time.Now())
	e.tally.ends[finishError] += int64(e.batch.fail(e.crashed))
	return e.crashed
}

// resetCounters begins to count anew; the lock is held.
func (e *Engine) resetCounters() {
	e.tally = newTally()
	e.tally.moved = e.batch.cache.Moves()
}

// running says whether requests are accepted.
func (e *Engine) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// serves says whether the model is there: the engine runs and has not lost it.
func (e *Engine) serves() (open, model bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open, e.open && !e.faults.ModelGone
}

// faultOf is what happens to a request.
func (e *Engine) faultOf(number uint64) Fault {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.faults.of(e.config.Seed, number)
}
