package grafana

import (
	"errors"
	"fmt"
	"time"
)

// annotationStep is the step of an annotation's query (annotationQuery in the data source).
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
		if t.Expr == "" {
			continue // Grafana does not send it (filterQuery)
		}
		q, err := s.query(t.Expr, paceOf(s.Window, points, s.Scrape, 0))
		if err != nil {
			problems = append(problems, fmt.Errorf("query %s: %w", t.RefID, err))
			continue
		}
		q.RefID, q.Format, q.Legend = t.RefID, t.Format, s.Written(t.LegendFormat)
		if t.Instant {
			q.Instant, q.From, q.To, q.Step = true, s.Window.To, s.Window.To, 0
		}
		queries = append(queries, q)
	}
	return queries, errors.Join(problems...)
}

// Annotation returns the request of an annotation: over the range, in steps of at least a minute.
func (s Scope) Annotation(a Annotation) (Query, error) {
	q, err := s.query(a.Expr, paceOf(s.Window, 0, s.Scrape, annotationStep))
	q.RefID = "X"
	return q, err
}

// query writes an expression and aligns the range with the step, as Grafana does for Prometheus' caches.
func (s Scope) query(expression string, p pace) (Query, error) {
	written, err := s.Expr(expression, p.rate)
	return Query{Expr: written, From: align(s.Window.From, p.step), To: align(s.Window.To, p.step), Step: p.step}, err
}
