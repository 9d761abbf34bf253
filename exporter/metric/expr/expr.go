// Package expr builds PromQL from the vocabulary and remembers which series it used.
//
// The vocabulary is checked while an expression is built: Rate takes only a Counter and HistogramQuantile only a
// Histogram, so their misuse does not compile; labels that a series does not have, meaningless sums and arithmetic on
// different units are refused. A refusal does not interrupt building: it stays in the expression and Err returns it, so
// that a panel or a rule is written as one expression and checked once.
package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// Expr is a PromQL expression. The zero value is empty; values are never changed, every method returns a new one.
type Expr struct {
	parts      []part
	scalar     bool           // a number, not a vector
	loose      bool           // needs parentheses as an operand
	labels     []metric.Label // that its series can carry
	addends    []addend       // the addends of a sum over it
	percentile bool           // its values are percentiles: their mean is not a percentile
	unit       Unit
	err        error
}

// part is a piece of the text: a selector, the name of a label, or the text between them. Selectors are kept apart so
// that the series in use can be listed and Offset reaches each of them, labels so that they can have another name.
type part struct {
	text     string
	selector *selector
	label    metric.Label
}

// addend is a family whose values an expression carries, and the settled labels: fixed by a matcher or removed by an
// aggregation that did not add.
type addend struct {
	family  string
	rule    metric.SumRule
	settled []metric.Label
}

// RefusedError is a refused use: of which series, and over which label, "" if it does not concern a single one.
type RefusedError struct {
	Metric string
	Label  metric.Label
	Reason string
}

// Error names the series, the reason and the label.
func (e *RefusedError) Error() string {
	subject := e.Metric
	if e.Label != "" {
		subject += ", label " + string(e.Label)
	}
	return subject + ": " + e.Reason
}

// String is the PromQL text.
func (e Expr) String() string { return e.Named(Names{}) }

// Named is the PromQL text for a Prometheus with other names.
func (e Expr) Named(n Names) string {
	var b strings.Builder
	for _, p := range e.parts {
		switch {
		case p.selector != nil:
			b.WriteString(p.selector.text(n))
		case p.label != "":
			b.WriteString(n.Label(p.label))
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// Metrics are the definitions that the expression reads, in the order of their first use.
func (e Expr) Metrics() []metric.Def {
	var used []metric.Def
	for _, p := range e.parts {
		if p.selector == nil {
			continue
		}
		known := func(d metric.Def) bool { return d.Name == p.selector.def.Name }
		if !slices.ContainsFunc(used, known) {
			used = append(used, p.selector.def)
		}
	}
	return used
}

// Err is why the expression must not be used, nil if it may be. Refused uses of the vocabulary are *RefusedError.
func (e Expr) Err() error {
	if len(e.parts) == 0 {
		return errors.Join(e.err, errEmpty)
	}
	return e.err
}

var errEmpty = errors.New("empty expression")

// Unit is the unit of the values.
func (e Expr) Unit() Unit { return e.unit }

// HasLabel reports whether the series of the expression can carry the label.
func (e Expr) HasLabel(label metric.Label) bool { return slices.Contains(e.labels, label) }

// Labels are the labels that the series of the expression can carry.
func (e Expr) Labels() []metric.Label { return slices.Clone(e.labels) }

// families names the series in use, for messages.
func (e Expr) families() string {
	var names []string
	for _, def := range e.Metrics() {
		names = append(names, def.Name)
	}
	return strings.Join(names, ", ")
}

// failed returns the expression with one more fault.
func (e Expr) failed(err error) Expr {
	e.err = errors.Join(e.err, err)
	return e
}

// refused returns the expression with a refusal that names its series.
func (e Expr) refused(label metric.Label, format string, args ...any) Expr {
	return e.failed(&RefusedError{Metric: e.families(), Label: label, Reason: fmt.Sprintf(format, args...)})
}

// wrapped returns the expression between two texts, such as a function's name and its closing
// parenthesis; the result is a unit of its own.
func (e Expr) wrapped(before, after string) Expr {
	return e.between([]part{{text: before}}, []part{{text: after}})
}

// between is wrapped for texts that name labels.
func (e Expr) between(before, after []part) Expr {
	e.err = e.Err()
	e.parts = slices.Concat(before, e.parts, after)
	e.loose = false
	return e
}

// operand is the expression as an operand of an operator.
func (e Expr) operand() []part {
	if e.loose {
		return e.wrapped("(", ")").parts
	}
	return e.parts
}
