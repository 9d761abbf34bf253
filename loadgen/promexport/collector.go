package promexport

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// collector computes the series at every scrape: it keeps no counts, and a deleted run has no series.
type collector struct{ results *Results }

// Describe sends nothing: the set of series depends on the runs.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the series of the runs and comparisons that exist now.
func (c collector) Collect(into chan<- prometheus.Metric) {
	shown, out := c.results.Look(), emitter{into, map[string]*prometheus.Desc{}}
	for _, r := range shown.Runs {
		out.run(r)
		for name, z := range shown.Scores[r.info.run] {
			out.gauge(metric.RunZScore, z, r.info.run, name)
		}
	}
	for _, c := range shown.Comparisons {
		out.all(c.series)
	}
	for state, n := range map[string]int{
		metric.ResultsShown: len(shown.Runs), metric.ResultsLeftOut: shown.LeftOut,
		metric.ResultsUnfinished: shown.Unfinished, metric.ResultsUnreadable: shown.Unreadable,
	} {
		out.gauge(metric.ResultsRuns, float64(n), state)
	}
}

// emitter emits series by their definitions.
type emitter struct {
	into  chan<- prometheus.Metric
	descs map[string]*prometheus.Desc // by name: a page has thousands of series of a family
}

func (e emitter) describe(d metric.Def) *prometheus.Desc {
	desc, known := e.descs[d.Name]
	if !known {
		desc = prometheus.NewDesc(d.Name, d.HelpText(), d.LabelNames(), nil)
		e.descs[d.Name] = desc
	}
	return desc
}

func (e emitter) gauge(m metric.Gauge, v float64, labels ...string) {
	e.into <- prometheus.MustNewConstMetric(e.describe(m.Def()), prometheus.GaugeValue, v, labels...)
}

func (e emitter) all(values []series) {
	for _, s := range values {
		e.gauge(*s.family, s.value, s.labels...)
	}
}

func (e emitter) run(r Run) {
	e.all(r.series)
	for _, l := range r.latencies {
		e.into <- prometheus.MustNewConstSummary(e.describe(l.family.Def()), l.requests, l.sum, l.quantiles, r.info.run)
	}
}
