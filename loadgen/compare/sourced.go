package compare

import (
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
)

// SourcedMetric is a metric of one source: measured, or reported by an engine. The two never share a column.
type SourcedMetric struct {
	figure.Figure
	EngineReported bool
}

// SourcedMetrics returns the metrics that any of the runs has, in the order of the table of metrics.
func SourcedMetrics(runs []Run) []SourcedMetric {
	var all []SourcedMetric
	for _, m := range figure.Compared() {
		for _, reported := range []bool{false, true} {
			s := SourcedMetric{m, reported}
			if slices.ContainsFunc(runs, func(r Run) bool { return s.Of(r) != nil }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Of returns the value of a run; nil without one from this source.
func (s SourcedMetric) Of(r Run) *float64 {
	value, known := r.Metrics[s.Name]
	if !known || slices.Contains(r.EngineReported, s.Name) != s.EngineReported {
		return nil
	}
	return &value
}

// Column returns the heading of the metric.
func (s SourcedMetric) Column() string {
	if s.EngineReported {
		return s.Name + " (engine reported)"
	}
	return s.Name
}
