// Package sim is a simulated LLM engine behind an OpenAI-compatible server: prompts are read and
// tokens given out at the pace that a continuous-batching engine would have, by a model of a few
// figures (Config), while the text is drawn from a seed.
//
// It exists so that a load generator can be tested and shown without a GPU. It knows no model,
// no weights and no memory; every response says so (header X-Simulated, owner and fingerprint).
// Three parts are kept apart: what is said (answer: a pure function of seed and request), when
// (batch: plain arithmetic, and Run: the clock) and how it is written down (the handlers). It runs
// on the clock of package time, hence also on the virtual one of testing/synctest.
package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Engine is a simulated engine. Make one with New.
type Engine struct {
	config   Config
	meter    *meter
	handler  http.Handler
	accepted atomic.Uint64 // requests so far, for their ids
	wake     chan struct{} // something came while the batch was empty; capacity 1

	mu    sync.Mutex // guards all below
	open  bool       // Run is running
	batch batch
	busy  stopwatch
}

// New checks the configuration and returns an engine that does not run yet. The error names every
// field at fault.
func New(config Config) (*Engine, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	e := &Engine{config: config, batch: newBatch(config), wake: make(chan struct{}, 1)}
	meter, err := newMeter(config.Model, e.use)
	if err != nil {
		return nil, fmt.Errorf("simulated engine: %w", err)
	}
	e.meter = meter
	e.handler = e.routes()
	return e, nil
}

// Handler is the server: /v1/chat/completions, /v1/completions, /v1/models, /health and
// /metrics. Without Run it answers requests with status 503.
func (e *Engine) Handler() http.Handler { return e.handler }

// Run works on requests until the context ends; then those under way fail and it returns nil.
// The only error is that it is running already.
func (e *Engine) Run(ctx context.Context) error {
	if !e.start() {
		return errors.New("simulated engine: is running already")
	}
	var reporter sync.WaitGroup
	if e.config.OnUse != nil {
		reporter.Go(func() { e.reportUse(ctx) })
	}
	e.steps(ctx)
	e.stop()
	reporter.Wait()
	if e.config.OnUse != nil {
		use, _ := e.use(time.Now())
		e.config.OnUse(use)
	}
	return nil
}

// maxBehind is how late a step may begin and still count from when it should have: late wake-ups,
// commonly of a millisecond, then do not add up, while a long stall of the machine is not made
// up for by a burst of tokens.
const maxBehind = 20 * time.Millisecond

// stepStart is when a step counts from that should have begun at due.
func stepStart(due, now time.Time) time.Time {
	if now.Sub(due) > maxBehind {
		return now
	}
	return due
}

// steps is the loop of the engine: decide a step, let its time pass, hand out what it made.
func (e *Engine) steps(ctx context.Context) {
	jitter := rand.New(rand.NewPCG(e.config.Seed, 0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	var made outcome
	due := time.Now()
	for ctx.Err() == nil {
		now := time.Now()
		duration, busy := e.begin(now)
		if !busy {
			select {
			case <-e.wake:
			case <-ctx.Done():
			}
			due = time.Now()
			continue
		}
		due = stepStart(due, now).Add(jittered(duration, e.config.JitterRatio, jitter))
		if sleepUntil(ctx, timer, due) {
			e.finish(&made)
		}
	}
}

// sleepUntil returns false if the context ended first.
func sleepUntil(ctx context.Context, timer *time.Timer, due time.Time) bool {
	wait := time.Until(due)
	if wait <= 0 {
		return true
	}
	timer.Reset(wait)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func jittered(d time.Duration, ratio float64, random *rand.Rand) time.Duration {
	if ratio == 0 {
		return d
	}
	return time.Duration(float64(d) * (1 + ratio*(2*random.Float64()-1)))
}

// begin decides the next step and how long it takes; false when there is nothing to do.
func (e *Engine) begin(now time.Time) (time.Duration, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batch.admit(now)
	prefillTokens, decoding := e.batch.plan()
	if prefillTokens+decoding == 0 {
		e.busy.stop(now)
		return 0, false
	}
	e.busy.start(now)
	return e.config.stepTime(prefillTokens, decoding), true
}

func (e *Engine) finish(made *outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.batch.apply(made, now)
	e.meter.observe(made, now)
}

func (e *Engine) start() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open {
		return false
	}
	e.open = true
	return true
}

// stop fails whatever is under way.
func (e *Engine) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = false
	e.busy.stop(time.Now())
	e.meter.ended(finishError, e.batch.fail())
}

// running says whether requests are accepted.
func (e *Engine) running() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open
}

// submit puts a sequence into the queue; false when the engine does not run.
func (e *Engine) submit(s *sequence) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.open {
		return false
	}
	e.batch.enqueue(s)
	select {
	case e.wake <- struct{}{}:
	default:
	}
	return true
}

// leave frees what a sequence holds if it has not ended by itself.
func (e *Engine) leave(s *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.batch.remove(s) {
		e.meter.ended(finishAbort, 1)
	}
}
