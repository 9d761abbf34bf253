package runner

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/workload"
)

// mostNativeBuckets is the most buckets of a native histogram. On overflow client_golang merges buckets or resets the
// histogram. The range from 1 us to 1 h takes a thousand buckets at the vocabulary's factor, so no run overflows.
const mostNativeBuckets = 2000

// liveFacts are the facts of a run at its begin.
type liveFacts struct {
	Run, Arm, Scenario string
	// Model is the model that the server names; empty while it is not known.
	Model string
	// Hosts are the machines that the run measures: an engine may span several, and their series are joined to the run
	// by these names. The run is filed under the first.
	Hosts []string
	// Phases are the names of all phases that the run may enter; those of the load only if Planned is true.
	Phases  []string
	Planned bool
	// Version, Revision and GoVersion describe this program.
	Version, Revision, GoVersion string
	// Streaming is true if answers come token by token, so that they have a first token.
	Streaming bool
	// Simulated is true if the engine reports that it is simulated.
	Simulated bool
	// Good reports whether a request that ended ok met every objective. It is nil without objectives.
	Good func(openai.Record) bool
}

// liveRun is the page of a run for Prometheus while the run lasts.
type liveRun struct {
	registry *prometheus.Registry
	facts    liveFacts

	firstToken, scheduledFirstToken, perToken, chunkGap *prometheus.HistogramVec
	duration, scheduledDuration, queueDelay, clientLag  *prometheus.HistogramVec
	requests, good, tokens, events                      *prometheus.CounterVec
	inFlight, active, phase, simulated                  *prometheus.GaugeVec
}

// newLiveRun registers the series of a run that begins. Counters exist from the start, at 0: a counter that appears
// with its first event has no rate for that event.
func newLiveRun(f liveFacts) *liveRun {
	registry := prometheus.NewRegistry()
	r := &liveRun{
		registry: registry, facts: f,
		firstToken:          newHistogram(registry, metric.LoadTimeToFirstTokenSeconds),
		scheduledFirstToken: newHistogram(registry, metric.LoadScheduledTimeToFirstTokenSeconds),
		perToken:            newHistogram(registry, metric.LoadTimePerOutputTokenSeconds),
		chunkGap:            newHistogram(registry, metric.LoadChunkGapSeconds),
		duration:            newHistogram(registry, metric.LoadRequestDurationSeconds),
		scheduledDuration:   newHistogram(registry, metric.LoadScheduledRequestDurationSeconds),
		queueDelay:          newHistogram(registry, metric.LoadQueueDelaySeconds),
		clientLag:           newHistogram(registry, metric.LoadClientLagSeconds),
		requests:            newCounter(registry, metric.LoadRequestsTotal),
		good:                newCounter(registry, metric.LoadGoodRequestsTotal),
		tokens:              newCounter(registry, metric.LoadTokensTotal),
		events:              newCounter(registry, metric.LoadStreamEventsTotal),
		inFlight:            newGauge(registry, metric.LoadRequestsInFlight),
		active:              newGauge(registry, metric.RunActive),
		phase:               newGauge(registry, metric.RunPhase),
		simulated:           newGauge(registry, metric.RunSimulated),
	}
	newGauge(registry, metric.LoadBuildInfo).WithLabelValues(f.Version, f.Revision, f.GoVersion).Set(1)
	for _, host := range f.Hosts {
		r.active.WithLabelValues(host, f.Run, f.Arm, f.Scenario).Set(1)
		r.simulated.WithLabelValues(host, f.Run).Set(boolNumber(f.Simulated))
	}
	return r
}

// newHistogram makes a histogram with classic and native buckets: text scrapes see the classic ones, Prometheus with
// native histograms enabled the native ones.
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
func (r *liveRun) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET "+webserver.HealthPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	return mux
}

// enter sets the phase of the run.
func (r *liveRun) enter(phase string) {
	for _, host := range r.facts.Hosts {
		for _, name := range r.facts.Phases {
			r.phase.WithLabelValues(host, r.facts.Run, name).Set(boolNumber(name == phase))
		}
	}
}

// boolNumber returns 1 for true and 0 for false.
func boolNumber(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// leave ends the run on the page: its figures stay, but it is no longer active.
func (r *liveRun) leave() {
	r.active.Reset()
	r.enter("")
}

// observe returns the observer that counts the requests of a phase.
func (r *liveRun) observe(phase string) workload.Observer {
	labels := []string{r.facts.Run, phase}
	for _, status := range openai.Statuses() {
		r.requests.WithLabelValues(r.facts.Run, phase, string(status))
	}
	input := r.tokens.WithLabelValues(r.facts.Run, phase, metric.DirectionInput)
	output := r.tokens.WithLabelValues(r.facts.Run, phase, metric.DirectionOutput)
	inFlight := r.inFlight.WithLabelValues(labels...)
	countGood := r.goodRequests(labels)
	return workload.Observer{
		Started: inFlight.Inc,
		Payload: r.events.WithLabelValues(labels...).Inc,
		Ended: func(_ workload.Job, result openai.Result) {
			inFlight.Dec()
			record := result.Record
			r.requests.WithLabelValues(r.facts.Run, phase, string(record.Status)).Inc()
			if record.Status != openai.StatusOK {
				return
			}
			countGood(record)
			addTokens(input, record.TokensIn)
			addTokens(output, record.TokensOut)
			r.latencies(record, labels)
		},
	}
}

// goodRequests returns a function that counts a request that ended ok if it met every objective. Without objectives
// the series does not exist.
func (r *liveRun) goodRequests(labels []string) func(openai.Record) {
	if r.facts.Good == nil {
		return func(openai.Record) {}
	}
	good := r.good.WithLabelValues(labels...)
	return func(record openai.Record) {
		if r.facts.Good(record) {
			good.Inc()
		}
	}
}

func addTokens(counter prometheus.Counter, tokens *int) {
	if tokens != nil && *tokens > 0 {
		counter.Add(float64(*tokens))
	}
}

// latencies observes the latencies of a request that ended ok, as the contract defines them.
func (r *liveRun) latencies(record openai.Record, labels []string) {
	enter := func(vec *prometheus.HistogramVec, value time.Duration, known bool) {
		if known {
			vec.WithLabelValues(labels...).Observe(value.Seconds())
		}
	}
	both := func(send, scheduled *prometheus.HistogramVec, of func(openai.Origin) (time.Duration, bool)) {
		value, known := of(openai.FromSend)
		enter(send, value, known)
		value, known = of(openai.FromIntended)
		enter(scheduled, value, known)
	}
	if r.facts.Streaming { // without streaming the whole answer arrives at once, and would count as its first token
		both(r.firstToken, r.scheduledFirstToken, record.TTFT)
	}
	both(r.duration, r.scheduledDuration, record.E2E)
	perToken, known := record.TPOT()
	enter(r.perToken, perToken, known)
	gaps := r.chunkGap.WithLabelValues(labels...)
	for gap := range record.ChunkGaps() {
		gaps.Observe(gap.Seconds())
	}
	waited, known := record.QueueDelay()
	enter(r.queueDelay, waited, known)
	lag, known := record.ClientLag()
	enter(r.clientLag, lag, known)
}
