package promexport

import (
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
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
	c.load(run, s)
	c.reported(run, o, s)
	c.memory(run, o, s)
	c.heat(run, o, s)
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

// load adds the figures of requests and answers. A load that uma-load did not send has no counts.
func (c *collection) load(run string, s summary.Summary) {
	c.known(&metric.RunOutputTokensPerSecond, s.Throughput.OutputTokensPerSecond, run)
	c.known(&metric.RunAchievedRequestsPerSecond, s.Throughput.RequestsPerSecond, run)
	if s.Latency != nil {
		for _, status := range firstKeys(s.Requests, mostStatuses) {
			c.add(&metric.RunRequests, float64(s.Requests[status]), run, shown(string(status)))
		}
	}
	if g := s.Goodput; g != nil && g.Requests > 0 {
		c.add(&metric.RunGoodputRatio, g.Ratio, run)
	}
}

// reported adds the figures that a tool or an engine reports: each with its source, and under names that no measured
// figure has.
func (c *collection) reported(run string, o compare.Run, s summary.Summary) {
	if o.Imported != "" {
		c.state(&metric.RunImported, true, run, shown(o.Imported))
	}
	if s.Tool != nil {
		program := shown(s.Tool.Program)
		for family, name := range map[*metric.Gauge]string{
			&metric.RunToolReportedOutputTokensPerSecond: compare.ToolOutputTokensPerSecond,
			&metric.RunToolReportedRequestsPerSecond:     compare.ToolRequestsPerSecond,
		} {
			if v, known := o.Metrics[name]; known {
				c.add(family, v, run, program)
			}
		}
	}
	if s.Memory == nil || s.Memory.EngineReported == nil {
		return
	}
	e := s.Memory.EngineReported
	c.known(&metric.RunEngineReportedPeakBytes, e.Peak, run)
	c.known(&metric.RunEngineReportedKVCapacityBytes, e.KV, run, shown(e.Source))
	c.known(&metric.RunEngineReportedKVCapacityTokens, e.KVTokens, run, shown(e.Source))
}

// memory adds the measured memory. The KV cache of an imported run is left out: it was not measured.
func (c *collection) memory(run string, o compare.Run, s summary.Summary) {
	if kv := s.KV; kv != nil && o.Imported == "" {
		c.known(&metric.RunKVCapacityBytes, kv.CapacityBytes, run)
		c.known(&metric.RunKVCapacityTokens, kv.CapacityTokens, run)
	}
	m := s.Memory
	if m == nil {
		return
	}
	c.known(&metric.RunMemoryOccupiedWithoutKVBytes, m.OccupiedWithoutKV, run)
	c.known(&metric.RunMemoryUnavailablePeakBytes, m.UnavailablePeak, run)
	c.known(&metric.RunMemoryAvailableMinBytes, m.AvailableMin, run)
	c.known(&metric.RunMemoryOccupiedPeakBytes, m.OccupiedPeak, run)
	c.known(&metric.RunMemoryPoolBytes, m.Pool, run)
	c.known(&metric.RunFreeAtKVSizingBytes, m.FreeAtKVSizing, run)
	if at := m.LedgerAt; at != nil {
		c.ledger(&metric.RunLedgerBytes, *at, run)
	}
}

// ledger adds the lines of a ledger at its moments, with the given labels first.
func (c *collection) ledger(family *metric.Gauge, at summary.Ledger, labels ...string) {
	for _, moment := range []struct {
		name  string
		lines map[string]float64
	}{{metric.MomentStart, at.Start}, {metric.MomentReady, at.Ready}, {metric.MomentPeak, at.Peak}} {
		for _, line := range firstKeys(moment.lines, mostLines) {
			c.add(family, moment.lines[line], with(labels, moment.name, shown(line))...)
		}
	}
}

// heat adds heat and energy.
func (c *collection) heat(run string, o compare.Run, s summary.Summary) {
	if t := s.Thermal; t != nil {
		c.known(&metric.RunStartGPUTemperatureCelsius, t.StartCelsius, run)
		c.known(&metric.RunGPUTemperatureCelsius, t.MaxCelsius, run)
		for _, reason := range firstKeys(t.ThrottleSeconds, mostReasons) {
			c.add(&metric.RunThrottleSeconds, t.ThrottleSeconds[reason], run, shown(reason))
		}
	}
	if joules, _ := s.EnergyOfAll(); joules != nil {
		c.add(&metric.RunEnergyJoules, *joules, run)
	}
	if watts, known := powerOfHost(o, s); known {
		c.add(&metric.RunGPUPowerWatts, watts, run)
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

// engineReported is the prefix of the names of engine-reported figures.
const engineReported = "engine_reported_"

// ownWord returns the name of an engine-reported figure, so that it differs from the measured one.
func ownWord(name string) string {
	if strings.HasPrefix(name, engineReported) {
		return name
	}
	return engineReported + name
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
			all[ownWord(name)] = v
		}
	}
	return all
}

// powerOfHost returns the power of the GPUs of the host of the run: an alert compares it with the power of this host,
// without the other machines of an engine.
func powerOfHost(o compare.Run, s summary.Summary) (watts float64, known bool) {
	watts, known = o.Metrics[meanPower]
	all, _ := s.EnergyOfAll()
	if !known || s.Together == nil || all == nil || *all == 0 {
		return watts, known
	}
	if s.Energy == nil {
		return 0, false
	}
	return watts * s.Energy.Joules / *all, true
}
