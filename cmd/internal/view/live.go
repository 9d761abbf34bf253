package view

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
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

// livePolicy is that of what another process serves here. Any program of this machine may listen at the address of a run:
// what it sends must not run as a script of this site. No source of scripts is allowed, so that none runs;
// allow-scripts lets the page be loaded again, which is an automatic feature that a sandbox may block with them.
const livePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts"

// errNoPage is the error of a run without a page for people.
var errNoPage = errors.New("the run has no page")

// livePage shows the page of the run in progress, which is on this machine, by GET and without headers of the reader. Where
// it has none, or none is in progress, it shows what the samples have.
func (v *viewer) livePage() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: v.live[0], Path: "/" + strings.TrimPrefix(r.In.URL.Path, livePath)}
			r.Out.Host = v.live[0]
			r.Out.Header = http.Header{"Accept": r.In.Header.Values("Accept"), "Last-Event-Id": r.In.Header.Values("Last-Event-Id")}
		},
		Transport:      &http.Transport{DialContext: v.network.dial, ResponseHeaderTimeout: headerTimeout, DisableKeepAlives: true, DisableCompression: true},
		FlushInterval:  -1, // events are sent as they come
		ModifyResponse: restrict,
		ErrorHandler:   v.withoutPage,
		ErrorLog:       slog.NewLogLogger(v.log.Handler(), slog.LevelDebug),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", livePolicy)
		proxy.ServeHTTP(w, r)
	})
}

// restrict keeps of an answer its body, its type and nothing else. The page is drawn as of now, and loaded again: its own script
// does not run here.
func restrict(r *http.Response) error {
	if r.StatusCode != http.StatusOK {
		return errNoPage
	}
	kind := r.Header.Get("Content-Type")
	r.Header = http.Header{"Content-Type": {kind}, "Refresh": {strconv.Itoa(liveRefresh)}}
	return nil
}

// withoutPage shows what the samples have of the run in progress. The request is that to the run.
func (v *viewer) withoutPage(w http.ResponseWriter, r *http.Request, _ error) {
	w.Header().Set("Content-Security-Policy", policy)
	if r.URL.Path != "/" {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	d := render.Document{Title: "Run in progress", Pages: bar(runsPath), RefreshSeconds: liveRefresh}
	running, err := v.running(r.Context())
	switch {
	case err != nil:
		d.Add(render.Notice(render.Bad, render.Plain("The samples cannot be read: "+err.Error())))
	case len(running) == 0:
		d.Add(render.Paragraph{Class: "big", Spans: []render.Span{render.Plain("No run is in progress.")}},
			render.P(render.Plain("uma-load run begins one; its live metrics are read from "), render.Code(v.live[0]), render.Plain(". "), render.Link("Finished runs", runsPath)))
	}
	for _, one := range running {
		d.Add(render.Paragraph{Class: "big", Spans: []render.Span{render.Plain(one.name)}}, render.P(render.Plain(one.words())))
		d.Add(v.liveFacts(r.Context(), one), render.P(render.Link("This run on the dashboard Run detail", addressOfDashboard(dashboards.RunUID, url.Values{
			"var-run": {one.name}, "var-host": {one.hosts[0]}, "from": {"now-30m"}, "to": {"now"},
		}))))
	}
	v.write(w, http.StatusOK, d)
}

// liveFacts are the figures of a run so far.
func (v *viewer) liveFacts(ctx context.Context, of runningRun) render.Block {
	ctx, cancel := context.WithTimeout(ctx, pageQueryTimeout)
	defer cancel()
	facts := render.Facts{Tiles: true}
	run := expr.Is(metric.LabelRun, of.name)
	add := func(name string, e expr.Expr, by metric.Label) {
		found, err := v.database.now(ctx, e)
		if err != nil {
			return
		}
		for _, s := range found {
			title := name
			if value := label(s, by); value != "" {
				title += ", " + value
			}
			facts.Facts = append(facts.Facts, render.Fact{Name: title, Value: render.Digits(s.F)})
		}
	}
	add("in flight", expr.Select(metric.LoadRequestsInFlight, run).Sum(expr.By(metric.LabelRun)), "")
	add("requests", expr.Select(metric.LoadRequestsTotal, run).Sum(expr.By(metric.LabelRun, metric.LabelStatus)), metric.LabelStatus)
	return facts
}
