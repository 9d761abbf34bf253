package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Reasons why a panel of a run may be empty.
const (
	noSuchRun  = "no such run is shown: `uma-load serve` is not scraped, or the run is too old for it"
	noCurves   = "Prometheus did not scrape the run's own page (job uma-load) or this host while the run lasted, or the time range is another"
	notOfRun   = "not known of this run"
	noLiveLoad = "Prometheus did not scrape the run's own page (job uma-load), no request has ended in this time, or the time range is another"
)

// runPage shows one run: its configuration, whether it is valid, its figures, and the machine during the run.
func runPage() page {
	return page{
		name:  runPageName,
		title: "Run detail",
		description: "One finished run: what it was of, whether its figures may be used, what it measured, and the machine while it lasted. " +
			"One run is no finding: what differs between two is shown by several of each, on the page of comparisons.",
		of:        hostOfRuns,
		variables: []variable{choiceServed("run", "Run", expr.Select(metric.RunInfo, onHost()), metric.LabelRun).Sort(dashboard.VariableSortNaturalDesc)},
		from:      "now-6h",
		rows: []row{
			{"What it was, whether it counts, and what it measured", []tile{{4, 3, sourceBanner(hostOfRuns)}, {10, 3, firingAlerts(hostOfRuns)}, {6, 3, runSource()}, {4, 3, runInvalid()},
				{24, 4, runOf()},
				{12, 6, runLatency()}, {6, 6, runRequests()}, {6, 6, runLabels()}, {12, 4, runThroughput()}, {12, 4, runHeat()}, {24, 4, runMemory()}}},
			{"Memory at start, when ready and at its peak", []tile{{24, 6, runLedger()}}},
			{"How far it can be trusted", []tile{{9, 6, runGrades()}, {10, 6, runScores()}, {5, 6, runThrottle()}}},
		},
		more: []row{
			{"Ledger of the run in figures", []tile{{24, 14, runLedgerLines()}}},
			{"While it ran", []tile{{24, 4, runPhases()}, {12, 9, runLatencyCurve()}, {12, 9, runTokenCurve()}, {24, 10, runLedgerCurve()},
				{8, 8, runTemperatureCurve()}, {8, 8, runPowerCurve()}, {8, 8, runClockCurve()}, {12, 8, runKVCurve()}, {12, 8, runDriveCurve()}}},
		},
	}
}

// isRun matches the chosen run.
func isRun() expr.Matcher { return expr.Is(metric.LabelRun, "$run") }

// thisRun is a figure of the chosen run, by further labels.
func thisRun(d metric.Definer, further ...metric.Label) expr.Expr {
	return expr.Select(d, isRun()).Max(expr.By(append([]metric.Label{metric.LabelRun}, further...)...))
}

// holds keeps the series of the chosen run whose value is 1, by the labels in said; by the run without any.
func holds(d metric.Definer, said ...metric.Label) expr.Expr {
	if len(said) == 0 {
		return thisRun(d).Equals(expr.Number(1))
	}
	return expr.Select(d, isRun()).Max(expr.By(said...)).Equals(expr.Number(1))
}

// unshown hides the value column of a table whose content is in the labels.
func unshown(title string) dashboard.DataTransformerConfig {
	return dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": map[string]bool{title: true}, "indexByName": map[string]int{}, "renameByName": map[string]string{},
	}}
}

func runSource() panel {
	real := colored(colorGood)
	return names(servedLater(subject{
		title:  "What the run was of",
		means:  "The machine whose telemetry the run kept (*live* is a real one as it ran), and whether the engine said that it is simulated.",
		wrong:  "anything but *live* and *not simulated* is shown and you look for what hardware does: then the figures are not those of hardware.",
		noData: noSuchRun,
		queries: []query{
			{"telemetry: {{mode}}", holds(metric.RunTelemetryMode, metric.LabelMode)},
			{"engine: simulated", holds(metric.RunSimulated)},
			{"engine: not simulated", thisRun(metric.RunSimulated).Equals(expr.Number(0))},
		},
	}), "no such run", steps(colorDoubt)).
		OverrideByRegexp("/: "+metric.ModeLive+"$/", real).
		OverrideByName("engine: not simulated", real)
}

func runInvalid() panel {
	return names(servedLater(subject{
		title:  "Valid, or why not",
		means:  "Whether the figures of the run may be used; if not, the rules that it broke, by their codes. Its report says what each found.",
		wrong:  "a code is shown. The figures below are then what was measured, and no result.",
		noData: noSuchRun,
		queries: []query{
			{"valid", holds(metric.RunValid)},
			{"invalid: {{code}}", holds(metric.RunInvalidReason, metric.LabelCode)},
		},
	}), "no such run", steps(colorBad)).OverrideByName("valid", colored(colorGood))
}

// took is how long the chosen run lasted.
func took() expr.Expr {
	return thisRun(metric.RunEndTimestampSeconds).Minus(thisRun(metric.RunStartTimestampSeconds))
}

func runOf() panel {
	of := []metric.Label{metric.LabelArm, metric.LabelScenario, metric.LabelEngine, metric.LabelModel}
	info := expr.Select(metric.RunInfo, onHost(), isRun()).Max(expr.By(append([]metric.Label{metric.LabelRun}, of...)...))
	started, ended := thisRun(metric.RunStartTimestampSeconds), thisRun(metric.RunEndTimestampSeconds)
	return servedList(board{
		title:  "The run",
		means:  "What the run was of. A click on it sets the time range to the time in which it ran, which the curves below need, or sets it against another. Warnings are those of its report.",
		wrong:  "the model or the engine is not what you meant: names are what was asked for, and the report says what answered.",
		noData: noSuchRun,
		keys: []key{
			{label: metric.LabelRun, title: "Run", look: linked(
				path{"Show the time of this run", addressOfRun("Started", "Ended")},
				path{"Compare it with another run", addressOfCandidate("Started", "Ended")})},
			{label: metric.LabelArm, title: "Arm"}, {label: metric.LabelScenario, title: "Scenario"},
			{label: metric.LabelEngine, title: "Engine"}, {label: metric.LabelModel, title: "Model"},
		},
		figures: []figure{
			{title: "Started", expr: started.Times(info, expr.On(metric.LabelRun).GroupLeft(of...)).Milliseconds()},
			{title: "Ended", expr: ended.Milliseconds()},
			{title: "Took", expr: took()},
			{title: "Warnings", expr: thisRun(metric.RunWarnings)},
		},
	})
}

func runLabels() panel {
	return servedList(board{
		title:   "Labels of the run",
		means:   "The labels that the run was given on its command line or by its campaign.",
		wrong:   "a label that sets arms apart is missing: a comparison by it leaves the run out.",
		noData:  "the run was given none, or " + noSuchRun,
		keys:    []key{{label: metric.LabelName, title: "Label"}, {label: metric.LabelValue, title: "Value"}},
		figures: []figure{{title: "Given", expr: holds(metric.RunLabel, metric.LabelName, metric.LabelValue)}},
		sortBy:  "Label",
	}).WithTransformation(unshown("Given"))
}
