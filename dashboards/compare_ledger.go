package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// whenReady is the ledger of a run when its engine answers.
func whenReady(run expr.Matcher, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(metric.RunLedgerBytes, append([]expr.Matcher{run, expr.Is(metric.LabelMoment, metric.MomentReady)}, matchers...)...)
}

// lineOfTwo is a line of the ledgers of both runs, as run A and run B instead of by name.
func lineOfTwo(line string) expr.Expr {
	is, perRun := expr.Is(metric.LabelLine, line), expr.By(metric.LabelRun)
	a := whenReady(isRunA(), is).Max(perRun).Labelled(metric.LabelRun, "A (baseline)")
	return a.Or(whenReady(isRunB(), is).Max(perRun).Labelled(metric.LabelRun, "B (candidate)"))
}

// lineWidth is the width of a column of lines of the ledger: the longest, slab_unreclaimable, does not wrap.
const lineWidth = 145

func twoLedgers() panel {
	return stacked(board{
		title:  "Ledgers of the two runs",
		means:  "The pool of run A and of run B when their engines answered, split into lines that add up to it, in the colours of the page *Unified memory*.",
		wrong:  "one line takes what another lacks, without a reason in the plan: *page cache* that a run before left behind, or *unattributed*.",
		noData: "no ledger was kept with these runs, or none is chosen",
		keys:   []key{{label: metric.LabelRun, title: "Run"}},
	}, lineOfTwo)
}

func twoLedgerLines() panel {
	perLine := expr.By(metric.LabelLine)
	a, b := whenReady(isRunA()).Max(perLine), whenReady(isRunB()).Max(perLine)
	return byLine(board{
		title:  "Difference by line, when ready",
		means:  "The same in figures: B less A, always in the same order. Differences of all lines add up to the difference of the pools, which is 0 on one machine.",
		wrong:  "a line differs that has nothing to do with what was changed.",
		noData: "no ledger was kept with both runs, or none is chosen",
		keys:   []key{{label: metric.LabelLine, title: "Line", look: width(lineWidth)}},
		figures: []figure{
			{title: "A", expr: a},
			{title: "B", expr: b},
			{title: "B - A", expr: b.Minus(a, expr.On(metric.LabelLine))},
		},
	}, func(line string) expr.Expr {
		is := expr.Is(metric.LabelLine, line)
		return whenReady(isRunA(), is).Or(whenReady(isRunB(), is)).Max(perLine)
	})
}

func armLedgers() panel {
	at := func(moment string) expr.Expr {
		return ofPair(metric.ComparisonLedgerDifferenceBytes, expr.Is(metric.LabelMoment, moment)).Max(expr.By(stratumLabels(metric.LabelLine)...))
	}
	return byLine(board{
		title:  "Difference by line between the arms",
		means:  "Candidate less baseline, means over all runs of the arms, at the three moments of a run. What differs at *start* was there before the engine was.",
		wrong:  "a line differs at *start* already: the arms did not begin alike.",
		noData: "no ledger of both arms was kept, or " + noComparison,
		keys:   stratumKeys(key{label: metric.LabelLine, title: "Line", look: width(lineWidth)}),
		figures: []figure{
			{title: "Start", expr: at(metric.MomentStart)},
			{title: "Ready", expr: at(metric.MomentReady)},
			{title: "Peak", expr: at(metric.MomentPeak)},
		},
	}, func(line string) expr.Expr {
		return ofPair(metric.ComparisonLedgerDifferenceBytes, expr.Is(metric.LabelLine, line)).Max(expr.By(stratumLabels(metric.LabelLine)...))
	})
}
