package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Reasons why a panel about inference may be empty.
const (
	noLoad = "no run of uma-load in this time, or Prometheus does not scrape it"
	noVLLM = "Prometheus does not scrape the engine itself, or it is not vLLM"
	noRun  = "no run just now"
)

// inferencePage shows the figures of clients (rate, errors, duration), next to those that the engine reports.
func inferencePage() page {
	return page{
		name:        "inference",
		title:       "Inference",
		description: "Requests of the load generator while they go on: how many, how many failed, how long they took on both clocks, and what the engine itself says of them.",
		of:          someHosts,
		variables: []variable{
			// Runs are those of the host: All is their list instead of a pattern, because the series of a run have no
			// label of its host.
			choices("runs", "Runs", expr.Select(metric.RunActive, onChosenHosts()), metric.LabelRun).AllValue(""),
			choices("phase", "Phase", expr.Select(metric.LoadRequestsTotal, chosenRuns()), metric.LabelPhase),
			// The model of an engine may be empty: it does not name one.
			choices("engine", "Engine", expr.Select(metric.EngineInfo, onChosenHosts()), metric.LabelEngine).AllValue(".*"),
			choices("model", "Model", expr.Select(metric.EngineInfo, onChosenHosts(), expr.Matches(metric.LabelEngine, "$engine")), metric.LabelModel).AllValue(".*"),
		},
		rows: []row{
			{"Rate, errors, duration", []tile{{6, 3, sourceBanner(someHosts)}, {6, 3, runsNow()}, {12, 3, firingAlerts(someHosts)},
				{8, 8, requestsByStatus()}, {8, 8, failedShare()}, {8, 8, durations()}}},
			{"What a user waits for", []tile{{12, 8, firstTokens()}, {12, 8, firstTokenHeat()},
				{12, 8, perTokens()}, {12, 8, perTokenHeat()}}},
			{"Throughput", []tile{{7, 8, outputTokens()}, {7, 8, inputTokens()}, {6, 8, requestsInFlight()}, {4, 8, goodput()}}},
		},
		more: []row{
			{"Durations, and where requests wait", []tile{{8, 8, durationHeat()}, {8, 8, queueDelays()}, {8, 8, clientLags()}}},
			{"Client and engine side by side", []tile{{8, 8, firstTokenBeside()}, {8, 8, perTokenBeside()}, {8, 8, durationBeside()},
				{6, 8, engineHeat()}, {6, 8, prefixShares()}, {6, 8, preemptionsByHost()}, {6, 8, tokensPerDraft()}}},
		},
	}
}

// ofChosen matches the chosen phases of the chosen runs.
func ofChosen(more ...expr.Matcher) []expr.Matcher {
	return append([]expr.Matcher{chosenRuns(), expr.Matches(metric.LabelPhase, "$phase")}, more...)
}

// loadPerSecond is the rate of a counter of the load generator, of all chosen runs together: runs follow each other, and
// marks show which is when. A line for each run would be dozens in a day of a campaign. Counters of several processes
// that share a load add up to that of the run.
func loadPerSecond(c metric.Counter, more ...expr.Matcher) expr.Expr {
	return expr.Rate(c, expr.RateInterval, ofChosen(more...)...).Sum(allRuns())
}

// byRun keeps runs apart.
func byRun() expr.Grouping { return expr.By(metric.LabelRun) }

// allRuns adds them together.
func allRuns() expr.Grouping { return expr.By() }

func runsNow() panel {
	active := expr.Select(metric.RunActive, onChosenHosts()).Equals(expr.Number(1)).Max(expr.By(metric.LabelRun, metric.LabelArm, metric.LabelScenario))
	simulated := expr.Select(metric.RunSimulated, onChosenHosts()).Equals(expr.Number(1)).Max(byRun())
	same := expr.On(metric.LabelRun)
	return names(subject{
		title:  "Runs now",
		means:  "The runs that go on on this host, with their arm and scenario, and whether the engine says that it is simulated.",
		wrong:  "it says *simulated engine*: then no figure of this page says anything of hardware. Or two runs go on at once: each disturbs the other.",
		noData: noRun,
		queries: []query{
			{"{{run}}: {{arm}}, {{scenario}}", active.Unless(simulated, same)},
			{"{{run}}: simulated engine", simulated.And(active, same)},
		},
	}, "no run now", steps(colorInfo)).OverrideByRegexp("/simulated engine$/", colored(colorDoubt))
}

func requestsByStatus() panel {
	statuses := []struct{ status, title, color string }{
		{metric.RequestOK, "ok", "dark-blue"},
		{metric.RequestHTTP, "refused with an HTTP status", "dark-orange"},
		{metric.RequestInBand, "error inside the stream", "light-orange"},
		{metric.RequestTruncated, "stream cut off", "dark-yellow"},
		{metric.RequestTimeout, "timed out", "dark-red"},
		{metric.RequestCancelled, "cancelled", "#808080"},
		{metric.RequestConnect, "not connected", "dark-purple"},
	}
	var ended []figure
	for _, s := range statuses {
		requests := loadPerSecond(metric.LoadRequestsTotal, expr.Is(metric.LabelStatus, s.status))
		ended = append(ended, figure{title: s.title, expr: requests, look: colored(s.color)})
	}
	return painted(areas(subject{
		title:   "Requests ended, by status",
		means:   "Requests that ended, by how they ended, stacked. An HTTP status of 200 alone is not *ok*: the stream has to end well too.",
		wrong:   "anything but *ok* is there, or the rate is below what the run asks for.",
		noData:  noLoad,
		queries: queriesOf(ended),
	}), ended)
}

func failedShare() panel {
	all := loadPerSecond(metric.LoadRequestsTotal)
	var failures []string
	for _, status := range metric.RequestStatuses() {
		if status != metric.RequestOK && status != metric.RequestCancelled {
			failures = append(failures, status)
		}
	}
	return series(subject{
		title:  "Share that failed",
		means:  "Requests that failed, over all that ended, of all chosen runs; and dashed those that the client itself gave up, such as those that were waiting or going on when a phase ended. The rule error_rate of a run counts both.",
		wrong:  "failures are not 0: latencies are of those that ended ok only, and look better the more fail.",
		noData: "no request ended in this time",
		queries: []query{
			{"failed", shareOf(loadPerSecond(metric.LoadRequestsTotal, expr.OneOf(metric.LabelStatus, failures...)), all)},
			{"given up", shareOf(loadPerSecond(metric.LoadRequestsTotal, expr.Is(metric.LabelStatus, metric.RequestCancelled)), all)},
		},
	}).Min(0).
		OverrideByName("failed", colored(colorBad)).
		OverrideByName("given up", looks(dashed(), colored(colorUnknown)))
}

func goodput() panel {
	return series(subject{
		title:   "Goodput",
		means:   "Share of the requests that met every objective of `--slo`, of all that ended, of all chosen runs (" + called(metric.LoadGoodRequestsTotal) + " over " + called(metric.LoadRequestsTotal) + ").",
		wrong:   "it falls while throughput still climbs: the machine is past the load that it can serve well.",
		noData:  "no request ended, or the run has no objectives (--slo)",
		queries: []query{{"goodput", shareOf(loadPerSecond(metric.LoadGoodRequestsTotal), loadPerSecond(metric.LoadRequestsTotal))}},
	}).Min(0).Max(1)
}
