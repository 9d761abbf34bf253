package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// newest is how many finished runs a table shows.
const newest = 12

// noRuns is the text of an empty table of finished runs.
const noRuns = "no finished run of this host, or `uma-load serve` is not scraped"

// finishedRuns is the variable for finished runs of the host; all by default. It differs from the variable of pages
// about one run: links between pages pass variables on by name.
func finishedRuns() variable {
	return choices("runs", "Finished runs", expr.Select(metric.RunInfo, onHost()), metric.LabelRun)
}

// chosenRuns matches the chosen runs.
func chosenRuns() expr.Matcher { return expr.Matches(metric.LabelRun, "$runs") }

// ofRuns is a figure of the newest of the chosen runs of the host.
func ofRuns(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	byRun := expr.By(metric.LabelRun)
	here := expr.Select(metric.RunInfo, onHost()).Max(byRun)
	latest := expr.Select(metric.RunStartTimestampSeconds, chosenRuns()).Max(byRun).
		And(here, expr.On(metric.LabelRun)).TopK(newest, expr.By())
	figures := expr.Select(d, append([]expr.Matcher{chosenRuns()}, matchers...)...).Max(byRun)
	return figures.And(latest, expr.On(metric.LabelRun))
}

// runKeys are the columns that identify the run of a line; the run links to its page.
func runKeys() []key {
	return []key{
		{label: metric.LabelRun, title: "Run", look: looks(toRun("Started", "Ended"), width(150))},
		{label: metric.LabelArm, title: "Arm", look: width(85)}, {label: metric.LabelScenario, title: "Scenario", look: width(scenarioWidth)},
		{label: metric.LabelEngine, title: "Engine"}, {label: metric.LabelModel, title: "Model", look: width(105)},
	}
}

// runTimes are the columns of start and end, from which the link to a run takes its time range. The start has the
// labels with the configuration of the run.
func runTimes() []figure {
	of := []metric.Label{metric.LabelArm, metric.LabelScenario, metric.LabelEngine, metric.LabelModel}
	info := expr.Select(metric.RunInfo, onHost()).Max(expr.By(append([]metric.Label{metric.LabelRun}, of...)...))
	started := ofRuns(metric.RunStartTimestampSeconds).Times(info, expr.On(metric.LabelRun).GroupLeft(of...))
	return []figure{
		{title: "Started", expr: started.Milliseconds(), look: width(165)},
		{title: "Ended", expr: ofRuns(metric.RunEndTimestampSeconds).Milliseconds(), look: width(165)},
	}
}

// trust are the columns on run quality, and on the sources of the figures.
func trust() []figure {
	return []figure{
		{title: "Valid", expr: ofRuns(metric.RunValid), look: textCells(shade{"0", "invalid", colorBad}, shade{"1", "valid", "transparent"})},
		{title: "Simulated", expr: ofRuns(metric.RunSimulated), look: looks(textCells(shade{"0", "no", "transparent"}, shade{"1", "simulated", colorDoubt}), width(95))},
	}
}

func latestRuns() panel {
	quantile := func(q string) expr.Expr {
		return ofRuns(metric.RunScheduledTimeToFirstTokenSeconds, expr.Is(metric.LabelQuantile, q))
	}
	figures := append(runTimes(), trust()...)
	return list(board{
		title:  "Finished runs",
		means:  "The newest finished runs of this host, the newest first; a click on a run opens its page in the time in which it ran. *Simulated* is what the engine says of itself. First token counts from the intended start, median and the slowest hundredth; a quantile that too few requests support is absent.",
		wrong:  "a run is invalid (its page says why), or one of a simulated engine stands among real ones and you compare them. One run against one run is no verdict.",
		noData: noRuns,
		keys:   runKeys(),
		figures: append(figures,
			figure{title: "First token p50", expr: quantile("0.5")},
			figure{title: "First token p99", expr: quantile("0.99")},
			figure{title: "Tokens per second", expr: ofRuns(metric.RunOutputTokensPerSecond)}),
		sortBy: "Started", desc: true,
	})
}

func heatOfRuns() panel {
	heat := ofRuns(metric.RunThrottleSeconds, expr.OneOf(metric.LabelReason, metric.ReasonSWThermal, metric.ReasonHWThermal))
	capped := ofRuns(metric.RunThrottleSeconds, expr.Is(metric.LabelReason, metric.ReasonSWPowerCap))
	figures := append(runTimes(), trust()...)
	return list(board{
		title:  "Heat and energy of finished runs",
		means:  "What the newest runs of this host used while they measured (*simulated* is what the engine says of itself): energy and mean power of all GPUs together, temperature of the hottest GPU at the start and at most, and for how long heat (the thermal reason that did so longest) and the power cap held the clock down.",
		wrong:  "runs that you compare start at different temperatures, or one was held down by heat.",
		noData: noRuns,
		keys:   runKeys(),
		figures: append(figures,
			figure{title: "Energy", expr: ofRuns(metric.RunEnergyJoules)},
			figure{title: "Mean power", expr: ofRuns(metric.RunGPUPowerWatts)},
			figure{title: "At the start", expr: ofRuns(metric.RunStartGPUTemperatureCelsius)},
			figure{title: "Hottest", expr: ofRuns(metric.RunGPUTemperatureCelsius)},
			figure{title: "Held down by heat", expr: heat},
			figure{title: "Capped by power", expr: capped}),
		sortBy: "Started", desc: true,
	})
}
