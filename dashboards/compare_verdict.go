package dashboards

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// verdictShades are the verdicts on a metric, in words and colours.
func verdictShades() []shade {
	return []shade{
		{"equivalent", "equivalent", colorNeutral},
		{"irrelevant", "differs, by less than matters", "#999999"},
		{"better", "better", colorGood},
		{metric.VerdictWorse, "worse", colorBad},
		{"different", "different", colorOther},
		{"better_extent_not_decided", "better, extent not decided", colorUnknown},
		{metric.VerdictWorseExtentOpen, "worse, extent not decided", colorUnknown},
		{"different_extent_not_decided", "different, extent not decided", colorUnknown},
		{metric.VerdictConfounded, "confounded with time", colorDoubt},
		{"inconclusive", "inconclusive: more runs", colorUnknown},
		{"difference_only", "difference only, not tested", colorUnknown},
	}
}

// verdicts selects the verdicts of the pair, one for every metric and stratum.
func verdicts(of expr.Matcher) expr.Expr {
	return ofPair(metric.ComparisonVerdict, of).Equals(expr.Number(1)).Max(expr.By(stratumLabels(metric.LabelMetric, metric.LabelVerdict)...))
}

// metricWidth is the width of a column of metrics, whose names do not wrap; the longest are those in bytes that engines
// report.
const metricWidth = 400

// widthOfMetrics is the width that the metrics of a unit need in a table with a dozen columns.
func widthOfMetrics(unit metric.Unit) int {
	if unit == metric.Bytes {
		return metricWidth
	}
	return 296
}

// verdictTable shows the verdicts on metrics of one unit; without a unit, on all other metrics.
func verdictTable(title, means string, of expr.Matcher, unit metric.Unit) panel {
	each := expr.By(stratumLabels(metric.LabelMetric)...)
	// The label of the verdict is joined to a figure that every line has.
	decides := ofPair(metric.ComparisonPrimary, of).Max(each).
		Times(verdicts(of), expr.On(stratumLabels(metric.LabelMetric)...).GroupLeft(metric.LabelVerdict))
	needed := ofPair(metric.ComparisonNeededRuns, of).Max(each)
	figures := slices.Concat(
		[]figure{{title: "Decides", expr: decides, look: looks(yesOrNo(colorNeutral), width(66))}},
		verdictMeans(of, unit), verdictRatios(of, unit), verdictDifferences(of, unit),
		[]figure{{title: "Runs needed", expr: needed, look: width(72)}})
	return servedList(board{
		title: title,
		means: means + " The figures of the arms are means over their runs; ratio and difference are of the candidate to the baseline, from where to where they lie with 95 %. " +
			"The metric that *decides* was chosen before any figure was seen. *Runs needed* are those of each arm, about, that an inconclusive verdict lacks, or one whose extent is not decided. " +
			"*Equivalent* was tested for, it is not the absence of a difference. Names that begin with *engine_reported* or *tool_reported* are the word of others.",
		wrong:  "a verdict is *worse*: by more than the margin. *Extent not decided*: there is a difference, and more runs would show whether it matters. *Confounded with time*: the arms ran in an order in which time explains the figures as well, which is no finding about the arms.",
		noData: "the comparison has no such metric, or " + noComparison,
		keys: stratumKeys(key{label: metric.LabelMetric, title: "Metric", look: ofWidth(widthOfMetrics(unit))},
			key{label: metric.LabelVerdict, title: "Verdict", look: looks(textCells(verdictShades()...), width(230))}),
		figures: figures,
		sortBy:  "Decides", desc: true,
	})
}

// verdictFigure is a figure of every line, in a unit if all lines have the same.
func verdictFigure(title string, d metric.Definer, unit metric.Unit, matchers ...expr.Matcher) figure {
	e := ofPair(d, matchers...).Max(expr.By(stratumLabels(metric.LabelMetric)...))
	if unit != "" && d.Def().Unit == metric.OfMetric {
		e = e.In(unit)
	}
	return figure{title: title, expr: e}
}

func verdictMeans(of expr.Matcher, unit metric.Unit) []figure {
	all := []figure{
		verdictFigure("Baseline", metric.ComparisonMean, unit, of, ofBaseline()),
		verdictFigure("Candidate", metric.ComparisonMean, unit, of, ofCandidate()),
	}
	for i := range all {
		all[i].look = width(80)
	}
	return all
}

// verdictRatios are the ratio and its interval. Bytes are compared by their difference: the interval of their ratio is
// never computed.
func verdictRatios(of expr.Matcher, unit metric.Unit) []figure {
	all := []figure{
		verdictFigure("Ratio", metric.ComparisonRatio, unit, of),
		verdictFigure("Ratio, from", metric.ComparisonRatioLower, unit, of),
		verdictFigure("Ratio, to", metric.ComparisonRatioUpper, unit, of),
	}
	for i := range all {
		all[i].look = width(70)
	}
	if unit == metric.Bytes {
		return all[:1]
	}
	return all
}

// verdictDifferences are the difference and its interval, where the verdict is based on the difference and not on the
// ratio. That is so for a latency that is 0 in a run, such as the wait in an empty queue.
func verdictDifferences(of expr.Matcher, unit metric.Unit) []figure {
	all := []figure{
		verdictFigure("Difference", metric.ComparisonDifference, unit, of),
		verdictFigure("Difference, from", metric.ComparisonDifferenceLower, unit, of),
		verdictFigure("Difference, to", metric.ComparisonDifferenceUpper, unit, of),
	}
	for i := range all {
		all[i].look = width(88)
	}
	if unit == metric.Bytes {
		return all
	}
	ofRatios := ofPair(metric.ComparisonRatioLower, of).Max(expr.By(stratumLabels(metric.LabelMetric)...))
	for i := range all {
		all[i].expr = all[i].expr.Unless(ofRatios, expr.On(stratumLabels(metric.LabelMetric)...))
	}
	return all
}

// yesOrNo shows 0 and 1 as no and yes, with a colour for yes.
func yesOrNo(color string) look {
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
