package dashboards

import (
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// noComparison is the text of an empty panel of a comparison.
const noComparison = "no saved comparison: `uma-load compare --save` keeps one"

// comparePage shows the result of a saved comparison for two arms, whether its verdicts are valid, its runs, and two
// runs one over the other.
func comparePage() page {
	return page{
		name:  comparePageName,
		title: "Compare runs",
		description: "What can be said of two arms, whether they were alike and in what order they ran, their runs, and two runs laid over each other. " +
			"The run is the unit of comparison: verdicts are those of uma-load compare, over all runs of an arm. One run against one run is no verdict, and what is not shown to differ is not shown to be equal.",
		of:        hostOfRuns,
		variables: compareVariables(),
		from:      "now-6h",
		rows: []row{
			{"Verdict", []tile{{6, 3, sourceBanner(hostOfRuns)}, {12, 3, firingAlerts(hostOfRuns)}, {6, 3, compareSimulated()},
				{24, 8, verdictOfMemory()}, {24, 8, verdictOfLatency()}}},
			{"Verdict on throughput, heat and the rest", []tile{{24, 7, verdictOfTheRest()}}},
			{"Were the arms alike, and can time explain it", []tile{{12, 6, compareOrder()}, {12, 6, compareWarnings()},
				{24, 7, compareFairness()}}},
		},
		more: []row{
			{"What the comparison rests on", []tile{{24, 9, comparedRuns()}, {24, 7, compareDrift()}, {24, 7, savedComparisons()}}},
			{"Runs of this host", []tile{{24, 9, compareRuns()}, {12, 8, memoryByRun("baseline", "$baseline")}, {12, 8, memoryByRun("candidate", "$candidate")}}},
			{"By model", []tile{{12, 8, memoryByModel()}, {12, 8, wordByModel()}}},
			{"Run A over run B", []tile{{8, 9, overLatency()}, {8, 9, memoryOfA()}, {8, 9, memoryOfB()}, {8, 8, overTemperature()}, {8, 8, overPower()}, {8, 8, overClock()}}},
			{"Where the memory of the two runs went", []tile{{24, 6, twoLedgers()}, {10, 14, twoLedgerLines()}, {14, 14, armLedgers()}}},
		},
	}
}

// compareVariables choose a comparison, one of its candidates, the runs in tables, and two runs for the curves.
func compareVariables() []variable {
	verdicts := expr.Select(metric.ComparisonVerdict, inComparison())
	ofHost := expr.Select(metric.RunInfo, onHost())
	return []variable{
		choiceServed("comparison", "Comparison", expr.Select(metric.ComparisonVerdict), metric.LabelComparison).Sort(dashboard.VariableSortNaturalDesc),
		choiceServed("baseline", "Baseline arm", verdicts, metric.LabelBaseline).Hide(dashboard.VariableHideHideVariable),
		choiceServed("candidate", "Candidate arm", verdicts, metric.LabelCandidate).Sort(dashboard.VariableSortNaturalAsc),
		choicesServed("runs", "Runs in tables", ofHost, metric.LabelRun).Sort(dashboard.VariableSortNaturalDesc),
		choiceServed("run_a", "Run A (baseline)", runsOfArm(ofBaseline()), metric.LabelRun).Sort(dashboard.VariableSortNaturalDesc),
		choiceServed("run_b", "Run B (candidate)", runsOfArm(ofCandidate()), metric.LabelRun).Sort(dashboard.VariableSortNaturalDesc),
		worked("shift", shift()),
	}
}

// runsOfArm are the runs of one arm of the comparison on the host, or all of the host where it has none of them. The first in
// the list, which is the newest, is taken unless another is chosen.
func runsOfArm(arm expr.Matcher) expr.Expr {
	ofArm := expr.Select(metric.ComparisonRunInfo, inComparison(), arm).Max(byRun())
	all := expr.Select(metric.RunInfo, onHost()).Max(byRun())
	mine := all.And(ofArm, expr.On(metric.LabelRun))
	return mine.Or(all.Unless(mine, expr.On()))
}

// shift is the number of seconds by which run A has to be moved to begin with run B; 0 if a start is missing.
func shift() expr.Expr {
	started := func(run expr.Matcher) expr.Expr {
		return expr.Select(metric.RunStartTimestampSeconds, run).Max(expr.By())
	}
	return started(isRunB()).Minus(started(isRunA())).OffsetBy(laterName).OrZero()
}

// isRunA and isRunB match the series of one of the two runs.
func isRunA() expr.Matcher { return expr.Is(metric.LabelRun, "$run_a") }
func isRunB() expr.Matcher { return expr.Is(metric.LabelRun, "$run_b") }

// inComparison matches the series of the chosen comparison, ofPair those of the chosen candidate in it.
func inComparison() expr.Matcher { return expr.Is(metric.LabelComparison, "$comparison") }
func ofPair(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(d, append([]expr.Matcher{inComparison(), expr.Is(metric.LabelCandidate, "$candidate")}, matchers...)...)
}

// ofBaseline and ofCandidate match one arm of the pair.
func ofBaseline() expr.Matcher  { return expr.Is(metric.LabelArm, "$baseline") }
func ofCandidate() expr.Matcher { return expr.Is(metric.LabelArm, "$candidate") }

// stratumLabels are the labels of strata: the parts of a comparison that are compared separately.
func stratumLabels(further ...metric.Label) []metric.Label {
	return slices.Concat(further, []metric.Label{metric.LabelModel, metric.LabelScenario})
}

// scenarioWidth is the width of a column of scenarios: the longest, eviction_replay, does not wrap.
const scenarioWidth = 112

// stratumKeys are their columns, after others.
func stratumKeys(before ...key) []key {
	return append(before, key{label: metric.LabelModel, title: "Model", look: ofWidth(95)}, key{label: metric.LabelScenario, title: "Scenario", look: ofWidth(scenarioWidth)})
}

func compareSimulated() panel {
	return number(servedLater(subject{
		title:   "What the comparison is of",
		means:   "Whether any of its runs was of a simulated engine or machine, by its files.",
		wrong:   "it says simulated: then no verdict below says anything of hardware.",
		noData:  noComparison,
		queries: []query{{"simulated", expr.Select(metric.ComparisonSimulated, inComparison()).Max(expr.By(metric.LabelComparison))}},
	})).
		Mappings(shaded(shade{"0", "not simulated", colorNeutral}, shade{"1", "simulated", colorDoubt})).
		ColorMode(common.BigValueColorModeBackground)
}
