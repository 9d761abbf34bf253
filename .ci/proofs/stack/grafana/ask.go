package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/dashboards/grafana"
)

// panelPixels is the assumed width of a panel, which decides the steps of its queries.
const panelPixels = 800

// ask sends every query of every dashboard as Grafana would, over the last minutes: there are no earlier samples.
func (i *instance) ask(ctx context.Context, now time.Time) shown {
	s := shown{User: user(), Datasource: i.source.UID + " at " + i.source.URL, Dashboards: len(i.dashboards), Starts: i.starts, Empty: map[string]int{}}
	scrape, err := time.ParseDuration(i.source.JSONData.TimeInterval)
	if err != nil {
		s.Problems = append(s.Problems, "timeInterval of the datasource: "+err.Error())
	}
	for _, d := range i.dashboards {
		i.askOne(ctx, d, scrape, now, &s)
	}
	return s
}

func (i *instance) askOne(ctx context.Context, d grafana.Dashboard, scrape time.Duration, now time.Time, s *shown) {
	problem := func(where string, err error) {
		s.Problems = append(s.Problems, fmt.Sprintf("%s / %s: %v", d.UID, where, err))
	}
	window, err := grafana.ParseWindow("now-5m", "now", now)
	if err != nil {
		problem("time", err)
		return
	}
	scope := grafana.Resolve(ctx, d, grafana.Settings{Source: i.source.UID, Scrape: scrape, Window: window},
		grafana.Source{LabelValues: i.source.labelValues, Instant: i.source.instant})
	for _, v := range scope.Variables {
		s.Variables++
		if v.Err != nil {
			problem("$"+v.Name, v.Err)
		}
	}
	for _, panel := range d.Panels {
		queries, err := scope.Queries(panel, panelPixels)
		if err != nil {
			problem(panel.Title, err)
		}
		for _, q := range queries {
			s.Queries++
			any, err := i.source.any(ctx, q)
			switch {
			case err != nil:
				problem(panel.Title, err)
			case any:
				s.Filled++
			default:
				s.Empty[d.UID]++
			}
		}
	}
}

// any reports whether a query has data.
func (s source) any(ctx context.Context, q grafana.Query) (bool, error) {
	values := url.Values{"query": {q.Expr}}
	path := "/api/v1/query"
	if q.Instant {
		values.Set("time", stamp(q.To))
	} else {
		path = "/api/v1/query_range"
		values.Set("start", stamp(q.From))
		values.Set("end", stamp(q.To))
		values.Set("step", strconv.FormatFloat(q.Step.Seconds(), 'f', -1, 64))
	}
	var data struct {
		ResultType string
		Result     []json.RawMessage
	}
	err := s.get(ctx, path, values, &data)
	return len(data.Result) > 0, err
}

// labelValues answers a variable's query for label values.
func (s source) labelValues(ctx context.Context, label, selector string, window grafana.Window) ([]string, error) {
	query := url.Values{"start": {stamp(window.From)}, "end": {stamp(window.To)}}
	if selector != "" {
		query.Set("match[]", selector)
	}
	var values []string
	return values, s.get(ctx, "/api/v1/label/"+url.PathEscape(label)+"/values?"+query.Encode(), nil, &values)
}

// instant answers a variable's query.
func (s source) instant(ctx context.Context, expression string, at time.Time) ([]grafana.Sample, error) {
	var data struct {
		Result []struct {
			Metric map[string]string
			Value  [2]json.RawMessage
		}
	}
	if err := s.get(ctx, "/api/v1/query", url.Values{"query": {expression}, "time": {stamp(at)}}, &data); err != nil {
		return nil, err
	}
	var samples []grafana.Sample
	for _, p := range data.Result {
		var value string
		if json.Unmarshal(p.Value[1], &value) == nil { // a histogram has none
			samples = append(samples, grafana.Sample{Labels: p.Metric, Value: value, Time: at})
		}
	}
	return samples, nil
}

// get queries Prometheus. A warning or an info is an error here: Grafana would show it on the panel.
func (s source) get(ctx context.Context, path string, form url.Values, into any) error {
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, body)
	if err != nil {
		return err
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Error           string
		Data            json.RawMessage
		Warnings, Infos []string
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 64<<20)).Decode(&answer); err != nil {
		return fmt.Errorf("%s: %s: %w", path, response.Status, err)
	}
	if said := strings.Join(append(answer.Warnings, answer.Infos...), "; "); answer.Error != "" || said != "" {
		return errors.New(strings.TrimSpace(answer.Error + " " + said + ": " + form.Get("query")))
	}
	return json.Unmarshal(answer.Data, into)
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }
