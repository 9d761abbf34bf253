package expr

import (
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// Grouping defines which labels an aggregation keeps.
type Grouping struct {
	without bool
	labels  []metric.Label
}

// By keeps these labels.
func By(labels ...metric.Label) Grouping { return Grouping{labels: labels} }

// Without keeps all labels but these.
func Without(labels ...metric.Label) Grouping { return Grouping{without: true, labels: labels} }

// kept are the labels that are left of those given.
func (g Grouping) kept(labels []metric.Label) []metric.Label {
	return slices.DeleteFunc(slices.Clone(labels), func(label metric.Label) bool {
		return slices.Contains(g.labels, label) == g.without
	})
}

// written is the grouping.
func (g Grouping) written() []part {
	word := "by"
	if g.without {
		word = "without"
	}
	return list(word+" (", g.labels, ")")
}

// Sum adds up. It is refused if the vocabulary defines the sum as meaningless.
func (e Expr) Sum(g Grouping) Expr {
	if e.percentile {
		e = e.refused("", "percentiles cannot be summed")
	}
	for _, a := range e.addends {
		kept := slices.Concat(g.kept(e.labels), a.settled)
		if reason := a.rule.Refuses(kept); reason != "" {
			e = e.failed(&RefusedError{Metric: a.family, Label: a.offender(e.labels, kept), Reason: reason})
		}
	}
	return e.aggregate("sum", g)
}

// offender is the first label whose loss makes the sum meaningless, "" where no label saves it.
func (a addend) offender(all, kept []metric.Label) metric.Label {
	for _, label := range all {
		if !slices.Contains(kept, label) && a.rule.Refuses(without(all, label)) != "" {
			return label
		}
	}
	return ""
}

// Avg is the mean. Of percentiles it is refused.
func (e Expr) Avg(g Grouping) Expr {
	if e.percentile {
		e = e.refused("", "a mean of percentiles is no percentile")
	}
	return e.reduce("avg", g)
}

// Min is the smallest value.
func (e Expr) Min(g Grouping) Expr { return e.reduce("min", g) }

// Max is the largest value.
func (e Expr) Max(g Grouping) Expr { return e.reduce("max", g) }

// Count is the number of series.
func (e Expr) Count(g Grouping) Expr {
	e = e.aggregate("count", g)
	e.unit = Unit{Base: metric.Count}
	e.addends = nil
	return e
}

// Quantile is the q-quantile over series, q from 0 to 1.
func (e Expr) Quantile(q float64, g Grouping) Expr {
	if q < 0 || q > 1 {
		e = e.refused("", "quantile %v is not within 0 and 1", q)
	}
	e = e.reduce("quantile", g, number(q))
	e.percentile = true
	return e
}

// TopK keeps the k largest values within each group, with all their labels.
func (e Expr) TopK(k int, g Grouping) Expr { return e.pick("topk", k, g) }

// pick keeps some series of each group as they are.
func (e Expr) pick(function string, k int, g Grouping) Expr {
	if k < 1 {
		e = e.refused("", "%s of %d", function, k)
	}
	labels, addends := e.labels, e.addends
	e = e.aggregate(function, g, number(float64(k)))
	e.labels, e.addends = labels, addends
	return e
}

// reduce aggregates without adding, so the labels that it removes were not summed.
func (e Expr) reduce(function string, g Grouping, parameters ...string) Expr {
	lost := slices.DeleteFunc(slices.Clone(e.labels), func(label metric.Label) bool {
		return slices.Contains(g.kept(e.labels), label)
	})
	settled := make([]addend, len(e.addends))
	for i, a := range e.addends {
		settled[i] = addend{a.family, a.rule, slices.Concat(a.settled, lost)}
	}
	e = e.aggregate(function, g, parameters...)
	e.addends = settled
	return e
}

// aggregate writes an aggregation and keeps the labels that it leaves.
func (e Expr) aggregate(function string, g Grouping, parameters ...string) Expr {
	if e.scalar {
		e = e.failed(errScalar(function))
	}
	for _, label := range g.labels {
		if !e.HasLabel(label) {
			e = e.refused(label, "grouped by a label that it does not have")
		}
	}
	before := slices.Concat([]part{{text: function + " "}}, g.written(), []part{{text: " (" + strings.Join(append(parameters, ""), ", ")}})
	e = e.between(before, []part{{text: ")"}})
	e.labels = g.kept(e.labels)
	return e
}

// list is label names as PromQL lists them, between two texts.
func list(before string, labels []metric.Label, after string) []part {
	written := []part{{text: before}}
	for i, label := range labels {
		if i > 0 {
			written = append(written, part{text: ", "})
		}
		written = append(written, part{label: label})
	}
	return append(written, part{text: after})
}

// without returns the list without one label.
func without(labels []metric.Label, label metric.Label) []metric.Label {
	return slices.DeleteFunc(slices.Clone(labels), func(l metric.Label) bool { return l == label })
}
