package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/metric"
)

// Window is the length of time that a range function looks back.
type Window string

// RateInterval is Grafana's window that fits the scrape interval and the width of the panel; it
// means nothing in a rule.
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
	switch {
	case s.offset > 0:
		text += " offset " + model.Duration(s.offset).String()
	case s.offset < 0:
		text += " offset -" + model.Duration(-s.offset).String()
	}
	return text
}

// targetLabels are set by the scrape job on every series. The address of the target, instance,
// is not among them: it changes with a port, and no panel or rule may depend on it.
func targetLabels() []metric.Label { return []metric.Label{metric.LabelHost, metric.LabelJob} }

// expr is the selector as an expression.
func (s selector) expr(extra ...metric.Label) Expr {
	labels := slices.Concat(s.def.Labels, targetLabels(), extra)
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

// over applies a function to the values that the selector finds within its window.
func over(function string, s selector, extra ...metric.Label) Expr {
	e := s.expr(extra...).wrapped(function+"(", ")")
	if s.window == "" || s.window == "0s" || strings.HasPrefix(string(s.window), "-") {
		e = e.refused("", "%s needs a window, not %q", function, s.window)
	}
	return e
}

// Rate is the growth of a counter per second.
func Rate(c metric.Counter, window Window, matchers ...Matcher) Expr {
	e := over("rate", selector{def: c.Def(), window: window, matchers: matchers})
	e.unit.PerSecond = true
	return e
}

// Increase is the growth of a counter within the window.
func Increase(c metric.Counter, window Window, matchers ...Matcher) Expr {
	return over("increase", selector{def: c.Def(), window: window, matchers: matchers})
}

// Delta is the change of a gauge within the window.
func Delta(g metric.Gauge, window Window, matchers ...Matcher) Expr {
	return over("delta", selector{def: g.Def(), window: window, matchers: matchers})
}

// Changes is how many times a gauge changed within the window.
func Changes(g metric.Gauge, window Window, matchers ...Matcher) Expr {
	e := over("changes", selector{def: g.Def(), window: window, matchers: matchers})
	e.unit = Unit{Base: metric.Count}
	return e
}

// PredictLinear is the value that a gauge will have in a while if it goes on as within the window.
func PredictLinear(g metric.Gauge, window Window, ahead time.Duration, matchers ...Matcher) Expr {
	e := over("predict_linear", selector{def: g.Def(), window: window, matchers: matchers})
	e.parts[len(e.parts)-1].text = fmt.Sprintf(", %s)", number(ahead.Seconds()))
	return e
}

// Absent is 1 if no series is selected, with the labels that are matched by value.
func Absent(d metric.Definer, matchers ...Matcher) Expr {
	e := Select(d, matchers...).wrapped("absent(", ")")
	e.labels = e.addends[0].settled
	e.unit = Unit{Base: metric.State}
	e.addends = []addend{{family: d.Def().Name, rule: metric.SumNever()}}
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
			moved := *p.selector
			moved.offset += d
			e.parts[i].selector = &moved
		}
	}
	return e
}
