// Source serves dashboards, the page that draws them, and what that asks of a Grafana: the backend of its Prometheus data source,
// promlib, at the addresses of its API.
//
//	source LISTEN PROMETHEUS PAGE DASHBOARDS
//
// LISTEN is HOST:PORT, PROMETHEUS a URL, PAGE and DASHBOARDS are folders.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/gtime"
	"github.com/grafana/grafana-plugin-sdk-go/backend/httpclient"
	"github.com/grafana/grafana-plugin-sdk-go/backend/log"
	"github.com/grafana/grafana/pkg/promlib"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: source LISTEN PROMETHEUS PAGE DASHBOARDS")
		os.Exit(2)
	}
	server := &http.Server{Addr: os.Args[1], Handler: handler(os.Args[2], os.Args[3], os.Args[4]), ReadHeaderTimeout: 5 * time.Second}
	fmt.Fprintln(os.Stderr, "source:", server.ListenAndServe())
	os.Exit(1)
}

func handler(prometheus, page, dashboards string) http.Handler {
	s := source{
		Service: promlib.NewService(httpclient.NewProvider(), log.New(), func(context.Context, backend.DataSourceInstanceSettings, *httpclient.Options, log.Logger) error {
			return nil
		}),
		plugin: backend.PluginContext{OrgID: 1, PluginID: "prometheus", GrafanaConfig: backend.NewGrafanaCfg(nil), DataSourceInstanceSettings: &backend.DataSourceInstanceSettings{
			ID: 1, UID: "prometheus", Type: "prometheus", Name: "Prometheus", URL: prometheus, JSONData: []byte(`{"timeInterval":"5s","httpMethod":"POST"}`), Updated: time.Unix(1, 0),
		}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/ds/query", s.query)
	mux.HandleFunc("/api/datasources/uid/prometheus/resources/{path...}", s.resource)
	mux.Handle("/dashboards/", http.StripPrefix("/dashboards/", http.FileServer(http.Dir(dashboards))))
	mux.Handle("/", http.FileServer(http.Dir(page)))
	return mux
}

// source is the data source.
type source struct {
	*promlib.Service
	plugin backend.PluginContext
}

// query answers the queries of a panel.
func (s source) query(w http.ResponseWriter, r *http.Request) {
	request, err := s.readQueries(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := s.QueryData(r.Context(), request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // a page that is gone needs no answer
}

func (s source) readQueries(body io.Reader) (*backend.QueryDataRequest, error) {
	var asked struct {
		Queries  []json.RawMessage
		From, To string
	}
	if err := json.NewDecoder(body).Decode(&asked); err != nil {
		return nil, err
	}
	from, err := moment(asked.From)
	if err != nil {
		return nil, err
	}
	to, err := moment(asked.To)
	if err != nil {
		return nil, err
	}
	request := &backend.QueryDataRequest{PluginContext: s.plugin, Headers: map[string]string{}}
	for _, text := range asked.Queries {
		var q struct {
			RefID                     string
			IntervalMs, MaxDataPoints float64
		}
		if err := json.Unmarshal(text, &q); err != nil {
			return nil, err
		}
		request.Queries = append(request.Queries, backend.DataQuery{
			RefID: q.RefID, JSON: text, MaxDataPoints: int64(q.MaxDataPoints), Interval: time.Duration(q.IntervalMs * float64(time.Millisecond)),
			TimeRange: backend.TimeRange{From: from, To: to},
		})
	}
	return request, nil
}

// moment reads milliseconds since 1970, or a time such as now-15m.
func moment(text string) (time.Time, error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.UnixMilli(ms), nil
	}
	return gtime.NewTimeRange(text, text).ParseFrom()
}

// resource answers what variables ask: label values and results of queries.
func (s source) resource(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	path := r.PathValue("path")
	address := url.URL{Path: path, RawQuery: r.URL.RawQuery}
	request := &backend.CallResourceRequest{PluginContext: s.plugin, Path: path, URL: address.String(), Method: r.Method, Headers: r.Header, Body: body}
	err = s.CallResource(r.Context(), request, backend.CallResourceResponseSenderFunc(func(answer *backend.CallResourceResponse) error {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Status)
		_, err := w.Write(answer.Body)
		return err
	}))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
