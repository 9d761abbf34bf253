package alerts

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// activeRuns are the active runs, with the labels in more besides host and run. The client of a run may be scraped
// twice.
func activeRuns(more ...metric.Label) expr.Expr {
	by := append([]metric.Label{metric.LabelHost, metric.LabelRun}, more...)
	return expr.Select(metric.RunActive).Equals(expr.Number(1)).Max(expr.By(by...))
}

// serving are the runs in a phase in which they need an engine. Measured phases have the names of scenarios, so the
// expression lists the phases without an engine.
func serving() expr.Expr {
	return inPhases(expr.NoneOf(metric.LabelPhase, metric.PhasesWithoutEngine()...))
}

// inPhases are the runs in a phase that matches.
func inPhases(m expr.Matcher) expr.Expr {
	return expr.Select(metric.RunPhase, m).Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelRun))
}
