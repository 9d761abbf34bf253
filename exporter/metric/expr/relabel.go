package expr

import (
	"regexp"
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
	if _, err := regexp.Compile("^(?:" + pattern + ")$"); err != nil {
		e = e.refused(from, "%v", err)
	}
	after := ""
	for _, argument := range []string{string(to), text, string(from), pattern} {
		after += ", " + strconv.Quote(argument)
	}
	e = e.wrapped("label_replace(", after+")")
	e.labels = union(e.labels, []metric.Label{to})
	return e
}
