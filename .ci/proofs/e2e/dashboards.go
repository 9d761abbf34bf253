package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/dashboards/grafana"
	"github.com/umascope/umascope/exporter/metric"
)

// panelPixels is the assumed width of a panel, which decides the steps of its queries.
const panelPixels = 800

// census counts the queries of dashboards, and the reasons for answers without data.
type census struct {
	dashboards, variables, queries, annotations, withData int
	without                                               int             // with a listed reason
	used                                                  map[string]bool // the listed reasons
	problems                                              []error
}

// The time range of the dashboards: that of the test. Their own are hours, with steps longer than the runs here, and
// the active run does not get far.
const lookedAtFrom, lookedAtTo = "now-5m", "now"

// dashboards sends every query of every dashboard as Grafana would, with spark as host. A failed query or a warning is
// an error, and so is an answer without data unless it is listed with a reason.
func (p *proof) dashboards(ctx context.Context) (string, error) {
	paths, err := filepath.Glob(filepath.Join(p.files.checkout, "dashboards", "*.json"))
	if err != nil || len(paths) == 0 {
		return "", fmt.Errorf("no dashboards: %w", err)
	}
	if err := p.stage.marked(ctx); err != nil {
		return "", err
	}
	c := &census{used: map[string]bool{}}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		read, err := grafana.Read(content)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		c.dashboards++
		p.stage.look(ctx, read, c)
	}
	for _, q := range quiet() {
		if !q.chance && !c.used[q.panel] {
			c.problems = append(c.problems, fmt.Errorf("%s is listed as one without data (%s), and has it or is no panel", q.panel, q.why))
		}
	}
	p.used = c.used
	return fmt.Sprintf("%d dashboards, %d variables, %d queries, %d annotations; %d with data, %d without for a written reason",
		c.dashboards, c.variables, c.queries, c.annotations, c.withData, c.without), errors.Join(c.problems...)
}

// marked waits until an alert about spark has been firing over a full minute: annotations are queried in steps of a
// minute, and miss alerts that begin and end between two steps.
func (s *stage) marked(ctx context.Context) error {
	firing := fmt.Sprintf(`ALERTS{alertstate=%q,severity="critical",host=%q}`, metric.AlertFiring, spark)
	return until(ctx, 2*time.Minute, func(ctx context.Context) error {
		r, err := s.prometheus.instant(ctx, firing, time.Now().Truncate(time.Minute))
		if err != nil {
			return err
		}
		found, err := r.series()
		if err == nil && len(found) == 0 {
			err = errors.New("no alert was firing when the minute began")
		}
		return err
	})
}

// look sends the queries of one dashboard.
func (s *stage) look(ctx context.Context, d grafana.Dashboard, c *census) {
	now := time.Now()
	window, err := grafana.ParseWindow(lookedAtFrom, lookedAtTo, now)
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("%s: %w", d.UID, err))
		return
	}
	scrape, _ := time.ParseDuration(interval) // our own constant
	scope := grafana.Resolve(ctx, d, grafana.Settings{
		Source: "umascope", Scrape: scrape, Window: window, Chosen: map[string][]string{"host": {spark}},
	}, grafana.Source{LabelValues: s.labelValues, Instant: s.answer})
	for _, v := range scope.Variables {
		c.variables++
		empty := v.Kind == grafana.KindQuery && len(v.Options) == 0
		s.judge(ctx, c, asked{d.UID, "$" + v.Name, v.Query}, !empty, v.Err)
	}
	for _, panel := range d.Panels {
		queries, err := scope.Queries(panel, panelPixels)
		if err != nil {
			c.problems = append(c.problems, fmt.Errorf("%s / %s: %w", d.UID, panel.Title, err))
		}
		for _, q := range queries {
			c.queries++
			data, err := s.ask(ctx, q)
			s.judge(ctx, c, asked{d.UID, panel.Title, q.Expr}, data, err)
		}
	}
	for _, annotation := range d.Annotations {
		if annotation.Expr == "" {
			continue // Grafana's own, of its own store
		}
		c.annotations++
		q, err := scope.Annotation(annotation)
		data := false
		if err == nil {
			data, err = s.ask(ctx, q)
		}
		s.judge(ctx, c, asked{d.UID, "annotation " + annotation.Name, q.Expr}, data, err)
	}
}

// asked is a query with its place.
type asked struct{ dashboard, panel, query string }

func (a asked) at() string { return a.dashboard + " / " + a.panel }

// judge records the result of a query. A query without data must read series that are listed as absent, or be listed
// itself.
func (s *stage) judge(ctx context.Context, c *census, a asked, data bool, err error) {
	if err != nil {
		c.problems = append(c.problems, fmt.Errorf("%s: %w: %s", a.at(), err, a.query))
		return
	}
	if data {
		c.withData++
		return
	}
	listed, excused, err := s.excuse(ctx, a.query)
	silent := slices.ContainsFunc(quiet(), func(q silence) bool { return q.panel == a.at() })
	switch {
	case err != nil:
		c.problems = append(c.problems, fmt.Errorf("%s: %w", a.at(), err))
	case excused:
		c.without++
		c.used[listed.selector()] = true
	case silent:
		c.without++
		c.used[a.at()] = true
	default:
		c.problems = append(c.problems, fmt.Errorf("%s: no data: %s", a.at(), a.query))
	}
}

// ask sends a query. A warning or an info of Prometheus is an error.
func (s *stage) ask(ctx context.Context, q grafana.Query) (data bool, err error) {
	var r result
	if q.Instant {
		r, err = s.prometheus.instant(ctx, q.Expr, q.To)
	} else {
		r, err = s.prometheus.over(ctx, q.Expr, q.From, q.To, q.Step)
	}
	if err != nil {
		return false, err
	}
	if len(r.warnings) > 0 {
		return false, errors.New(strings.Join(r.warnings, "; "))
	}
	all, err := r.series()
	for _, one := range all {
		if len(one.Value) > 0 || len(one.Values) > 0 || len(one.Histogram) > 0 || len(one.Histograms) > 0 {
			return true, err
		}
	}
	return false, err
}

// labelValues answers a variable's query for label values.
func (s *stage) labelValues(ctx context.Context, label, selector string, window grafana.Window) ([]string, error) {
	query := url.Values{"start": {stamp(window.From)}, "end": {stamp(window.To)}}
	if selector != "" {
		query.Set("match[]", selector)
	}
	var values []string
	warnings, err := s.prometheus.get(ctx, "/api/v1/label/"+url.PathEscape(label)+"/values?"+query.Encode(), nil, &values)
	if err == nil && len(warnings) > 0 {
		err = errors.New(strings.Join(warnings, "; "))
	}
	return values, err
}

// answer answers a variable's query.
func (s *stage) answer(ctx context.Context, expression string, at time.Time) ([]grafana.Sample, error) {
	r, err := s.prometheus.instant(ctx, expression, at)
	if err == nil && len(r.warnings) > 0 {
		err = fmt.Errorf("%s: %s", strings.Join(r.warnings, "; "), expression)
	}
	if err != nil {
		return nil, err
	}
	all, err := r.series()
	var samples []grafana.Sample
	for _, one := range all {
		if value, ok := one.number(); ok {
			samples = append(samples, grafana.Sample{Labels: one.Metric, Value: strconv.FormatFloat(value, 'f', -1, 64), Time: at})
		}
	}
	return samples, err
}
