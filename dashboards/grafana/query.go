package grafana

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// instantSuffix is what Grafana appends to the letter of a query that is sent both over the
// range and for its end.
const instantSuffix = "-Instant"

// annotationStep is the step of an annotation's query unless it has one (annotationQuery in the
// data source).
const annotationStep = time.Minute

// Query is a request to Prometheus, ready to be sent.
type Query struct {
	RefID string
	Expr  string
	// Instant queries the moment To, otherwise the query is over From to To in steps.
	Instant  bool
	From, To time.Time
	Step     time.Duration
	// Legend names the series; labels in double braces, "" for the series' own name.
	Legend string
	Format string
}

// Queries returns the requests of a panel whose width, in pixels, is points.
func (s Scope) Queries(p Panel, points int) ([]Query, error) {
	if p.MaxDataPoints > 0 {
		points = p.MaxDataPoints
	}
	var queries []Query
	var problems []error
	for _, t := range p.Targets {
		if t.Hide || t.Expr == "" {
			continue // Grafana does not send it (filterQuery)
		}
		asked, err := s.target(p, t, points)
		if err != nil {
			problems = append(problems, fmt.Errorf("query %s: %w", t.RefID, err))
			continue
		}
		queries = append(queries, asked...)
	}
	return queries, errors.Join(problems...)
}

// target returns the request of a query, or its two requests. The default without instant or range is a range query
// (Parse in promlib).
func (s Scope) target(p Panel, t Target, points int) ([]Query, error) {
	panelLeast, err := s.least(p.Interval)
	if err != nil {
		return nil, err
	}
	queryLeast, err := s.least(t.Interval)
	if err != nil {
		return nil, err
	}
	pace := paceOf(s.Window, points, s.Scrape, panelLeast, queryLeast)
	pace.step *= time.Duration(max(1, t.IntervalFactor))
	over, err := s.query(t.Expr, pace)
	if err != nil {
		return nil, err
	}
	over.RefID, over.Format, over.Legend = t.RefID, t.Format, s.Written(t.LegendFormat)
	now := over
	now.Instant, now.From, now.To, now.Step = true, s.Window.To, s.Window.To, 0
	switch {
	case t.Instant && t.Range:
		now.RefID += instantSuffix
		return []Query{over, now}, nil
	case t.Instant:
		return []Query{now}, nil
	}
	return []Query{over}, nil
}

// least reads a minimum interval, which may be a variable; 0 without one, or if it is one of Grafana's own variables.
func (s Scope) least(text string) (time.Duration, error) {
	text = s.Written(text)
	if text == "" || strings.HasPrefix(text, "$__") || strings.HasPrefix(text, "${__") {
		return 0, nil
	}
	return ParseInterval(text)
}

// Annotation returns the request of an annotation: over the range, in steps of a minute or its own.
func (s Scope) Annotation(a Annotation) (Query, error) {
	least, err := s.least(a.Step)
	if err != nil {
		return Query{}, err
	}
	if least == 0 {
		least = annotationStep
	}
	q, err := s.query(a.Expr, paceOf(s.Window, 0, s.Scrape, 0, least))
	q.RefID = "X"
	return q, err
}

// query writes an expression and aligns the range with the step, as Grafana does for Prometheus' caches.
func (s Scope) query(expression string, p pace) (Query, error) {
	written, err := s.Expr(expression, p.step, p.rate)
	return Query{Expr: written, From: align(s.Window.From, p.step), To: align(s.Window.To, p.step), Step: p.step}, err
}

// Expr writes the variables into an expression. A variable that may have several values is escaped for a regular
// expression, and several values are (a|b); any other variable is not escaped (interpolateQueryExpr in the data
// source). An explicit format replaces these rules.
//
// A value stays inside the quotes that it is written into. Grafana escapes for double quotes if its feature toggle
// prometheusSpecialCharsInLabelValues is on, and leaves the quote alone if it is off; here the open quote is always
// escaped. With an explicit format Grafana escapes nothing: a value that would end its quotes is an error here.
func (s Scope) Expr(expression string, step, rate time.Duration) (string, error) {
	p := pace{interval: step, step: step, rate: rate}
	return replace(expression, func(m mention, at quoting) (string, error) {
		v, known := s.Variable(m.name)
		quote := at.quote
		switch {
		case !known:
			return s.value(m, p), nil
		case at.escaped:
			return "", fmt.Errorf("%s stands behind a backslash, which would escape a part of its value", m.written)
		case m.format != "":
			return v.explicit(m, quote)
		case v.isAll() && v.AllValue != "":
			return v.AllValue, nil // the dashboard's own text, never escaped
		case v.Multi || v.IncludeAll:
			return quoteText(alternatives(v.values(), escapeQueryRegex), quote)
		}
		return quoteText(strings.Join(v.values(), ","), quote)
	})
}

// explicit writes a variable in the format of the reference, if that is safe inside the quote.
func (r Resolved) explicit(m mention, quote byte) (string, error) {
	text := r.format(m.format)
	if quote == 0 || r.isAll() && r.AllValue != "" {
		return text, nil
	}
	if strings.ContainsAny(text, "\\\n"+string(quote)) && !(quote == '`' && !strings.Contains(text, "`")) {
		return "", fmt.Errorf("%s writes %q into a quoted text as it is, which Prometheus cannot read", m.written, text)
	}
	return text, nil
}
