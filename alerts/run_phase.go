package alerts

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// activeRuns are the runs that go on, with more labels than host and run if they are asked for. The client of a run
// may be scraped twice.
func activeRuns(more ...metric.Label) expr.Expr {
	by := append([]metric.Label{metric.LabelHost, metric.LabelRun}, more...)
	return expr.Select(metric.RunActive).Equals(expr.Number(1)).Max(expr.By(by...))
}

// serving are the runs that are in a phase in which they need an engine. Measured phases are named by scenarios, so
// that only those without an engine can be listed.
func serving() expr.Expr {
	return inPhases(expr.NoneOf(metric.LabelPhase, metric.PhasesWithoutEngine()...))
}

// inPhases are the runs that are in a phase that matches.
func inPhases(m expr.Matcher) expr.Expr {
	return expr.Select(metric.RunPhase, m).Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelRun))
}
