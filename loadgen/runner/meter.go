package runner

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/workload"
)

const (
	// lastSeconds is the length of the stretch that Last figures are of, in seconds.
	lastSeconds = 10
	// historySeconds is the length of Progress.History: a curve over the widest screen.
	historySeconds = 300
)

// leastSecond is the length from which a second of the history is over: the state is taken twice a second, and the moments
// vary.
const leastSecond = int64(time.Second - redrawInterval/2)

// meter measures a run while it lasts, for people who watch it. Requests add to counters and histograms; one goroutine
// reads them, by progress.
type meter struct {
	facts atomic.Pointer[liveFacts]
	phase atomic.Pointer[phaseMeter]
	// waiting is what the phase waits for; nil for nothing in particular.
	waiting atomic.Pointer[waiting]

	// The fields below belong to the goroutine that calls progress.
	history []Second
	second  int64 // begin of the current second of the history, in nanoseconds since the run's start
	counted counts
	of      *phaseMeter // the phase that counted is of
}

// waiting is what a run waits for, and until when at most; the zero time if there is no limit.
type waiting struct {
	what  string
	until time.Time
}

// wait shows what the phase waits for, until the next phase begins.
func (m *meter) wait(what string, until time.Time) { m.waiting.Store(&waiting{what, until}) }

// enter begins a phase without load; an empty name is the time between two phases.
func (m *meter) enter(name string, now int64) {
	m.waiting.Store(nil)
	m.phase.Store(&phaseMeter{phase: workload.Phase{Name: name}, since: now})
}

// load begins the load of a phase: so many requests, 0 if the number is unknown.
func (m *meter) load(phase workload.Phase, planned int, now int64) *phaseMeter {
	p := newPhaseMeter(phase, planned, now)
	p.streaming = m.facts.Load().Streaming
	m.waiting.Store(nil)
	m.phase.Store(p)
	return p
}

// progress returns the state of the run at a time in nanoseconds since its start.
func (m *meter) progress(now int64) Progress {
	facts, phase := m.facts.Load(), m.phase.Load()
	if facts == nil {
		facts = &liveFacts{}
	}
	p := Progress{
		Schema: ProgressSchema, At: time.Now().UTC(), State: rundir.StateRunning, Run: facts.Run, Arm: facts.Arm, Scenario: facts.Scenario,
		Model: facts.Model, Simulated: facts.Simulated, ElapsedSeconds: seconds(now),
	}
	if facts.Planned {
		p.Phases = len(facts.Phases)
	}
	if w := m.waiting.Load(); w != nil {
		w.describe(&p)
	}
	if phase != m.of {
		m.of, m.counted, m.second = phase, counts{}, now
	}
	if took := now - m.second; took >= leastSecond && phase != nil {
		m.roll(phase, seconds(took))
		m.second = now
	}
	p.History = slices.Clone(m.history)
	if phase != nil {
		p.Phase, p.PhaseNumber = phase.phase.Name, 1+slices.Index(facts.Phases, phase.phase.Name)
		phase.describe(&p, now)
	}
	return p
}

// roll ends a second of the history, which took so long.
func (m *meter) roll(phase *phaseMeter, took float64) {
	now := phase.counts()
	fresh := phase.roll(took, now.less(m.counted))
	m.history = append(m.history, Second{
		Rates:          now.less(m.counted).rates(took),
		TTFTP50Seconds: percentile(fresh.ttft, 50), TTFTP99Seconds: percentile(fresh.ttft, 99),
		ChunkGapP50Seconds: percentile(fresh.gap, 50), ChunkGapP99Seconds: percentile(fresh.gap, 99),
	})
	m.history = m.history[max(0, len(m.history)-historySeconds):]
	m.counted = now
}

// percentile returns a percentile of a histogram in seconds; NaN without a value.
func percentile(h *hdr.Histogram, p float64) float64 {
	if h == nil || h.TotalCount() == 0 {
		return math.NaN()
	}
	return float64(h.ValueAtQuantile(p)) / 1e6
}

// describe adds what the run waits for to its state.
func (w waiting) describe(p *Progress) {
	p.Waiting = w.what
	if !w.until.IsZero() {
		p.WaitingSeconds = new(max(time.Until(w.until), 0).Seconds())
	}
}

