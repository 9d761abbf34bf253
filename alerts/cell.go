package alerts

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// earlierRuns is the number of runs from which the median of a cell is taken: fewer give no usual value, and more would
// reach back to a machine that may have been another one.
const earlierRuns = 5

// cellOfRun are the labels that runs must share to be compared. The mode is one of them, so that a run of a simulated
// engine or machine is never compared with one of a live machine.
func cellOfRun() []metric.Label {
	return []metric.Label{metric.LabelHost, metric.LabelArm, metric.LabelScenario, metric.LabelEngine, metric.LabelModel, metric.LabelMode}
}

func onRun() expr.Matching { return expr.On(metric.LabelRun) }

// figure is a figure of each run, once even if several servers export it.
func figure(of metric.Gauge) expr.Expr { return expr.Select(of).Max(expr.By(metric.LabelRun)) }

// inCells adds the labels of their cells to a figure of runs.
func inCells(of metric.Gauge, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(metric.RunCellInfo, matchers...).Times(figure(of), onRun().GroupLeft())
}

// ofNewest is a figure of the newest valid run of each cell; none of a cell whose newest run lacks it.
func ofNewest(of metric.Gauge, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(metric.RunNewestInfo, matchers...).Times(figure(of), onRun().GroupLeft())
}

// validStarts are the start times of the valid runs of all cells: they select the runs of medians and the newest run.
func validStarts() expr.Expr { return expr.Select(metric.RunValidStartTimestampSeconds) }

// cellInfo is what metric.RunCellInfo records.
func cellInfo() expr.Expr {
	labels := []metric.Label{metric.LabelHost, metric.LabelRun, metric.LabelArm, metric.LabelScenario, metric.LabelEngine, metric.LabelModel}
	return withOrigin(expr.Select(metric.RunInfo).Max(expr.By(labels...)))
}

// validStart is what metric.RunValidStartTimestampSeconds records.
func validStart() expr.Expr {
	return inCells(metric.RunStartTimestampSeconds).And(figure(metric.RunValid).Equals(expr.Number(1)), onRun())
}

// newestInfo is what metric.RunNewestInfo records.
func newestInfo() expr.Expr {
	newest := validStarts().TopK(1, expr.By(cellOfRun()...))
	return expr.Select(metric.RunCellInfo).And(newest, expr.On(append(cellOfRun(), metric.LabelRun)...))
}

// medianOf is the median of a figure over the newest runs of each cell among those with the given start times, absent
// with fewer than earlierRuns.
func medianOf(of metric.Gauge, starts expr.Expr) expr.Expr {
	byCell, onCell := expr.By(cellOfRun()...), expr.On(cellOfRun()...)
	last := starts.And(figure(of), onRun()).TopK(earlierRuns, byCell)
	enough := last.Count(byCell).Equals(expr.Number(earlierRuns))
	return inCells(of).And(last, onRun()).Quantile(0.5, byCell).And(enough, onCell)
}

// medianBefore is the median over the valid runs of each cell before its newest.
func medianBefore(of metric.Gauge) expr.Expr {
	return medianOf(of, validStarts().Unless(expr.Select(metric.RunNewestInfo), onRun()))
}

// powerMedian is what metric.RunPowerWattsMedian records.
func powerMedian() expr.Expr {
	now := expr.Select(metric.ExporterMode).Equals(expr.Number(1))
	ofSuchHost := medianOf(metric.RunGPUPowerWatts, validStarts()).And(now, expr.On(metric.LabelHost, metric.LabelMode))
	return ofSuchHost.Min(expr.By(metric.LabelHost, metric.LabelArm, metric.LabelScenario))
}

// whileFresh keeps the figures of runs that are recent.
func whileFresh(e expr.Expr, t metric.Thresholds) expr.Expr {
	started := figure(metric.RunStartTimestampSeconds)
	return e.And(started.Age().Below(expr.Number(t.Run.Fresh.Seconds())), onRun())
}

// ofCells leaves out which run it is: an alert about the newest run of a cell stays the same one when a newer run is as bad.
func ofCells(e expr.Expr) expr.Expr { return e.Max(expr.By(cellOfRun()...)) }

// withOrigin adds the mode of the measurement to series of finished runs. A simulated engine takes precedence over a
// live machine, and of two modes of one run one is taken: a run that is not live must not pass for a live one, and a
// run has one origin.
func withOrigin(e expr.Expr) expr.Expr {
	byRun, run, one := expr.By(metric.LabelRun), expr.On(metric.LabelRun), expr.Number(1)
	origin := expr.Select(metric.RunSimulated).Equals(one).Max(byRun).Labelled(metric.LabelMode, metric.ModeSimulated)
	modes := metric.Modes()
	slices.Reverse(modes)
	for _, mode := range modes {
		telemetry := expr.Select(metric.RunTelemetryMode, expr.Is(metric.LabelMode, mode)).Equals(one).Max(byRun)
		origin = origin.Or(telemetry.Labelled(metric.LabelMode, mode), run)
	}
	return e.Times(origin, run.GroupLeft(metric.LabelMode)).Or(e, run)
}
