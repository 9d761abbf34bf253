package promexport

import (
	"maps"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

// Bounds of the figures of one run. Files may be damaged, or come from another source: a real run has far fewer.
const (
	mostLabels   = 64
	mostLines    = 32 // of a ledger
	mostStatuses = 16
	mostReasons  = 32
	mostFigures  = 256 // in all, apart from the labels
)

// seriesOf returns what is known of a run, and its single figures.
func seriesOf(i info, o compare.Run, s summary.Summary) []series {
	c, run := newCollection(mostLabels+mostFigures), i.run
	c.identity(i, o)
	c.figures(run, o, &s)
	c.further(run, o, s)
	c.judgement(run, s)
	return c.all
}

// identity adds what the run is of: its labels, each name once, its validity and its time.
func (c *collection) identity(i info, o compare.Run) {
	c.add(&metric.RunInfo, 1, i.host, i.run, i.arm, i.scenario, i.engine, i.model)
	taken := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(o.Labels)) {
		if label := shown(name); !taken[label] && len(taken) < mostLabels {
			taken[label] = true
			c.add(&metric.RunLabel, 1, i.run, label, shown(o.Labels[name]))
		}
	}
	c.state(&metric.RunValid, o.Valid, i.run)
	c.state(&metric.RunSimulated, o.Simulated, i.host, i.run)
	if o.Mode != "" {
		c.add(&metric.RunTelemetryMode, 1, i.run, shown(o.Mode))
	}
	c.moment(&metric.RunStartTimestampSeconds, o.StartedAt, i.run)
	c.moment(&metric.RunEndTimestampSeconds, o.EndedAt, i.run)
}

// figures adds the figures of the catalogue that have a series. The KV cache of an imported run is left out, as it was
// not measured: its engine's report has a series of its own.
func (c *collection) figures(run string, o compare.Run, s *summary.Summary) {
	for _, f := range figure.All() {
		if f.Series == nil || o.Imported != "" && (f.Name == figure.KVCapacity || f.Name == figure.KVCapacityTokens) {
			continue
		}
		labels := []string{run}
		if f.Series.Def().HasLabel(metric.LabelSource) {
			labels = append(labels, shown(f.By(s)))
		}
		c.known(f.Series, f.Get(s), labels...)
	}
}

// further adds what has more labels than the figures. A load that uma-load did not send has no counts.
func (c *collection) further(run string, o compare.Run, s summary.Summary) {
	if o.Imported != "" {
		c.state(&metric.RunImported, true, run, shown(o.Imported))
	}
	if s.Latency != nil {
		for _, status := range firstKeys(s.Requests, mostStatuses) {
			c.add(&metric.RunRequests, float64(s.Requests[status]), run, shown(string(status)))
		}
	}
	if s.Memory != nil && s.Memory.LedgerAt != nil {
		c.ledger(&metric.RunLedgerBytes, *s.Memory.LedgerAt, run)
	}
	if t := s.Thermal; t != nil {
		for _, reason := range firstKeys(t.ThrottleSeconds, mostReasons) {
			c.add(&metric.RunThrottleSeconds, t.ThrottleSeconds[reason], run, shown(reason))
		}
	}
}

// ledger adds the lines of a ledger at its moments, with the given labels first.
func (c *collection) ledger(family *metric.Gauge, at summary.Ledgers, labels ...string) {
	for _, at := range at.Moments() {
		lines := *at.Ledger
		for _, line := range firstKeys(lines, mostLines) {
			c.add(family, lines[line], with(labels, at.Moment, shown(line))...)
		}
	}
}

// judgement adds the reasons for an invalid run, the number of warnings, and the evidence grades.
func (c *collection) judgement(run string, s summary.Summary) {
	for i, reason := range s.InvalidReasons {
		if i < mostReasons {
			c.add(&metric.RunInvalidReason, 1, run, shown(string(reason.Code)))
		}
	}
	c.add(&metric.RunWarnings, float64(len(s.Warnings)), run)
	for _, signal := range s.Signals.Named() {
		if signal.Grade != "" {
			c.add(&metric.RunSignalGrade, 1, run, signal.Name, shown(string(signal.Grade)), shown(string(signal.Reason)))
		}
	}
}

// metricsOf returns the figures of a run by their names in comparisons.
func metricsOf(o compare.Run) map[string]float64 {
	if len(o.EngineReported) == 0 {
		return o.Metrics
	}
	all := maps.Clone(o.Metrics)
	for _, name := range o.EngineReported {
		if v, known := all[name]; known {
			delete(all, name)
			all[figure.EngineReported(name)] = v
		}
	}
	return all
}
