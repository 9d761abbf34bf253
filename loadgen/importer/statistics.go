package importer

import (
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/stats"
)

// distribution adds the usual statistics of values; factor converts their unit to the base unit.
func (r *Result) distribution(name spec.Quantity, values []float64, factor float64) {
	if len(values) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(values))
	mean := sum(values) / float64(len(values))
	r.add(name, "mean", &mean, factor)
	r.add(name, "min", &sorted[0], factor)
	for _, of := range []struct {
		statistic string
		p         float64
	}{{"p25", .25}, {"p50", .5}, {"p75", .75}, {"p90", .9}, {"p95", .95}, {"p99", .99}} {
		value := stats.Quantile(sorted, of.p)
		r.add(name, of.statistic, &value, factor)
	}
	r.add(name, "max", &sorted[len(sorted)-1], factor)
}
