package view

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"testing/fstest"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/dashboards/grafana"
	"github.com/umascope/umascope/loadgen/render"
)

// Addresses of the pages. Names of runs are any text: runs and comparisons have a path of their own, where no page has one.
const (
	overviewPath   = "/"
	dashboardsPath = "/dashboards/"
	alertsPath     = "/alerts"
	runsPath       = "/runs"
	livePath       = "/runs/live/"
	readyPath      = "/-/ready"
)

func addressOfAlert(name string) string      { return alertsPath + "/" + url.PathEscape(name) }
func addressOfRun(name string) string        { return "/run/" + url.PathEscape(name) + "/" }
func addressOfComparison(name string) string { return "/comparison/" + url.PathEscape(name) }

// addressOfDashboard is that of a dashboard with values of its variables.
func addressOfDashboard(uid string, parameters url.Values) string {
	return "/d/" + url.PathEscape(uid) + "?" + parameters.Encode()
}

// bar returns the links above every page.
func bar(here string) []render.PageLink {
	links := []render.PageLink{{Text: "Overview", Address: overviewPath}, {Text: "Dashboards", Address: dashboardsPath}, {Text: "Alerts", Address: alertsPath}, {Text: "Runs", Address: runsPath}}
	for i := range links {
		links[i].Here = links[i].Address == here
	}
	return links
}

// pages returns the pages, and Prometheus' API at /api/v1/.
func (v *viewer) pages() (http.Handler, error) {
	mux := http.NewServeMux()
	if err := v.addDashboards(mux); err != nil {
		return nil, err
	}
	mux.Handle("/api/v1/", v.database.handler())
	mux.Handle("GET /metrics", promhttp.HandlerFor(v.database.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET "+webserver.HealthPath, serveHealth)
	mux.HandleFunc("GET "+readyPath, serveHealth) // it listens when it is ready
	mux.HandleFunc("GET "+overviewPath+"{$}", v.overview)
	mux.HandleFunc("GET "+alertsPath, v.alertsPage)
	mux.HandleFunc("GET "+alertsPath+"/{name}", v.alertPage)
	mux.HandleFunc("GET "+lastBootPath, v.lastBootPage)
	mux.HandleFunc("GET "+runsPath, v.runsPage)
	mux.HandleFunc("GET /run/{name}/{$}", v.runPage)
	mux.HandleFunc("GET /run/{name}/{file}", v.runFile)
	mux.HandleFunc("GET /comparison/{name}", v.comparisonPage)
	mux.HandleFunc("GET "+livePath+"{$}", v.livePage)
	mux.HandleFunc("GET "+livePath+render.LiveScriptFile, v.liveScript)
	mux.Handle("GET "+livePath+"events", v.liveEvents())
	return guarded(mux), nil
}

func (v *viewer) addDashboards(mux *http.ServeMux) error {
	folder := fstest.MapFS{}
	for _, f := range v.dashboards {
		folder[f.Name] = &fstest.MapFile{Data: f.Content}
	}
	site := &grafana.Site{Index: dashboardsPath, Source: "this uma-view"}
	for _, link := range bar("") {
		site.Pages = append(site.Pages, grafana.SitePage{Title: link.Text, Address: link.Address})
	}
	drawn, err := grafana.NewPreview(grafana.PreviewConfig{
		Dashboards: folder, Dial: v.network.Dial, Prometheus: "http://" + queryInside, Scrape: v.interval, Site: site,
	})
	for _, path := range []string{dashboardsPath, "/d/", "/render/", "/assets/"} {
		mux.Handle(path, drawn)
	}
	return err
}

func serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}

// policy is the Content-Security-Policy of all answers but those that set their own: styles are in the page, and nothing
// else is loaded or run.
const policy = "default-src 'none'; style-src 'unsafe-inline'" + noWayOut

// noWayOut ends every policy.
const noWayOut = "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guarded sets the headers of every answer, and refuses what pages of other sites request. Another port of this machine
// is the same site to a browser, and another one here.
func guarded(next http.Handler) http.Handler {
	unsafe := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && !isLink(r) || unsafe.Check(r) != nil {
			http.Error(w, "another site asks", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLink reports whether a browser follows a link: the page that has it gets nothing of the answer.
func isLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// write sends a page.
func (v *viewer) write(w http.ResponseWriter, status int, d render.Document) {
	var page bytes.Buffer
	if err := render.HTML(&page, d); err != nil {
		v.log.Error("page", "title", d.Title, "why", err)
		http.Error(w, "this page cannot be drawn", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if d.Drawn() {
		w.Header().Set("Content-Security-Policy", render.Policy()+noWayOut)
	}
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // an error means that the reader has gone
}

// absent sends the page of something that does not exist or cannot be read.
func (v *viewer) absent(w http.ResponseWriter, here, title, why string) {
	v.write(w, http.StatusNotFound, render.Document{Title: title, Pages: bar(here), Blocks: []render.Block{render.Notice(render.Bad, render.Plain(why))}})
}

// dashboardList returns the dashboards by their titles.
func dashboardList(files []dashboards.File) ([]grafana.Dashboard, error) {
	var all []grafana.Dashboard
	for _, f := range files {
		d, err := grafana.Read(f.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		all = append(all, d)
	}
	return all, nil
}
