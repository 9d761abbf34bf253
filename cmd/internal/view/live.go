package view

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

const (
	liveRefresh   = 5 // seconds
	headerTimeout = 3 * time.Second
)

// runningRun is a run in progress. An engine may span several hosts.
type runningRun struct {
	name, arm, scenario, phase string
	hosts                      []string
	simulated                  bool
}

// words describes the run in a few words.
func (r runningRun) words() string {
	var parts []string
	for _, part := range []struct{ what, value string }{{"arm", r.arm}, {"scenario", r.scenario}, {"phase", r.phase}, {"on", strings.Join(r.hosts, " and ")}} {
		if part.value != "" {
			parts = append(parts, part.what+" "+part.value)
		}
	}
	if r.simulated {
		parts = append([]string{"SIMULATED engine"}, parts...)
	}
	return strings.Join(parts, ", ")
}

// running returns the runs in progress, by the samples of their own pages.
func (v *viewer) running(ctx context.Context) ([]runningRun, error) {
	ctx, cancel := context.WithTimeout(ctx, pageQueryTimeout)
	defer cancel()
	one := expr.Number(1)
	active, err := v.database.now(ctx, expr.Select(metric.RunActive).Equals(one))
	if err != nil {
		return nil, err
	}
	phases, err := v.database.now(ctx, expr.Select(metric.RunPhase).Equals(one))
	if err != nil {
		return nil, err
	}
	simulated, err := v.database.now(ctx, expr.Select(metric.RunSimulated).Equals(one))
	var all []runningRun
	for _, s := range active {
		name, host := label(s, metric.LabelRun), label(s, metric.LabelHost)
		at := slices.IndexFunc(all, func(r runningRun) bool { return r.name == name })
		if at < 0 {
			at = len(all)
			all = append(all, runningRun{name: name, arm: label(s, metric.LabelArm), scenario: label(s, metric.LabelScenario)})
		}
		r := &all[at]
		r.hosts = append(r.hosts, host)
		for _, p := range phases {
			if label(p, metric.LabelRun) == name && label(p, metric.LabelHost) == host {
				r.phase = label(p, metric.LabelPhase)
			}
		}
		r.simulated = slices.ContainsFunc(simulated, func(s promql.Sample) bool { return label(s, metric.LabelRun) == name })
	}
	for _, r := range all {
		slices.Sort(r.hosts)
	}
	return all, err
}

// livePolicy is that of the page of a run in progress, whose script is ours.
const livePolicy = render.LivePolicy + noWayOut

// livePage shows the runs in progress: what the samples have of them, and on top of that the lines that the run on this machine draws
// every second.
func (v *viewer) livePage(w http.ResponseWriter, r *http.Request) {
	running, err := v.running(r.Context())
	if err != nil || len(running) == 0 {
		d := render.Document{Title: "Run in progress", Pages: bar(runsPath), RefreshSeconds: liveRefresh}
		if err != nil {
			d.Add(render.Notice(render.Bad, render.Plain("The samples cannot be read: "+err.Error())))
		} else {
			d.Add(render.Paragraph{Class: "big", Spans: []render.Span{render.Plain("No run is in progress.")}},
				render.P(render.Plain("uma-load run begins one; its live metrics are read from "), render.Code(v.live[0]), render.Plain(". "), render.Link("Finished runs", runsPath)))
		}
		v.write(w, http.StatusOK, d)
		return
	}
	page := render.LiveView{Title: running[0].name, Pages: bar(runsPath), Links: []render.Span{render.Link("This run on the dashboard Run detail", addressOfDashboard(dashboards.RunUID, url.Values{
		"var-run": {running[0].name}, "var-host": {running[0].hosts[0]}, "from": {"now-30m"}, "to": {"now"},
	}))}}
	for _, one := range running {
		page.Lines = append(page.Lines, []render.Span{render.Strong(one.name)}, []render.Span{render.Plain(one.words())}, []render.Span{render.Plain(v.liveRequests(r.Context(), one))})
	}
	var text bytes.Buffer
	if err := render.Live(&text, page); err != nil {
		v.log.Error("page", "title", page.Title, "why", err)
		http.Error(w, "this page cannot be drawn", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Security-Policy", livePolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(text.Bytes())
}

func (v *viewer) liveScript(w http.ResponseWriter, _ *http.Request) {
	script, err := render.LiveScript()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(script)
}

// liveRequests counts the requests of a run so far.
func (v *viewer) liveRequests(ctx context.Context, of runningRun) string {
	ctx, cancel := context.WithTimeout(ctx, pageQueryTimeout)
	defer cancel()
	run := expr.Is(metric.LabelRun, of.name)
	inFlight, err := v.database.now(ctx, expr.Select(metric.LoadRequestsInFlight, run).Sum(expr.By(metric.LabelRun)))
	if err != nil {
		return err.Error()
	}
	ended, err := v.database.now(ctx, expr.Select(metric.LoadRequestsTotal, run).Sum(expr.By(metric.LabelRun, metric.LabelStatus)))
	if err != nil {
		return err.Error()
	}
	var counts []string
	for _, s := range inFlight {
		counts = append(counts, format.Digits(s.F)+" in flight")
	}
	for _, s := range ended {
		if s.F > 0 {
			counts = append(counts, format.Digits(s.F)+" "+label(s, metric.LabelStatus))
		}
	}
	return "requests: " + strings.Join(counts, ", ")
}

// errNoEvents is the error of a server that is no run with a page.
var errNoEvents = errors.New("no events")

// liveEvents hands on what the run on this machine draws, by GET and without headers of the reader. Any program of this machine may
// listen at the address of a run: its answer must be one of events, which the script of the page reads as texts.
func (v *viewer) liveEvents() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: v.live[0], Path: "/events", RawQuery: url.Values{"columns": {r.In.URL.Query().Get("columns")}}.Encode()}
			r.Out.Host = v.live[0]
			r.Out.Header = http.Header{"Accept": {eventStream}}
		},
		Transport:     &http.Transport{DialContext: v.network.Dial, ResponseHeaderTimeout: headerTimeout, DisableKeepAlives: true, DisableCompression: true},
		FlushInterval: -1, // events are sent as they come
		ModifyResponse: func(r *http.Response) error {
			if r.StatusCode != http.StatusOK || r.Header.Get("Content-Type") != eventStream {
				return errNoEvents
			}
			r.Header = http.Header{"Content-Type": {eventStream}}
			return nil
		},
		ErrorHandler: v.withoutEvents,
		ErrorLog:     slog.NewLogLogger(v.log.Handler(), slog.LevelDebug),
	}
}

const eventStream = "text/event-stream"

// withoutEvents makes the page load again after the next scrape, which shows whether the run has ended.
func (v *viewer) withoutEvents(w http.ResponseWriter, r *http.Request, _ error) {
	select {
	case <-time.After(v.interval):
	case <-r.Context().Done():
	}
	w.Header().Set("Content-Type", eventStream)
	_, _ = io.WriteString(w, "event: report\ndata: \n\n")
}
