package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// confounded is what a verdict says when time explains it as well.
const confounded = ", confounded with time"

// verdictShades are what can be said of a metric, in words and colours. Whatever is confounded with time has one
// colour, and another than if it were not: it is no finding, better or worse.
func verdictShades() []shade {
	plain := []shade{
		{"equivalent", "equivalent", colorNeutral},
		{"irrelevant", "differs, by less than matters", "#999999"},
		{"better", "better", colorGood},
		{metric.VerdictWorse, "worse", colorBad},
		{"different", "different", colorOther},
		{"inconclusive", "inconclusive: more runs", colorUnknown},
		{"difference_only", "too few runs to say", colorUnknown},
	}
	all := plain
	for _, s := range plain {
		all = append(all, shade{s.value + confounded, s.text + confounded, colorDoubt})
	}
	return all
}

// verdicts are those of the pair, one for every metric and stratum; of those that are confounded with time the
// label says so.
func verdicts(of expr.Matcher) expr.Expr {
	each := stratumLabels(metric.LabelMetric)
	said := ofPair(metric.ComparisonVerdict, of).Equals(expr.Number(1)).Max(expr.By(stratumLabels(metric.LabelMetric, metric.LabelVerdict)...))
	doubtful := ofPair(metric.ComparisonConfounded, of).Equals(expr.Number(1)).Max(expr.By(each...))
	marked := said.And(doubtful, expr.On(each...)).Copied(metric.LabelVerdict, "(.+)", metric.LabelVerdict, "$1"+confounded)
	return said.Unless(doubtful, expr.On(each...)).Or(marked)
}

// verdictTable is what a comparison says of metrics of one unit; without one, of all others.
func verdictTable(title, means string, of expr.Matcher, unit metric.Unit) panel {
	each := expr.By(stratumLabels(metric.LabelMetric)...)
	mean := func(arm expr.Matcher) expr.Expr {
		e := ofPair(metric.ComparisonMean, of, arm).Max(each)
		if unit != "" {
			e = e.In(unit)
		}
		return e
	}
	figures := []figure{
		{title: "Baseline", expr: mean(ofBaseline())},
		{title: "Candidate", expr: mean(ofCandidate())},
		{title: "Ratio", expr: ofPair(metric.ComparisonRatio, of).Max(each)},
	}
	// Bytes are compared by their difference: no interval of a ratio is ever worked out.
	if unit != metric.Bytes {
		means += " The interval of the ratio holds 95 %; there is none where the analysis is not of ratios."
		figures = append(figures,
			figure{title: "Ratio, from", expr: ofPair(metric.ComparisonRatioLower, of).Max(each)},
			figure{title: "Ratio, to", expr: ofPair(metric.ComparisonRatioUpper, of).Max(each)})
	}
	verdict := verdicts(of)
	// The label of the verdict is lent to a figure that every line has.
	byTime := ofPair(metric.ComparisonConfounded, of).Max(each).
		Times(verdict, expr.On(stratumLabels(metric.LabelMetric)...).GroupLeft(metric.LabelVerdict))
	return list(board{
		title: title,
		means: means + " Both figures are means over the runs of the arm; the ratio is that of the candidate over the baseline. " +
			"*Equivalent* was tested for, it is not the absence of a difference. Names that begin with *engine_reported* or *tool_reported* are the word of others.",
		wrong:   "a verdict is *worse*. If it is *confounded with time* the arms ran in an order in which time explains the difference as well: that is no finding about the arms.",
		noData:  noComparison,
		keys:    stratumKeys(key{label: metric.LabelMetric, title: "Metric"}, key{label: metric.LabelVerdict, title: "Verdict", look: append(textCells(verdictShades()...), width(260))}),
		figures: append([]figure{{title: "Confounded", expr: byTime, look: yesOrNo(colorDoubt)}}, figures...),
		sortBy:  "Metric",
	})
}

// yesOrNo writes 0 and 1 as words, with a colour where it is so.
func yesOrNo(color string) []dashboard.DynamicConfigValue {
	return textCells(shade{"0", "no", "transparent"}, shade{"1", "yes", color})
}

func verdictOfMemory() panel {
	return verdictTable("Memory", "What can be said of metrics in bytes.", expr.Matches(metric.LabelMetric, ".+_bytes"), metric.Bytes)
}

func verdictOfLatency() panel {
	return verdictTable("Latency", "What can be said of metrics in seconds.", expr.Matches(metric.LabelMetric, ".+_seconds"), metric.Seconds)
}

func verdictOfTheRest() panel {
	return verdictTable("Throughput, heat and the rest", "What can be said of all other metrics, each in the unit that its name ends with.",
		expr.MatchesNot(metric.LabelMetric, ".+_(bytes|seconds)"), "")
}
