package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// addressOfComparison chooses another comparison on its page; candidate and runs get their defaults.
const addressOfComparison = "/d/" + tag + "-" + comparePageName + "?${__url_time_range}&var-comparison=${__value.raw:percentencode}&${datasource:queryparam}&${host:queryparam}"

// worthShades are the run qualities, in words and colours.
func worthShades() []shade {
	return []shade{
		{"decision", "for decisions", colorGood},
		{"valid", "valid, no more", colorNeutral},
		{"invalid", "invalid: left out", colorBad},
	}
}

// runsOfPair are the runs of both arms of the pair, including those that were left out, with the labels of their
// quality.
func runsOfPair() expr.Expr {
	each := expr.By(stratumLabels(metric.LabelRun, metric.LabelArm, metric.LabelGrade, metric.LabelDetail)...)
	of := func(arm expr.Matcher) expr.Expr {
		return expr.Select(metric.ComparisonRunInfo, inComparison(), arm).Max(each)
	}
	return of(ofBaseline()).Or(of(ofCandidate()))
}

// timesOfPair are times of the runs of both arms, of those that are in the tables.
func timesOfPair(d metric.Definer) expr.Expr {
	return ofHistory(d).And(runsOfPair(), expr.On(metric.LabelRun)).Milliseconds()
}

func comparedRuns() panel {
	return servedList(board{
		title: "Runs of the two arms",
		means: "The runs of the two arms in the comparison, and what their figures may be used for: *for decisions* are valid ones that took turns and whose evidence is proven; why a run is less stands beside it. " +
			"A click on a run opens it, or takes it as A or B of the curves below. A run that `uma-load serve` does not show has no times here, and no page.",
		wrong:  "runs were left out as invalid in one arm and not in the other, or none is good enough for decisions: the verdict stands on that.",
		noData: noComparison,
		keys: stratumKeys(
			key{label: metric.LabelRun, title: "Run", look: looks(width(230), linked(
				path{"Details of the run", addressOfRun("Started", "Ended")},
				path{"Take it as run A (baseline)", addressOfOtherA},
				path{"Take it as run B (candidate)", addressOfOtherB("Started", "Ended")}))},
			key{label: metric.LabelArm, title: "Arm", look: ofWidth(80)},
			key{label: metric.LabelGrade, title: "Grade", look: looks(textCells(worthShades()...), width(120))},
			key{label: metric.LabelDetail, title: "Why no more", look: inspectable()}),
		figures: []figure{
			{title: "Known", expr: runsOfPair()},
			{title: "Started", expr: timesOfPair(metric.RunStartTimestampSeconds), look: width(165)},
			{title: "Ended", expr: timesOfPair(metric.RunEndTimestampSeconds), look: width(165)},
		},
		sortBy: "Run",
	}).WithTransformation(unshown("Known"))
}

func savedComparisons() panel {
	byName := expr.By(metric.LabelComparison)
	by := expr.Select(metric.ComparisonInfo).Max(expr.By(metric.LabelComparison, metric.LabelComparedBy))
	saved := expr.Select(metric.ComparisonSavedTimestampSeconds).Max(byName)
	return servedList(board{
		title:  "Saved comparisons",
		means:  "All comparisons that `uma-load serve` shows, the newest first, and the label of runs that each is by; a click chooses one. Parts that are compared each for itself have names of their own.",
		wrong:  "the one that is chosen above is not the newest, and you took it for that.",
		noData: noComparison,
		keys: []key{
			{label: metric.LabelComparison, title: "Comparison", look: looks(width(230), inspectable(), linked(path{"Show this comparison", addressOfComparison}))},
			{label: metric.LabelComparedBy, title: "By", look: ofWidth(90)},
		},
		figures: []figure{
			{title: "Saved", expr: saved.Times(by, expr.On(metric.LabelComparison).GroupLeft(metric.LabelComparedBy)).Milliseconds(), look: width(165)},
			{title: "Simulated", expr: expr.Select(metric.ComparisonSimulated).Max(byName), look: looks(yesOrNo(colorDoubt), width(85))},
		},
		sortBy: "Saved", desc: true,
	})
}
