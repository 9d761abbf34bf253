package collect

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// Scrape is what one scrape got: the prometheus.Collector of one page.
type Scrape struct {
	// Outcomes are in the order of the specs.
	Outcomes []Outcome
	// Mode is where the figures come from.
	Mode Mode

	build    Build
	families []families // of the health series, then of each collector
}

// healthMetrics are the series about the exporter itself.
func healthMetrics() []metric.Definer {
	return []metric.Definer{
		metric.CollectorState, metric.CollectorDurationSeconds, metric.CollectorLastSuccessTimestampSeconds,
		metric.CollectorPrivilege, metric.ExporterMode, metric.ExporterBuildInfo,
	}
}

// Describe sends what the collectors of this scrape may emit.
func (s *Scrape) Describe(descs chan<- *prometheus.Desc) {
	for _, known := range s.families {
		for _, desc := range known {
			descs <- desc
		}
	}
}

// Collect sends what is ready, and the health of every collector.
func (s *Scrape) Collect(metrics chan<- prometheus.Metric) {
	for _, outcome := range s.Outcomes {
		for _, made := range outcome.metrics {
			metrics <- made
		}
	}
	health := s.health()
	for _, made := range health.Metrics() {
		metrics <- made
	}
	if err := health.Err(); err != nil {
		metrics <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
}

func (s *Scrape) health() *Batch {
	batch := newBatch(s.families[0])
	batch.Gauge(metric.ExporterBuildInfo, 1, s.build.Version, s.build.Revision, s.build.GoVersion)
	for _, mode := range Modes() {
		batch.Gauge(metric.ExporterMode, number(mode == s.Mode), string(mode))
	}
	for _, outcome := range s.Outcomes {
		outcome.health(batch)
	}
	return batch
}

func (o Outcome) health(batch *Batch) {
	name := o.Spec.Name
	for _, state := range States() {
		batch.Gauge(metric.CollectorState, number(state == o.State), name, string(state))
	}
	batch.Gauge(metric.CollectorDurationSeconds, o.Duration.Seconds(), name)
	if !o.LastSuccess.IsZero() {
		batch.Gauge(metric.CollectorLastSuccessTimestampSeconds, float64(o.LastSuccess.UnixMilli())/1000, name)
	}
	for i, met := range o.Met {
		batch.Gauge(metric.CollectorPrivilege, number(met), name, o.Spec.Needs[i].Name)
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
