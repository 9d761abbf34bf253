package view

import (
	"context"
	"net/http"
	"testing/fstest"

	"github.com/prometheus/prometheus/rules"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/dashboards/grafana"
	"github.com/umascope/umascope/loadgen/promexport"
)

// pages returns the pages: the dashboards at /, the finished runs at /runs/, and Prometheus' API at /api/v1/.
func (v *viewer) pages() (http.Handler, error) {
	files, err := dashboards.Files()
	if err != nil {
		return nil, err
	}
	folder := fstest.MapFS{}
	for _, f := range files {
		folder[f.Name] = &fstest.MapFile{Data: f.Content}
	}
	drawn, err := grafana.NewPreview(grafana.PreviewConfig{Dashboards: folder, Dial: v.network.dial, Prometheus: "http://" + queryInside, Scrape: v.interval})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", drawn)
	mux.Handle("/api/v1/", v.database.handler())
	return mux, nil
}

// The newest runs are served, as by uma-load serve.
const runsPerCell, mostRuns = 10, 500

// openRuns serves the finished runs inside this process.
func (v *viewer) openRuns() error {
	results := promexport.New(v.runs, runsPerCell, mostRuns, false)
	served, err := promexport.Handler(results, promexport.Program{Version: version().Version}, v.log)
	if err != nil {
		return err
	}
	v.serveInside(runsInside, served)
	return nil
}

func ignoreAlerts(context.Context, string, ...*rules.Alert) {}
