package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// ofHistory is a figure of the runs that are chosen for the tables.
func ofHistory(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(d, append([]expr.Matcher{chosenRuns()}, matchers...)...).Max(expr.By(metric.LabelRun))
}

// onThisHost keeps figures of runs that measured the chosen host.
func onThisHost(e expr.Expr) expr.Expr {
	return e.And(expr.Select(metric.RunInfo, onHost()), expr.On(metric.LabelRun))
}

// ofArm keeps figures of the runs of an arm: those that have the arm as the value of the label that the comparison is
// by, which may be another label than arm.
func ofArm(e expr.Expr, arm string) expr.Expr {
	by := expr.Select(metric.ComparisonInfo, inComparison()).Copied(metric.LabelComparedBy, "(.+)", metric.LabelName, "$1")
	labelled := expr.Select(metric.RunLabel, chosenRuns(), expr.Is(metric.LabelValue, arm))
	return e.And(labelled.And(by, expr.On(metric.LabelName)), expr.On(metric.LabelRun))
}

func compareRuns() panel {
	of := []metric.Label{metric.LabelArm, metric.LabelScenario, metric.LabelEngine, metric.LabelModel}
	info := expr.Select(metric.RunInfo, onHost()).Max(expr.By(append([]metric.Label{metric.LabelRun}, of...)...))
	mode := expr.Select(metric.RunTelemetryMode, chosenRuns()).Equals(expr.Number(1)).Max(expr.By(metric.LabelRun, metric.LabelMode))
	simulated := onThisHost(ofHistory(metric.RunSimulated))
	figureOf := func(title string, d metric.Definer, look look, m ...expr.Matcher) figure {
		return figure{title: title, expr: onThisHost(ofHistory(d, m...)), look: look}
	}
	farthest := expr.Select(metric.RunZScore, chosenRuns()).Abs().Max(expr.By(metric.LabelRun))
	return servedList(board{
		title: "Runs",
		means: "The finished runs of this host that `uma-load serve` shows, the newest first. A click on a run opens it, or takes it as A or B of the curves below; as B it sets the time range too. " +
			"*Simulated* is the engine's own word, *telemetry* what the machine was. *First token* is the median from the intended start; *farthest* is the largest distance of any of its metrics from the runs before it in its cell, in deviations.",
		wrong:  "runs of one arm do not agree among themselves, or the first after a change of arms stands out: then a mean of the arm says little.",
		noData: noRuns,
		keys: []key{
			{label: metric.LabelRun, title: "Run", look: looks(width(155), linked(
				path{"Take it as run A (baseline)", addressOfOtherA},
				path{"Take it as run B (candidate)", addressOfOtherB("Started", "Ended")},
				path{"Details of the run", addressOfRun("Started", "Ended")}))},
			{label: metric.LabelArm, title: "Arm", look: ofWidth(80)}, {label: metric.LabelScenario, title: "Scenario", look: ofWidth(scenarioWidth)},
			{label: metric.LabelEngine, title: "Engine", look: ofWidth(65)}, {label: metric.LabelModel, title: "Model", look: ofWidth(190)},
			{label: metric.LabelMode, title: "Telemetry", look: ofWidth(80)},
		},
		figures: []figure{
			{title: "Started", expr: ofHistory(metric.RunStartTimestampSeconds).Times(info, expr.On(metric.LabelRun).GroupLeft(of...)).Milliseconds(), look: width(150)},
			figureOf("Valid", metric.RunValid, looks(textCells(shade{"0", "invalid", colorBad}, shade{"1", "valid", "transparent"}), width(65))),
			{title: "Simulated", look: looks(yesOrNo(colorDoubt), width(80)),
				expr: simulated.Times(mode, expr.On(metric.LabelRun).GroupLeft(metric.LabelMode)).Or(simulated, expr.On(metric.LabelRun))},
			figureOf("Occupied without KV cache", metric.RunMemoryOccupiedWithoutKVBytes, width(88)),
			figureOf("KV cache", metric.RunKVCapacityBytes, nil),
			figureOf("First token", metric.RunScheduledTimeToFirstTokenSeconds, nil, expr.Is(metric.LabelQuantile, "0.5")),
			figureOf("Output", metric.RunOutputTokensPerSecond, nil),
			{title: "Farthest", expr: onThisHost(farthest)},
			{title: "Ended", expr: onThisHost(ofHistory(metric.RunEndTimestampSeconds)).Milliseconds(), look: width(150)},
		},
		sortBy: "Started", desc: true,
	})
}

func whenReadyOfRuns(arm string) []figure {
	return poolWhenReady(func(e expr.Expr) expr.Expr { return ofArm(onThisHost(e), arm) })
}

// memoryByRun is the pool of every run of an arm when its engine was ready, in the order of time.
func memoryByRun(name, arm string) panel {
	return servedBars(board{
		title:   "Memory of the " + name + " arm, by run",
		means:   "The pool when the engine was ready: memory occupied without KV cache, the KV cache and free memory, measured, of every run in the order of time; names of runs begin with it.",
		wrong:   "*occupied without KV cache* rises or falls with time, or the first run after a change of arms stands out: that is not the arm. The cache is what is left, so that the two are one finding.",
		noData:  "no run of this host is of this arm of the comparison, or it was not measured",
		keys:    []key{{label: metric.LabelRun, title: "Run"}},
		figures: whenReadyOfRuns(arm),
	}).Stacking(common.StackingModeNormal).Orientation(common.VizOrientationHorizontal)
}
