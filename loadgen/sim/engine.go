// Package sim is a simulated LLM engine behind an OpenAI-compatible server: prompts are read and tokens sent at the
// pace of a continuous-batching engine, by a model with a few parameters (Config), while the text is drawn from a seed.
// Its KV cache has three tiers, its pages are those of several vendors, and it simulates faults on request.
//
// It exists so that a load generator can be tested and shown without a GPU. It has no model and no weights; every
// response is marked as simulated (header X-Simulated, owner and fingerprint). Its parts are separate: the content
// (answer: a pure function of seed and request), the place of the KV blocks (cache), the timing (batch: plain
// arithmetic, and Run: the clock), the format (the handlers), the counts (tally) and their names (the pages). It uses
// the clock of package time, hence also the virtual one of testing/synctest.
package sim

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Engine is a simulated engine. Make one with New.
type Engine struct {
	config   Config
	vendor   vendor
	handler  http.Handler
	kvbm     http.Handler
	accepted atomic.Uint64 // requests so far
	wake     chan struct{} // a request came while the batch was empty; capacity 1

	reporting chan struct{} // capacity 1, full while OnUse is called; not a mutex, since a virtual clock stops while a goroutine waits for one

	mu     sync.Mutex // guards all below
	made   bool       // the KV cache exists
	open   bool       // requests are accepted
	faults Faults
	tiers  cacheConfig
	batch  batch
	busy   stopwatch
	loads  loading
	tally  tally
}

// New checks the configuration and returns an engine that does not run yet. The error names every invalid field.
func New(config Config) (*Engine, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	e := &Engine{config: config, faults: config.Faults, wake: make(chan struct{}, 1), reporting: make(chan struct{}, 1), tally: newTally()}
	e.vendor, _ = config.Vendor.find() // checked above
	e.batch = newBatch(config, e.tiers, e.onAdmission)
	e.handler = e.routes()
	e.kvbm = e.kvbmRoutes()
	return e, nil
}

// Handler returns the server: /v1/chat/completions, /v1/completions, /v1/models, /health, and the vendor's other
// routes. Unless Run runs and the weights are loaded, it answers requests with status 503.
func (e *Engine) Handler() http.Handler { return e.handler }

// KVBMHandler returns the server of KVBM's metrics alone, at /metrics, which has its own port.
func (e *Engine) KVBMHandler() http.Handler { return e.kvbm }

// Run loads the weights and processes requests until the context ends; then requests in progress fail and it returns
// nil. It fails if there is too little memory for the KV cache. Only one Run may be in progress.
func (e *Engine) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reporter sync.WaitGroup
	if e.config.OnUse != nil {
		reporter.Go(func() { e.reportUse(ctx) })
	}
	err := e.start(ctx)
	if err == nil {
		e.work(ctx)
	}
	e.stop()
	cancel()
	reporter.Wait()
	e.reportNow()
	return err
}

// start loads the weights and makes the KV cache from the memory that is then free, with new counters.
func (e *Engine) start(ctx context.Context) error {
	now := time.Now()
	e.mu.Lock()
	e.loads = loading{from: now, until: now.Add(e.config.Memory.loading())}
	e.mu.Unlock()
	timer := time.NewTimer(0)
	defer timer.Stop()
	if !sleepUntil(ctx, timer, now.Add(e.config.Memory.loading())) {
		return nil
	}
	e.reportNow() // of the weights, before FreeBytes is read
	tiers, err := e.config.tiers()
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.tiers, e.made, e.tally = tiers, true, newTally()
	e.batch = newBatch(e.config, tiers, e.onAdmission)
	e.mu.Unlock()
	e.reportNow() // of the cache, before the first request: a serving engine has its memory
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = true
	return nil
}

// stop fails all requests in progress.
func (e *Engine) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open, e.made, e.loads = false, false, loading{}
	e.busy.stop(time.Now())
	e.tally.ends[finishError] += int64(e.batch.fail())
}

// maxBehind is how late a step may begin and still count from its due time: late wake-ups, commonly of a millisecond,
// then do not add up, while a long stall of the machine does not cause a burst of tokens.
const maxBehind = 20 * time.Millisecond

// stepStart returns the time from which a step that was due at due counts.
func stepStart(due, now time.Time) time.Time {
	if now.Sub(due) > maxBehind {
		return now
	}
	return due
}

// work is the loop of the engine: plan a step, wait for its duration, deliver its tokens.
func (e *Engine) work(ctx context.Context) {
	jitter := rand.New(rand.NewPCG(e.config.Seed, 0))
	timer := time.NewTimer(0)
	defer timer.Stop()
	var made outcome
	due := time.Now()
	for ctx.Err() == nil {
		now := time.Now()
		next := e.begin(now)
		if next.empty() {
			e.idle(ctx, timer, next.until)
			due = time.Now()
			continue
		}
		took := jittered(e.config.stepTime(next.prefillTokens, next.decoding), e.config.JitterRatio, jitter)
		due = stepStart(due, now).Add(took)
		if sleepUntil(ctx, timer, due) {
			e.finish(&made)
		}
	}
}

// idle waits for a request, and at most until the time until, if it is set.
func (e *Engine) idle(ctx context.Context, timer *time.Timer, until time.Time) {
	var expired <-chan time.Time
	if !until.IsZero() {
		timer.Reset(time.Until(until))
		expired = timer.C
	}
	select {
	case <-e.wake:
	case <-expired:
	case <-ctx.Done():
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

// begin plans the next step.
func (e *Engine) begin(now time.Time) step {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.batch.admit(now)
	next := e.batch.plan(now)
	if next.empty() {
		e.busy.stop(now)
	} else {
		e.busy.start(now)
	}
	return next
}

func (e *Engine) finish(made *outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	e.batch.apply(made, now)
	e.tally.observe(made, now)
}

// onAdmission counts the tiers in which the prompt was found and decides whether the answer diverges. The batch calls
// it with the lock held.
func (e *Engine) onAdmission(s *sequence, running int) {
	e.tally.admit(s, e.config.KV.TokensPerBlock, s.admitted)
	if t := e.faults.twist(e.config.Seed, s, s.number, running); t != straight() {
		s.answer = writeTwisted(e.config, s.asked, t)
	}
}

// submit puts a sequence into the queue; false if the engine does not accept requests.
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

// leave frees the resources of a sequence that has not ended by itself.
func (e *Engine) leave(s *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.batch.remove(s) {
		e.tally.ends[finishAbort]++
	}
}

// serves reports whether the engine runs and has its model.
func (e *Engine) serves() (open, model bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open, e.open && !e.faults.ModelGone
}

// ResetCounters sets all counters of the engine's and KVBM's pages to 0, as an unnoticed restart does.
func (e *Engine) ResetCounters() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally = newTally()
	e.tally.moved = e.batch.cache.moves
}
