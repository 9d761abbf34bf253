package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Names of the pages that the overview links to, in addition to those of link.go.
const (
	memoryPageName    = "unified-memory"
	storagePageName   = "kv-cache-and-storage"
	inferencePageName = "inference"
)

// overviewPage shows the state of the machine at a glance, and links to the other pages.
func overviewPage() page {
	return page{
		name:        "overview",
		title:       "Overview",
		description: "The machine in ten seconds: where the memory is, how hot it is, which engine and which run it is busy with, and what cannot be seen.",
		variables:   []variable{finishedRuns()},
		rows: []row{
			{"Now", []tile{{5, 5, sourceBanner(oneHost)}, {7, 5, runNow()}, {12, 5, alertList()},
				{8, 6, memoryNow()}, {16, 6, engines()},
				{4, 5, kvNow()}, {4, 5, temperatureNow()}, {4, 5, marginNow()}, {4, 5, powerNow()}, {4, 5, busyNow()}, {4, 5, clockNow()}}},
			{"Memory, heat and power", []tile{{12, 9, poolSplit()}, {12, 9, gpuTemperature()},
				{8, 8, gpuPower()}, {8, 8, shares()}, {8, 8, phases()}}},
			{"Runs that have ended", []tile{{24, 9, latestRuns()}}},
		},
		more: []row{
			{"What cannot be seen", []tile{{7, 6, failedCollectors()}, {7, 6, lackingPrivileges()},
				{5, 6, processList()}, {5, 6, unknownLines()}}},
		},
	}
}

func alertList() panel {
	return list(board{
		title:  "Alerts that fire",
		means:  "The alerts that fire for this host, how soon to look, since when their condition holds, and the mode of the source that they are about. The runbook says of each what it means and what to do.",
		wrong:  "any is shown; of a source that is not live it is not about a machine. Nothing is shown either if Prometheus does not evaluate the rules.",
		noData: "none fires, or Prometheus evaluates no rules",
		keys: []key{
			{label: metric.LabelAlertName, title: "Alert", look: looks(width(210), linked(path{"Runbooks", runbook}))},
			{label: metric.LabelSeverity, title: "Severity"},
			{label: metric.LabelMode, title: "Source", look: looks(width(95), textCells(shade{metric.ModeReplay, metric.ModeReplay, colorDoubt},
				shade{metric.ModeConstructed, metric.ModeConstructed, colorDoubt}, shade{metric.ModeSimulated, metric.ModeSimulated, colorDoubt}))},
		},
		figures: []figure{
			{title: "Look", expr: byUrgency(), look: looks(width(115), textCells(shade{"1", "now", colorBad}, shade{"2", "today", colorDoubt}, shade{"3", "when you can", colorInfo}))},
			{title: "Since", expr: firingSince().Milliseconds(), look: width(160)},
		},
		sortBy: "Look",
	})
}

// byUrgency are the alerts that fire, in the order of urgency: the alphabet would give critical, info, warning.
func byUrgency() expr.Expr {
	as := func(rank float64, severity string) expr.Expr {
		return firing(onHost(), expr.Is(metric.LabelSeverity, severity)).Clamp(rank, rank)
	}
	return as(1, metric.SeverityCritical).Or(as(2, metric.SeverityWarning)).Or(as(3, metric.SeverityInfo))
}

// firingSince is the time from which the condition of each alert that fires holds: the first of its series, because
// others may only be pending.
func firingSince() expr.Expr {
	alert := []metric.Label{metric.LabelAlertName, metric.LabelSeverity, metric.LabelMode}
	return expr.Select(metric.AlertsForState, forPeople(), onHost()).Min(expr.By(alert...)).And(firing(onHost()), expr.On(alert...))
}

