package sim

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// simulatedHelp ends the help of every family: the names are vLLM's, the figures are not.
const simulatedHelp = " Simulated by umascope under vLLM's name."

// meter is what the engine counts, in vLLM's words, in a registry of its own: several engines
// can live in one process.
type meter struct {
	registry         *prometheus.Registry
	promptTokens     prometheus.Counter
	generationTokens prometheus.Counter
	ends             map[finishReason]prometheus.Counter
	firstToken       prometheus.Histogram
	queueTime        prometheus.Histogram
	perToken         prometheus.Histogram
	duration         prometheus.Histogram
}

func newMeter(model string, use func(time.Time) (Use, time.Duration)) (*meter, error) {
	labels := prometheus.Labels{string(metric.LabelModelName): model}
	m := &meter{
		registry:         prometheus.NewPedanticRegistry(),
		promptTokens:     newCounter(metric.VLLMPromptTokensTotal, labels),
		generationTokens: newCounter(metric.VLLMGenerationTokensTotal, labels),
		ends:             map[finishReason]prometheus.Counter{},
		firstToken:       newHistogram(metric.VLLMTimeToFirstTokenSeconds, labels),
		queueTime:        newHistogram(metric.VLLMRequestQueueTimeSeconds, labels),
		perToken:         newHistogram(metric.VLLMRequestTimePerOutputTokenSeconds, labels),
		duration:         newHistogram(metric.VLLME2ERequestLatencySeconds, labels),
	}
	all := []prometheus.Collector{newGauges(model, use), m.promptTokens, m.generationTokens, m.firstToken, m.queueTime, m.perToken, m.duration}
	for _, reason := range finishReasons() {
		labels := prometheus.Labels{string(metric.LabelModelName): model, string(metric.LabelFinishedReason): string(reason)}
		m.ends[reason] = newCounter(metric.VLLMRequestSuccessTotal, labels)
		all = append(all, m.ends[reason])
	}
	for _, collector := range all {
		if err := m.registry.Register(collector); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func newCounter(c metric.Counter, labels prometheus.Labels) prometheus.Counter {
	def := c.Def()
	return prometheus.NewCounter(prometheus.CounterOpts{Name: def.Name, Help: def.Help + simulatedHelp, ConstLabels: labels})
}

func newHistogram(h metric.Histogram, labels prometheus.Labels) prometheus.Histogram {
	def := h.Def()
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: def.Name, Help: def.Help + simulatedHelp, ConstLabels: labels, Buckets: h.Buckets()})
}

// observe counts one step.
func (m *meter) observe(made *outcome, now time.Time) {
	m.promptTokens.Add(float64(made.promptTokens))
	m.generationTokens.Add(float64(made.generated))
	for _, s := range made.started {
		m.queueTime.Observe(s.admitted.Sub(s.arrived).Seconds())
		m.firstToken.Observe(s.first.Sub(s.arrived).Seconds())
	}
	for _, s := range made.finished {
		m.duration.Observe(now.Sub(s.arrived).Seconds())
		if s.answerTokens > 1 {
			m.perToken.Observe(now.Sub(s.first).Seconds() / float64(s.answerTokens-1))
		}
		m.ended(s.reason, 1)
	}
}

// ended counts requests that ended for a reason.
func (m *meter) ended(reason finishReason, requests int) { m.ends[reason].Add(float64(requests)) }

// gauges shows the state at the moment of the scrape, all of it at one moment.
type gauges struct {
	model                   string
	use                     func(time.Time) (Use, time.Duration)
	running, waiting, usage *prometheus.Desc
}

func newGauges(model string, use func(time.Time) (Use, time.Duration)) gauges {
	return gauges{model, use,
		newDesc(metric.VLLMNumRequestsRunning), newDesc(metric.VLLMNumRequestsWaiting), newDesc(metric.VLLMKVCacheUsagePerc)}
}

func newDesc(g metric.Gauge) *prometheus.Desc {
	def := g.Def()
	return prometheus.NewDesc(def.Name, def.Help+simulatedHelp, def.LabelNames(), nil)
}

// Describe sends the descriptions of the gauges.
func (g gauges) Describe(descs chan<- *prometheus.Desc) {
	descs <- g.running
	descs <- g.waiting
	descs <- g.usage
}

// Collect sends their values.
func (g gauges) Collect(metrics chan<- prometheus.Metric) {
	use, _ := g.use(time.Now())
	send := func(desc *prometheus.Desc, value float64) {
		made, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value, g.model)
		if err != nil {
			made = prometheus.NewInvalidMetric(desc, err)
		}
		metrics <- made
	}
	send(g.running, float64(use.Running))
	send(g.waiting, float64(use.Waiting))
	send(g.usage, float64(use.KVTokens)/float64(use.KVCapacityTokens))
}
