package expr

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
)

// Copied gives series whose label matches the pattern (RE2, the whole value) another label, or a new value of the same
// one: the text, in which $1 is the match of the pattern's first parentheses. Other series stay unchanged.
func (e Expr) Copied(from metric.Label, pattern string, to metric.Label, text string) Expr {
	if e.scalar {
		e = e.failed(errScalar("label_replace"))
	}
	if !e.HasLabel(from) {
		e = e.refused(from, "no such label")
	}
	if _, err := regexp.Compile(pattern); err != nil {
		e = e.refused(from, "%v", err)
	}
	return e.replaced(to, text, from, pattern)
}

// replaced writes label_replace. Names of labels need no escapes in its quotes.
func (e Expr) replaced(to metric.Label, text string, from metric.Label, pattern string) Expr {
	quoted := func(before string, label metric.Label) []part {
		if label == "" {
			return []part{{text: before + `""`}}
		}
		return []part{{text: before + `"`}, {label: label}, {text: `"`}}
	}
	after := slices.Concat(quoted(", ", to), quoted(", "+strconv.Quote(text)+", ", from), []part{{text: ", " + strconv.Quote(pattern) + ")"}})
	e = e.between([]part{{text: "label_replace("}}, after)
	e.labels = union(e.labels, []metric.Label{to})
	return e
}
