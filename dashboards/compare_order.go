package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// inspectable lets users open cells whose text is longer than their column.
func inspectable() look { return look{{Id: "custom.inspect", Value: true}} }

// ofWidth is the look of a column of texts of any length.
func ofWidth(pixels int) look {
	return looks(width(pixels), inspectable())
}

// orderShades are the orders in which arms can follow each other, in words and colours.
func orderShades() []shade {
	return []shade{
		{"blocked", "blocked: arm and time are one", colorDoubt},
		{"abba", "ABBA", colorGood}, {"alternating", "alternating", colorGood}, {"random", "random", colorGood},
		{"single", "one run of each", colorUnknown}, {"unknown", "not known", colorUnknown},
	}
}

// differing is the number of items in which the arms differ, among those that were recorded.
func differing() expr.Expr {
	each := stratumLabels()
	items := ofPair(metric.ComparisonFairnessDiffers).Max(expr.By(stratumLabels(metric.LabelItem)...))
	return items.Equals(expr.Number(1)).Count(expr.By(each...)).
		Or(items.Count(expr.By(each...)).Times(expr.Number(0)), expr.On(each...))
}

func compareOrder() panel {
	each := stratumLabels()
	runs := func(arm expr.Matcher) expr.Expr { return ofPair(metric.ComparisonRuns, arm).Max(expr.By(each...)) }
	order := ofPair(metric.ComparisonOrderInfo).Max(expr.By(stratumLabels(metric.LabelOrder)...))
	return servedList(board{
		title:  "Order of the runs",
		means:  "How the runs of the two arms followed each other, how many there are, and in how many things that should be the same the arms differ.",
		wrong:  "the order is *blocked*: whatever changed with time (page cache, heat, a reboot) looks like the arm. An arm has only a few runs, or the arms differ in what is not the arm itself.",
		noData: noComparison,
		keys:   stratumKeys(key{label: metric.LabelOrder, title: "Order", look: looks(textCells(orderShades()...), width(230))}),
		figures: []figure{
			{title: "Baseline, runs", expr: runs(ofBaseline()).Times(order, expr.On(each...).GroupLeft(metric.LabelOrder))},
			{title: "Candidate, runs", expr: runs(ofCandidate())},
			{title: "Items that differ", expr: differing()},
		},
		sortBy: "Model",
	})
}

func compareWarnings() panel {
	warnings := expr.Select(metric.ComparisonWarning, inComparison()).Max(expr.By(metric.LabelCode, metric.LabelDetail))
	return servedList(board{
		title:   "Warnings of the comparison",
		means:   "What `uma-load compare` found that speaks against reading the verdicts as they stand: of the whole comparison, its strata and its pairs, at most 100.",
		wrong:   "*blocked_order*, *pair_drift*, *drift* of arms without pairs, *first_after_switch* or *mixed_modes* is among them: then the arms may not be why the figures differ.",
		noData:  "no warning, or " + noComparison,
		keys:    []key{{label: metric.LabelCode, title: "Code", look: ofWidth(190)}, {label: metric.LabelDetail, title: "What it found", look: inspectable()}},
		figures: []figure{{title: "Said", expr: warnings}},
		sortBy:  "Code",
	}).WithTransformation(unshown("Said"))
}

func compareFairness() panel {
	items := ofPair(metric.ComparisonFairnessDiffers).
		Max(expr.By(stratumLabels(metric.LabelItem, metric.LabelBaselineValue, metric.LabelCandidateValue)...))
	return servedList(board{
		title:  "Were the arms alike",
		means:  "What should be the same in both arms, with what each had; what differs comes first. Quantities are means with their range over the runs of the arm. At most 100 items are shown.",
		wrong:  "something differs that the arms were not meant to differ in: free memory and page cache at the start, temperature, clock cap, driver, model. Then that may be the cause.",
		noData: noComparison,
		keys: stratumKeys(key{label: metric.LabelItem, title: "Item", look: ofWidth(300)},
			key{label: metric.LabelBaselineValue, title: "Baseline", look: ofWidth(340)},
			key{label: metric.LabelCandidateValue, title: "Candidate", look: ofWidth(340)}),
		figures: []figure{{title: "Differs", expr: items, look: looks(yesOrNo(colorDoubt), width(90))}},
		sortBy:  "Differs", desc: true,
	})
}

func compareDrift() panel {
	each := expr.By(stratumLabels(metric.LabelMetric, metric.LabelArm)...)
	return servedList(board{
		title:  "Does time show inside an arm",
		means:  "Whether a metric goes with time among the runs of one arm (Spearman's correlation, -1 to 1), and whether the first runs after a change of arms stand out from the others (*after a change*). Of many that are looked at, one in 20 is beyond chance by chance.",
		wrong:  "a metric that the verdict is about goes with time, or stands out after a change: something is carried over from run to run, and it is not the arm.",
		noData: "fewer runs than a correlation needs, or " + noComparison,
		keys:   stratumKeys(key{label: metric.LabelMetric, title: "Metric", look: ofWidth(metricWidth)}, key{label: metric.LabelArm, title: "Arm", look: ofWidth(75)}),
		figures: []figure{
			{title: "With time", expr: ofPair(metric.ComparisonDriftCorrelation).Max(each), look: width(85)},
			{title: "Beyond chance", expr: ofPair(metric.ComparisonDriftSignificant).Max(each), look: looks(yesOrNo(colorDoubt), width(115))},
			{title: "After a change", expr: ofPair(metric.ComparisonAfterSwitchStandsOut).Max(each), look: yesOrNo(colorDoubt)},
		},
		sortBy: "Beyond chance", desc: true,
	})
}
