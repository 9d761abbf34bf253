package collector

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/metric"
)

// Scrape is the result of one scrape: the prometheus.Gatherer of one page.
type Scrape struct {
	// Outcomes are in the order of the specs.
	Outcomes []Outcome
	// Mode is the origin of the figures.
	Mode Mode

	build          Build
	healthFamilies families
}

// healthMetrics are the series about the exporter itself.
func healthMetrics() []metric.Definer {
	return []metric.Definer{
		metric.CollectorState, metric.CollectorDurationSeconds, metric.CollectorLastSuccessTimestampSeconds,
		metric.CollectorPrivilege, metric.ExporterMode, metric.ExporterBuildInfo,
	}
}

// Gather returns the finished families, and the health of every collector, by name. The families are shared with other
// scrapes of the same collection and must not be changed.
func (s *Scrape) Gather() ([]*dto.MetricFamily, error) {
	page, err := s.health().close()
	for _, outcome := range s.Outcomes {
		page = append(page, outcome.families...)
	}
	slices.SortFunc(page, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return page, err
}

func (s *Scrape) health() *Batch {
	batch := newBatch(s.healthFamilies)
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
