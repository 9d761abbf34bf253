package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/rules"

	"github.com/umascope/umascope/cmd/internal/memnet"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

const oneTarget = `
global: {scrape_interval: 50ms, scrape_timeout: 50ms, evaluation_interval: 50ms}
scrape_configs:
- job_name: uma-exporter
  static_configs: [{targets: ["127.0.0.1:80"], labels: {host: spark}}]
`

// page serves a page of the exposition format inside the process.
func page(t *testing.T, n *memnet.Network, text string) {
	t.Helper()
	l, err := n.Listen("tcp", "127.0.0.1:80")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, text)
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}

func open(t *testing.T, dir string, n *memnet.Network, notify rules.NotifyFunc) *database {
	t.Helper()
	if notify == nil {
		notify = func(context.Context, string, ...*rules.Alert) {}
	}
	return mustOpen(t, databaseConfig{Dir: dir, Dial: n.Dial, Notify: notify, Log: slog.New(slog.DiscardHandler)})
}

// openLogged opens a database whose warnings are lines of a text.
func openLogged(t *testing.T, dir string, log io.Writer) *database {
	t.Helper()
	return mustOpen(t, databaseConfig{
		Dir: dir, Dial: (&memnet.Network{}).Dial, Notify: func(context.Context, string, ...*rules.Alert) {},
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

func mustOpen(t *testing.T, c databaseConfig) *database {
	t.Helper()
	c.RetentionTime, c.RetentionBytes, c.Prometheus, c.EvaluationEvery = 24*time.Hour, 64<<20, oneTarget, 50*time.Millisecond
	c.Rules = []ruleFile{{"rules.yaml", []byte("groups: [{name: g, rules: [{record: 'twice:a', expr: 'a * 2'}, {alert: A, expr: a > 1}]}]")}}
	c.Registry = prometheus.NewRegistry()
	d, err := openDatabase(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask returns the data of an answer of the API.
func ask(t *testing.T, d *database, path string, form url.Values) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	d.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/api/v1/"+path+"?"+form.Encode(), nil))
	var answer struct {
		Status string
		Data   json.RawMessage
	}
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %d %s", path, recorder.Code, recorder.Body)
	}
	return string(answer.Data)
}

// until asks until the answer contains a text.
func until(t *testing.T, d *database, path string, form url.Values, text string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; {
		if got := ask(t, d, path, form); strings.Contains(got, text) {
			return got
		}
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(end) {
			t.Fatalf("%s never has %s: %s\ntargets %s", path, text, ask(t, d, path, form), ask(t, d, "targets", nil))
		}
	}
}

func TestSamplesOfThisProcessAreScrapedEvaluatedAndKept(t *testing.T) {
	dir, n := t.TempDir(), &memnet.Network{}
	page(t, n, "# HELP a A.\n# TYPE a gauge\na{x=\"1\"} 3\n")
	fired := make(chan string, 1)
	d := open(t, dir, n, func(_ context.Context, _ string, alerts ...*rules.Alert) {
		for _, a := range alerts {
			select {
			case fired <- a.Labels.Get("alertname"):
			default:
			}
		}
	})
	until(t, d, "query", url.Values{"query": {"twice:a"}}, `"6"`)
	if name := <-fired; name != "A" {
		t.Errorf("%s fires", name)
	}
	until(t, d, "alerts", nil, `"alertname":"A"`)
	until(t, d, "targets", nil, `"health":"up"`)
	until(t, d, "targets", nil, `"lastError":""`)
	until(t, d, "metadata", nil, `"help":"A."`)
	for path, want := range map[string]string{
		"series": `"x":"1"`, "labels": `"host"`, "label/host/values": `["spark"]`, "rules": `"twice:a"`, "status/buildinfo": `"version"`, "status/runtimeinfo": `storageRetention`, "status/tsdb": `headStats`,
	} {
		form := url.Values{}
		if path == "series" {
			form.Set("match[]", "a")
		}
		if got := ask(t, d, path, form); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	end := time.Now()
	if err := d.close(); err != nil {
		t.Fatal(err)
	}

	again := open(t, dir, &memnet.Network{}, nil)
	t.Cleanup(func() { again.close() })
	if got := ask(t, again, "query", url.Values{"query": {"last_over_time(a[1h])"}, "time": {fmt.Sprint(end.Unix() + 1)}}); !strings.Contains(got, `"3"`) {
		t.Errorf("after a restart: %s", got)
	}
	if _, err := openDatabase(databaseConfig{Registry: prometheus.NewRegistry(), Dir: dir, Prometheus: oneTarget, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), "another uma-view has it open") {
		t.Errorf("a second instance: %v", err)
	}
}

// TestWhatIsNotScrapedAnyMoreIsNotPresent: a run that ended while this program was down has no mark of staleness.
func TestWhatIsNotScrapedAnyMoreIsNotPresent(t *testing.T) {
	n := &memnet.Network{}
	page(t, n, "uma_run_active 1\n")
	d := open(t, t.TempDir(), n, nil)
	defer d.close()
	until(t, d, "query", url.Values{"query": {"uma_run_active"}}, "spark")
	for age, want := range map[time.Duration]int{0: 1, time.Minute: 0} {
		if got, err := d.at(t.Context(), expr.Select(metric.RunActive), time.Now().Add(age)); err != nil || len(got) != want {
			t.Errorf("%s after a scrape: %v, %v", age, got, err)
		}
	}
}