func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }

// counts are those of requests at a moment.
type counts struct{ ended, tokens, events int64 }

func (c counts) less(earlier counts) counts {
	return counts{c.ended - earlier.ended, c.tokens - earlier.tokens, c.events - earlier.events}
}

func (c counts) rates(seconds float64) Rates {
	return Rates{float64(c.ended) / seconds, float64(c.tokens) / seconds, float64(c.events) / seconds}
}

// phaseMeter measures the requests of a phase. In a phase without load it has the name and the begin only.
type phaseMeter struct {
	phase   workload.Phase
	planned int
	since   int64
	loaded  bool
	// streaming is true if answers come token by token, so that they have a first token.
	streaming bool

	started, ended, tokens, events atomic.Int64
	byStatus                       []atomic.Int64 // in the order of openai.Statuses

	mutex sync.Mutex // held for the latencies of one request, and to exchange the histogram
	fresh histograms // since the last second ended

	// The fields below belong to the goroutine that calls progress. Rates and latencies change once a second.
	whole     histograms
	last      []stretch // the last seconds, lastSeconds at most
	lastRates *Rates
	ttft, gap *Latencies
}

// stretch is a second of a phase.
type stretch struct {
	histograms
	counts
	seconds float64
}

// newPhaseMeter measures a phase of so many requests from a time in nanoseconds since the run's start.
func newPhaseMeter(phase workload.Phase, planned int, since int64) *phaseMeter {
	return &phaseMeter{
		phase: phase, planned: planned, since: since, loaded: true, byStatus: make([]atomic.Int64, len(openai.Statuses())),
		fresh: newHistograms(), whole: newHistograms(),
	}
}

// observe returns the observer that counts the requests.
func (m *phaseMeter) observe() workload.Observer {
	place := map[openai.Status]int{}
	for i, status := range openai.Statuses() {
		place[status] = i
	}
	return workload.Observer{
		Started: func() { m.started.Add(1) },
		Payload: func() { m.events.Add(1) },
		Ended: func(_ workload.Job, result openai.Result) {
			record := result.Record
			m.byStatus[place[record.Status]].Add(1)
			if record.Status == openai.StatusOK {
				if record.TokensOut != nil {
					m.tokens.Add(int64(*record.TokensOut))
				}
				m.mutex.Lock()
				m.fresh.add(record, m.streaming)
				m.mutex.Unlock()
			}
			m.ended.Add(1)
		},
	}
}

func (m *phaseMeter) counts() counts {
	return counts{m.ended.Load(), m.tokens.Load(), m.events.Load()}
}

// roll ends a second and returns its latencies.
func (m *phaseMeter) roll(took float64, of counts) histograms {
	if !m.loaded {
		return histograms{}
	}
	var next histograms
	if len(m.last) < lastSeconds {
		next = newHistograms()
	} else { // use the oldest histograms again
		next = m.last[0].histograms
		next.reset()
		m.last = slices.Delete(m.last, 0, 1)
	}
	m.mutex.Lock()
	fresh := m.fresh
	m.fresh = next
	m.mutex.Unlock()
	m.whole.merge(fresh)
	m.last = append(m.last, stretch{fresh, of, took})
	m.recompute()
	return fresh
}

// recompute computes the figures of the last seconds, and the latencies of the phase.
func (m *phaseMeter) recompute() {
	sum, took, together := counts{}, 0.0, newHistograms()
	for _, s := range m.last {
		sum = counts{sum.ended + s.ended, sum.tokens + s.tokens, sum.events + s.events}
		took += s.seconds
		together.merge(s.histograms)
	}
	m.lastRates = new(sum.rates(took))
	m.ttft, m.gap = latenciesOf(m.whole.ttft, together.ttft), latenciesOf(m.whole.gap, together.gap)
}

// describe adds the phase to the state of its run.
func (m *phaseMeter) describe(p *Progress, now int64) {
	elapsed := now - m.since
	p.PhaseElapsedSeconds = seconds(elapsed)
	if left, known := m.left(time.Duration(elapsed), int(m.ended.Load())); known {
		p.PhaseLeftSeconds = new(left.Seconds())
	}
	if !m.loaded {
		return
	}
	p.Requests = m.requests()
	if elapsed > 0 {
		p.PhaseRates = new(m.counts().rates(seconds(elapsed)))
	}
	p.LastRates, p.TTFT, p.ChunkGap = m.lastRates, m.ttft, m.gap
}

