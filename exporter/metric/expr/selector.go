package expr

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/metric"
)

// Window is the length of time that a range function looks back.
type Window string

// RateInterval is Grafana's window that fits the scrape interval and the width of the panel; it has no meaning in a
// rule.
const RateInterval Window = "$__rate_interval"

// Over is a window of fixed length.
func Over(d time.Duration) Window { return Window(model.Duration(d).String()) }

// selector reads one family.
type selector struct {
	def      metric.Def
	suffix   string // _bucket for the classic form of a histogram
	matchers []Matcher
	window   Window
	offset   time.Duration
	shift    string // Grafana variable that holds an offset in seconds
	atEnd    bool   // at the end of the time range, at every step of it
}

// text writes the selector.
func (s *selector) text() string {
	text := s.def.Name + s.suffix
	if len(s.matchers) > 0 {
		written := make([]string, len(s.matchers))
		for i, m := range s.matchers {
			written[i] = m.text()
		}
		text += "{" + strings.Join(written, ",") + "}"
	}
	if s.window != "" {
		text += "[" + string(s.window) + "]"
	}
	if s.atEnd {
		text += " @ end()"
	}
	switch {
	case s.shift != "":
		text += " offset ${" + s.shift + "}" // without a unit it is in seconds, and may have a fraction
	case s.offset > 0:
		text += " offset " + model.Duration(s.offset).String()
	case s.offset < 0:
		text += " offset -" + model.Duration(-s.offset).String()
	}
	return text
}

// targetLabels are set by the scrape job on every series. The address of the target, instance, is not in the list: it
// changes with a port, and no panel or rule may depend on it.
func targetLabels() []metric.Label { return []metric.Label{metric.LabelHost, metric.LabelJob} }

// expr is the selector as an expression.
func (s selector) expr(extra ...metric.Label) Expr {
	labels := slices.Concat(s.def.Labels, targetLabels(), extra)
	if s.def.Kind == metric.KindSummary {
		labels = append(labels, metric.LabelQuantile)
	}
	slices.Sort(labels)
	e := Expr{parts: []part{{selector: &s}}, labels: slices.Compact(labels), unit: Unit{Base: s.def.Unit}}
	sums := addend{family: s.def.Name, rule: s.def.Sum}
	for _, m := range s.matchers {
		if !e.HasLabel(m.label) {
			e = e.refused(m.label, "no such label")
		}
		if err := m.check(); err != nil {
			e = e.refused(m.label, "%v", err)
		}
		if m.operator == "=" {
			sums.settled = append(sums.settled, m.label)
		}
	}
	e.addends = []addend{sums}
	return e
}

// Select reads the present values of a family; of a histogram, its native form.
func Select(d metric.Definer, matchers ...Matcher) Expr {
	return selector{def: d.Def(), matchers: matchers}.expr()
}

// Absent is 1 if no series is selected, with the labels that are matched by value.
func Absent(d metric.Definer, matchers ...Matcher) Expr {
	e := Select(d, matchers...).wrapped("absent(", ")")
	e.labels = e.addends[0].settled
	e.unit = Unit{Base: metric.State}
	e.addends = []addend{{family: d.Def().Name, rule: metric.SumNever()}}
	return e
}

// IfNone is 1 if the expression has no series at all, else nothing.
func (e Expr) IfNone() Expr {
	if e.scalar {
		e = e.failed(errScalar("absent"))
	}
	e = e.wrapped("absent(", ")")
	e.labels, e.unit, e.percentile = nil, Unit{Base: metric.State}, false
	e.addends = []addend{{rule: metric.SumNever()}}
	return e
}

// Offset is the expression as it was some time ago (or, below zero, will be): every selector in it
// is moved.
func (e Expr) Offset(d time.Duration) Expr {
	if d%time.Millisecond != 0 {
		return e.failed(errors.New("offset: Prometheus counts in whole milliseconds"))
	}
	e.parts = slices.Clone(e.parts)
	for i, p := range e.parts {
		if p.selector != nil {
			if p.selector.shift != "" {
				e = e.failed(errors.New("offset: moved already, by a variable"))
			}
			moved := *p.selector
			moved.offset += d
			e.parts[i].selector = &moved
		}
	}
	return e
}

// AtEnd is the expression as it is at the end of the time range, at every step of it: every selector in it is fixed. It
// tells which series of a curve are still there.
func (e Expr) AtEnd() Expr {
	e.parts = slices.Clone(e.parts)
	for i, p := range e.parts {
		if p.selector != nil {
			fixed := *p.selector
			fixed.atEnd = true
			e.parts[i].selector = &fixed
		}
	}
	return e
}

// OffsetBy is the expression as it was as many seconds ago as a variable of the dashboard holds, in every selector. The
// variable may be negative.
func (e Expr) OffsetBy(variable string) Expr {
	e.parts = slices.Clone(e.parts)
	for i, p := range e.parts {
		if p.selector == nil {
			continue
		}
		if p.selector.offset != 0 || p.selector.shift != "" {
			e = e.failed(errors.New("offset: moved already, by a time or another variable"))
		}
		moved := *p.selector
		moved.shift = variable
		e.parts[i].selector = &moved
	}
	return e
}
