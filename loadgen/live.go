package loadgen

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/chat"
)

// Values of the label direction.
const (
	directionInput  = "input"
	directionOutput = "output"
)

// mostNativeBuckets bounds a native histogram. Client_golang answers an overflow by coarser
// buckets or by a reset; 1 us to 1 h at the vocabulary's factor takes a thousand, so neither
// happens within a run.
const mostNativeBuckets = 2000

// live is the run as Prometheus sees it while it lasts.
type live struct {
	registry *prometheus.Registry
	run      string

	firstToken, scheduledFirstToken, perToken, chunkGap *prometheus.HistogramVec
	duration, scheduledDuration, queueDelay, clientLag  *prometheus.HistogramVec
	requests, tokens, events                            *prometheus.CounterVec
	inFlight, active, phase, simulated                  *prometheus.GaugeVec

	host, arm, scenario string
	phases              []string
	streaming           bool
}

// newLive registers the run's series. Counters exist from the start, at 0: a series that appears
// with its first event has no rate for it.
func newLive(run string, m model, s *settings, phases []string) *live {
	r := prometheus.NewRegistry()
	l := &live{
		registry: r, run: run, host: s.label("host"), arm: s.label("arm"), scenario: s.scenario.name, phases: phases, streaming: !s.noStream,
		firstToken:          newHistogram(r, metric.LoadTimeToFirstTokenSeconds),
		scheduledFirstToken: newHistogram(r, metric.LoadScheduledTimeToFirstTokenSeconds),
		perToken:            newHistogram(r, metric.LoadTimePerOutputTokenSeconds),
		chunkGap:            newHistogram(r, metric.LoadChunkGapSeconds),
		duration:            newHistogram(r, metric.LoadRequestDurationSeconds),
		scheduledDuration:   newHistogram(r, metric.LoadScheduledRequestDurationSeconds),
		queueDelay:          newHistogram(r, metric.LoadQueueDelaySeconds),
		clientLag:           newHistogram(r, metric.LoadClientLagSeconds),
		requests:            newCounter(r, metric.LoadRequestsTotal),
		tokens:              newCounter(r, metric.LoadTokensTotal),
		events:              newCounter(r, metric.LoadStreamEventsTotal),
		inFlight:            newGauge(r, metric.LoadRequestsInFlight),
		active:              newGauge(r, metric.RunActive),
		phase:               newGauge(r, metric.RunPhase),
		simulated:           newGauge(r, metric.RunSimulated),
	}
	b := buildVersion()
	newGauge(r, metric.LoadBuildInfo).WithLabelValues(b.Version, b.Revision, b.GoVersion).Set(1)
	l.active.WithLabelValues(l.host, run, l.arm, l.scenario).Set(1)
	l.simulated.WithLabelValues(l.host, run).Set(0)
	if m.simulated() {
		l.simulated.WithLabelValues(l.host, run).Set(1)
	}
	return l
}

// newHistogram makes a histogram with classic and native buckets at once: text scrapes see the
// former, Prometheus with native histograms switched on the latter.
func newHistogram(r *prometheus.Registry, m metric.Histogram) *prometheus.HistogramVec {
	d := m.Def()
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: d.Name, Help: d.HelpText(), Buckets: m.Buckets(),
		NativeHistogramBucketFactor:    metric.NativeFactor,
		NativeHistogramMaxBucketNumber: mostNativeBuckets,
	}, d.LabelNames())
	r.MustRegister(vec)
	return vec
}

func newCounter(r *prometheus.Registry, m metric.Counter) *prometheus.CounterVec {
	d := m.Def()
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.HelpText()}, d.LabelNames())
	r.MustRegister(vec)
	return vec
}

func newGauge(r *prometheus.Registry, m metric.Gauge) *prometheus.GaugeVec {
	d := m.Def()
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.HelpText()}, d.LabelNames())
	r.MustRegister(vec)
	return vec
}

// handler serves the page.
func (l *live) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(l.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET "+healthPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}

// enter says which phase the run is in.
func (l *live) enter(phase string) {
	for _, name := range l.phases {
		state := 0.0
		if name == phase {
			state = 1
		}
		l.phase.WithLabelValues(l.host, l.run, name).Set(state)
	}
}

// leave ends the run on the page: its figures stay, but it is no longer active.
func (l *live) leave() {
	l.active.Reset()
	l.enter("")
}

// observe returns what counts the requests of a phase.
func (l *live) observe(phase string) observer {
	labels := []string{l.run, phase}
	for _, status := range chat.Statuses() {
		l.requests.WithLabelValues(l.run, phase, string(status))
	}
	input := l.tokens.WithLabelValues(l.run, phase, directionInput)
	output := l.tokens.WithLabelValues(l.run, phase, directionOutput)
	inFlight := l.inFlight.WithLabelValues(labels...)
	return observer{
		started: inFlight.Inc,
		payload: l.events.WithLabelValues(labels...).Inc,
		ended: func(_ job, result chat.Result) {
			inFlight.Dec()
			record := result.Record
			l.requests.WithLabelValues(l.run, phase, string(record.Status)).Inc()
			if record.Status != chat.StatusOK {
				return
			}
			addTokens(input, record.TokensIn)
			addTokens(output, record.TokensOut)
			l.latencies(record, labels)
		},
	}
}

func addTokens(counter prometheus.Counter, tokens *int) {
	if tokens != nil && *tokens > 0 {
		counter.Add(float64(*tokens))
	}
}

// latencies enters the values of a request that ended ok, once, by the contract's definitions.
func (l *live) latencies(record chat.Record, labels []string) {
	enter := func(vec *prometheus.HistogramVec, value time.Duration, known bool) {
		if known {
			vec.WithLabelValues(labels...).Observe(value.Seconds())
		}
	}
	both := func(send, scheduled *prometheus.HistogramVec, of func(chat.Origin) (time.Duration, bool)) {
		value, known := of(chat.FromSend)
		enter(send, value, known)
		value, known = of(chat.FromIntended)
		enter(scheduled, value, known)
	}
	if l.streaming { // else the arrival of the whole answer would pass for one of its first token
		both(l.firstToken, l.scheduledFirstToken, record.TTFT)
	}
	both(l.duration, l.scheduledDuration, record.E2E)
	perToken, known := record.TPOT()
	enter(l.perToken, perToken, known)
	gaps := l.chunkGap.WithLabelValues(labels...)
	for gap := range record.ChunkGaps() {
		gaps.Observe(gap.Seconds())
	}
	waited, known := record.QueueDelay()
	enter(l.queueDelay, waited, known)
	lag, known := record.ClientLag()
	enter(l.clientLag, lag, known)
}
