package loadgen

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// newGauge makes a series of the page of an exporter.
func newGauge(r *prometheus.Registry, m metric.Gauge) *prometheus.GaugeVec {
	d := m.Def()
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.HelpText()}, d.LabelNames())
	r.MustRegister(vec)
	return vec
}

// newCounter is newGauge for a counter.
func newCounter(r *prometheus.Registry, m metric.Counter) *prometheus.CounterVec {
	d := m.Def()
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.HelpText()}, d.LabelNames())
	r.MustRegister(vec)
	return vec
}