func runNow() panel {
	phase := expr.Select(metric.RunPhase, onHost()).Equals(expr.Number(1)).Max(by(metric.LabelRun, metric.LabelPhase))
	run := expr.Select(metric.RunActive, onHost()).Equals(expr.Number(1)).Max(by(metric.LabelRun, metric.LabelArm, metric.LabelScenario))
	simulated := expr.Select(metric.RunSimulated, onHost()).Equals(expr.Number(1)).Max(by(metric.LabelRun))
	return names(subject{
		title:  "Run now",
		means:  "The run that lasts on this host, its arm and scenario, and the phase that it is in. An engine that says of itself that it is simulated is named.",
		wrong:  "two runs last at once: neither measures anything; or it says simulated while you look for a real engine.",
		noData: "no run now",
		queries: []query{
			{"{{arm}}, {{scenario}}: {{phase}}", phase.Times(run, expr.On(metric.LabelHost, metric.LabelRun).GroupLeft(metric.LabelArm, metric.LabelScenario))},
			{"engine: simulated", simulated.And(run, expr.On(metric.LabelHost, metric.LabelRun))},
		},
	}, "no run now", steps(colorInfo)).OverrideByName("engine: simulated", colored(colorDoubt))
}

func kvNow() panel {
	return trend(subject{
		title:   "KV cache in use",
		means:   "Share of the KV cache that requests hold, of the engine that is fullest. " + keptIsFree(),
		wrong:   "it stays at 100 %: requests wait, or are preempted and computed again.",
		noData:  "no engine reports it, or no exporter answers",
		queries: []query{{"KV cache", one(metric.EngineKVUsedRatio)}},
	}).OverrideByName("KV cache", toPage(storagePageName, "KV cache and storage"))
}

func busyNow() panel {
	return trend(subject{
		title:   "Utilisation",
		means:   "Share of the time in which a kernel ran, of the busiest GPU. It is not how much of the GPU it used.",
		wrong:   "it is low while requests wait, or high while none is there.",
		noData:  "no GPU, or no exporter answers",
		queries: []query{{"utilisation", one(metric.GPUUtilizationRatio)}},
	}).OverrideByName("utilisation", toPage(thermalPageName, "Thermal and power"))
}

// engineAnswers shows for each page of an engine whether it answers, and the model of those that do.
func engineAnswers() expr.Expr {
	same := expr.On(metric.LabelSource)
	up := expr.Select(metric.EngineUp, onHost()).Max(expr.By(metric.LabelSource))
	info := expr.Select(metric.EngineInfo, onHost()).Max(expr.By(metric.LabelSource, metric.LabelEngine, metric.LabelModel, metric.LabelVersion))
	return up.Times(info, same.GroupRight()).Or(up, same)
}

func engines() panel {
	bySource := expr.By(metric.LabelSource)
	requests := func(state string) expr.Expr {
		return each(metric.EngineRequests, expr.Is(metric.LabelState, state)).Sum(bySource)
	}
	return list(board{
		title:  "Engines",
		means:  "The engines whose pages the exporter reads, which models they say they serve, their requests, and the share of the KV cache that these hold. A name proves nothing about the weights. A frontend and the engines behind it count the same requests.",
		wrong:  "an engine does not answer while a run measures, another model is served than you think, or requests wait while few run.",
		noData: "no engine is set up in the exporter (`--engine`), or no exporter answers",
		keys: []key{{label: metric.LabelEngine, title: "Engine", look: toPage(inferencePageName, "Inference")}, {label: metric.LabelModel, title: "Model"},
			{label: metric.LabelVersion, title: "Version", look: width(130)}, {label: metric.LabelSource, title: "Page", look: width(190)}},
		figures: []figure{
			{title: "Answers", expr: engineAnswers(),
				look: textCells(shade{"0", "no", colorDoubt}, shade{"1", "yes", "transparent"})},
			{title: "Running", expr: requests(metric.RequestsRunning)},
			{title: "Waiting", expr: requests(metric.RequestsWaiting)},
			{title: "KV cache in use", expr: expr.Select(metric.EngineKVUsedRatio, onHost()).Max(bySource)},
		},
		sortBy: "Engine",
	})
}