// requests counts the requests. Those that ended are read first, so that none has ended before it started.
func (m *phaseMeter) requests() *RequestCounts {
	c := RequestCounts{Planned: m.planned, Ended: m.ended.Load()}
	for i, status := range openai.Statuses() {
		if n := m.byStatus[i].Load(); n > 0 && status != openai.StatusOK {
			if c.FailedBy == nil {
				c.FailedBy = map[openai.Status]int64{}
			}
			c.FailedBy[status] = n
			c.Failed += n
		}
	}
	c.Started = m.started.Load()
	c.InFlight = c.Started - c.Ended
	return &c
}

// line returns the progress of the phase in one line.
func (m *phaseMeter) line(now int64) string {
	requests, elapsed := m.requests(), time.Duration(now-m.since)
	total := ""
	if m.planned > 0 {
		total = fmt.Sprintf("/%d", m.planned)
	}
	rate := 0.0
	if elapsed > 0 {
		rate = float64(requests.Ended) / elapsed.Seconds()
	}
	return fmt.Sprintf("%s: %d%s requests, %.2f/s, %d in flight, %d failed, %s",
		m.phase.Name, requests.Ended, total, rate, requests.InFlight, requests.Failed, leftText(m.left(elapsed, int(requests.Ended))))
}

// left estimates the remaining time of the phase: until its duration is over, or until the remaining requests have
// ended at the rate so far, whichever is first. It is 0 when the duration is over.
func (m *phaseMeter) left(elapsed time.Duration, ended int) (left time.Duration, known bool) {
	if d := m.phase.Limit.Duration; d > 0 {
		if left, known = d-elapsed, true; left <= 0 {
			return 0, true
		}
	}
	if m.planned > 0 && ended > 0 {
		byRate := elapsed / time.Duration(ended) * time.Duration(m.planned-ended)
		if !known || byRate < left {
			left, known = byRate, true
		}
	}
	return left, known
}

// leftText describes the remaining time of a phase.
func leftText(left time.Duration, known bool) string {
	switch {
	case !known:
		return "unknown time left"
	case left == 0:
		return "waiting for those in flight"
	}
	return left.Round(time.Second).String() + " left"
}

// histograms are those of the latencies in microseconds, with two significant digits.
type histograms struct{ ttft, gap *hdr.Histogram }

// longestLatency is the longest latency that is kept apart from longer ones, in microseconds: an hour.
const longestLatency = int64(time.Hour / time.Microsecond)

func newHistograms() histograms {
	return histograms{hdr.New(1, longestLatency, 2), hdr.New(1, longestLatency, 2)}
}

// add adds the latencies of a request that ended ok.
func (l histograms) add(record openai.Record, streaming bool) {
	enter := func(to *hdr.Histogram, value time.Duration) {
		_ = to.RecordValue(min(max(value.Microseconds(), 0), longestLatency)) // it fails outside of the range only
	}
	if ttft, known := record.TTFT(openai.FromSend); known && streaming {
		enter(l.ttft, ttft)
	}
	for gap := range record.ChunkGaps() {
		enter(l.gap, gap)
	}
}

func (l histograms) merge(other histograms) {
	l.ttft.Merge(other.ttft)
	l.gap.Merge(other.gap)
}

func (l histograms) reset() {
	l.ttft.Reset()
	l.gap.Reset()
}

// latenciesOf returns the quantiles of a latency, or nil if it has no value.
func latenciesOf(phase, last *hdr.Histogram) *Latencies {
	l := Latencies{Phase: quantilesOf(phase), Last: quantilesOf(last)}
	if l.Phase == nil {
		return nil
	}
	return &l
}

func quantilesOf(h *hdr.Histogram) *Quantiles {
	if h.TotalCount() == 0 {
		return nil
	}
	return &Quantiles{h.TotalCount(), float64(h.ValueAtQuantile(50)) / 1e6, float64(h.ValueAtQuantile(99)) / 1e6}
}
