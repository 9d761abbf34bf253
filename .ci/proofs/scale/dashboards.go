package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/umascope/umascope/dashboards/grafana"
)

// panelPixels is the assumed width of a panel, which decides the steps of its queries.
const panelPixels = 800

// query is one that was sent.
type query struct {
	at   string
	took time.Duration
}

// dashboards sends the queries of every page, one after the other, and reports their times. One host is chosen, as
// every page has it; variables and tables of hosts query all.
func (s *stage) dashboards(ctx context.Context, w io.Writer, now time.Time) error {
	paths, err := filepath.Glob(filepath.Join(s.checkout, "dashboards", "*.json"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no dashboards: %w", err)
	}
	fmt.Fprintf(w, "\n| page | queries | all of them, one after the other | slowest | panel of the slowest |\n| --- | --- | --- | --- | --- |\n")
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		d, err := grafana.Read(content)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		asked, err := s.page(ctx, d, now)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		var sum time.Duration
		for _, q := range asked {
			sum += q.took
		}
		slowest := slices.MaxFunc(asked, func(a, b query) int { return cmp.Compare(a.took, b.took) })
		if _, err := fmt.Fprintf(w, "| %s | %d | %d ms | %d ms | %s |\n", d.Title, len(asked), sum.Milliseconds(), slowest.took.Milliseconds(), slowest.at); err != nil {
			return err
		}
	}
	return nil
}

// page sends the queries of one page, over the time that was measured.
func (s *stage) page(ctx context.Context, d grafana.Dashboard, now time.Time) ([]query, error) {
	var all []query
	timed := func(at string, send func() error) error {
		begun := time.Now()
		err := send()
		all = append(all, query{at, time.Since(begun)})
		return err
	}
	scope := grafana.Resolve(ctx, d, grafana.Settings{
		Source: "umascope", Scrape: s.interval, Window: grafana.Window{From: now.Add(-s.during), To: now}, Chosen: map[string][]string{"host": {name(s.hosts / 2)}},
	}, grafana.Source{
		LabelValues: func(ctx context.Context, label, selector string, window grafana.Window) (values []string, err error) {
			err = timed("variable of "+label, func() error {
				form := url.Values{"start": {stamp(window.From)}, "end": {stamp(window.To)}}
				if selector != "" {
					form.Set("match[]", selector)
				}
				return s.ask(ctx, http.MethodGet, "/api/v1/label/"+url.PathEscape(label)+"/values?"+form.Encode(), nil, &values)
			})
			return values, err
		},
		Instant: func(ctx context.Context, expression string, at time.Time) (samples []grafana.Sample, err error) {
			err = timed("variable", func() error {
				found, _, err := s.value(ctx, expression, at)
				for _, one := range found {
					samples = append(samples, grafana.Sample{Labels: one.Metric, Value: strconv.FormatFloat(one.number(), 'f', -1, 64), Time: at})
				}
				return err
			})
			return samples, err
		},
	})
	for _, panel := range d.Panels {
		queries, err := scope.Queries(panel, panelPixels)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", panel.Title, err)
		}
		for _, q := range queries {
			if err := timed(panel.Title, func() error { return s.send(ctx, q) }); err != nil {
				return nil, fmt.Errorf("%s: %w", panel.Title, err)
			}
		}
	}
	return all, nil
}

func (s *stage) send(ctx context.Context, q grafana.Query) error {
	form, path := url.Values{"query": {q.Expr}, "time": {stamp(q.To)}}, "/api/v1/query"
	if !q.Instant {
		path = "/api/v1/query_range"
		form = url.Values{"query": {q.Expr}, "start": {stamp(q.From)}, "end": {stamp(q.To)}, "step": {strconv.FormatFloat(q.Step.Seconds(), 'f', -1, 64)}}
	}
	var a answer
	return s.post(ctx, path, form, &a)
}
