package gauge

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// collector makes the series anew for every scrape: nothing is counted here, and a run that is gone has
// none.
type collector struct{ shelf *Shelf }

// Describe sends nothing: which series there are depends on the runs.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the series of what lies on the shelf now.
func (c collector) Collect(into chan<- prometheus.Metric) {
	shown, out := c.shelf.Look(), emitter{into}
	for _, r := range shown.Runs {
		out.run(r)
		for name, z := range shown.Scores[r.info.run] {
			out.gauge(metric.RunZScore, z, r.info.run, name)
		}
	}
	for _, c := range shown.Comparisons {
		out.comparison(c)
	}
	for state, n := range map[string]int{
		metric.ResultsShown: len(shown.Runs), metric.ResultsLeftOut: shown.LeftOut,
		metric.ResultsUnfinished: shown.Unfinished, metric.ResultsUnreadable: shown.Unreadable,
	} {
		out.gauge(metric.ResultsRuns, float64(n), state)
	}
}

// emitter writes series by their definitions.
type emitter struct{ into chan<- prometheus.Metric }

func describe(d metric.Def) *prometheus.Desc {
	return prometheus.NewDesc(d.Name, d.HelpText(), d.LabelNames(), nil)
}

func (e emitter) gauge(m metric.Gauge, v float64, labels ...string) {
	e.into <- prometheus.MustNewConstMetric(describe(m.Def()), prometheus.GaugeValue, v, labels...)
}

// state is a statement as a gauge.
func (e emitter) state(m metric.Gauge, holds bool, labels ...string) {
	v := 0.0
	if holds {
		v = 1
	}
	e.gauge(m, v, labels...)
}

func (e emitter) run(r Run) {
	i := r.info
	e.gauge(metric.RunInfo, 1, i.host, i.run, i.arm, i.scenario, i.engine, i.model)
	for _, l := range r.labels {
		e.gauge(metric.RunLabel, 1, i.run, l.name, l.value)
	}
	e.state(metric.RunValid, r.valid, i.run)
	e.state(metric.RunSimulated, r.simulated, i.host, i.run)
	if r.mode != "" {
		e.gauge(metric.RunTelemetryMode, 1, i.run, r.mode)
	}
	e.moment(metric.RunStartTimestampSeconds, r.started, i.run)
	e.moment(metric.RunEndTimestampSeconds, r.ended, i.run)
	for _, l := range r.latencies {
		e.into <- prometheus.MustNewConstSummary(describe(l.family.Def()), l.requests, l.sum, l.quantiles, i.run)
	}
	for _, v := range r.values {
		e.gauge(v.family, v.value, i.run)
	}
}

// moment is a time of day; none if it is not known.
func (e emitter) moment(m metric.Gauge, at time.Time, labels ...string) {
	if !at.IsZero() {
		e.gauge(m, float64(at.UnixMilli())/1e3, labels...)
	}
}

func (e emitter) comparison(c comparison) {
	e.state(metric.ComparisonSimulated, c.Simulated, c.Name)
	for _, r := range c.Rows {
		labels := []string{r.Of, r.Metric, r.Baseline, r.Candidate, r.Scenario, r.Model}
		for _, of := range []struct {
			family metric.Gauge
			value  *float64
		}{{metric.ComparisonRatio, r.Ratio}, {metric.ComparisonRatioLower, r.Lower}, {metric.ComparisonRatioUpper, r.Upper}} {
			if of.value != nil {
				e.gauge(of.family, *of.value, labels...)
			}
		}
		e.state(metric.ComparisonConfounded, r.Confounded, labels...)
		e.gauge(metric.ComparisonVerdict, 1, append(labels, r.Verdict)...)
	}
}
