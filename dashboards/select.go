package dashboards

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// each selects a family on the chosen host with all labels of its own and without those of the scrape: two exporters of
// one host give one line, and sums count each value once.
func each(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(d, slices.Concat([]expr.Matcher{onHost()}, matchers)...).Max(byOwnLabels(d))
}

// eachPerSecond is the rate of a counter on the chosen host, likewise.
func eachPerSecond(c metric.Counter, matchers ...expr.Matcher) expr.Expr {
	return expr.Rate(c, expr.RateInterval, slices.Concat([]expr.Matcher{onHost()}, matchers)...).Max(byOwnLabels(c))
}

// one is the one value of a family on the chosen host.
func one(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(d, append([]expr.Matcher{onHost()}, matchers...)...).Max(byHost())
}

// perSecond is the rate of a counter on the chosen host.
func perSecond(c metric.Counter, matchers ...expr.Matcher) expr.Expr {
	return expr.Rate(c, expr.RateInterval, append([]expr.Matcher{onHost()}, matchers...)...).Max(byHost())
}

// byOwnLabels keeps the host and the labels that a family has of its own.
func byOwnLabels(d metric.Definer) expr.Grouping {
	return by(d.Def().Labels...)
}

// by keeps the host and some labels more.
func by(labels ...metric.Label) expr.Grouping {
	kept := append([]metric.Label{metric.LabelHost}, slices.DeleteFunc(slices.Clone(labels), func(l metric.Label) bool { return l == metric.LabelHost })...)
	return expr.By(kept...)
}

// shareOf is a part divided by a whole, absent while the whole is 0.
func shareOf(part, whole expr.Expr, m ...expr.Matching) expr.Expr {
	return part.DividedBy(whole.Above(expr.Number(0)), m...)
}
