package exporter

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/metric"
)

// scripted is an exporter with one collector that runs the test's function.
func scripted(t *testing.T, settings Settings, does collector.Collect) *Exporter {
	t.Helper()
	spec := collector.Spec{
		Name: "script", Help: "What the test says.",
		Metrics: []metric.Definer{metric.MemoryLedgerBytes},
		Open:    func(collector.Host, collector.Options) collector.Collect { return does },
	}
	e, err := newExporter(collector.Host{Mode: collector.Simulated}, []collector.Spec{spec}, settings)
	must(t, err)
	return e
}

func one(_ context.Context, _ *collector.Sample, b *collector.Batch) error {
	b.Gauge(metric.MemoryLedgerBytes, 1, "free")
	return nil
}

func get(t *testing.T, h http.Handler, target string, header ...string) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return string(text)
}

func TestMetricsPageComesInTheFormatAskedFor(t *testing.T) {
	handler := scripted(t, Settings{}, one).Handler()
	for _, test := range []struct{ accept, contentType string }{
		{"", "text/plain; version=0.0.4"},
		{"application/openmetrics-text; version=1.0.0", "application/openmetrics-text"},
		{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited", "application/vnd.google.protobuf"},
	} {
		response := get(t, handler, "/metrics", "Accept", test.accept)
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || !strings.HasPrefix(got, test.contentType) {
			t.Errorf("Accept %q: %d, %q", test.accept, response.StatusCode, got)
		}
		if page := body(t, response); !strings.Contains(page, "uma_memory_ledger_bytes") || !strings.Contains(page, "go_goroutines") {
			t.Errorf("Accept %q: series are missing", test.accept)
		}
	}
}

func TestOwnMetricsCanBeLeftOut(t *testing.T) {
	page := body(t, get(t, scripted(t, Settings{HideOwnMetrics: true}, one).Handler(), "/metrics"))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	must(t, err)
	for name := range families {
		if !strings.HasPrefix(name, "uma_") {
			t.Errorf("%s is on the page", name)
		}
	}
}

func TestCollectorsCanBeChosenInTheAddress(t *testing.T) {
	handler := scripted(t, Settings{}, one).Handler()
	if response := get(t, handler, "/metrics?collect[]=script"); response.StatusCode != http.StatusOK {
		t.Errorf("known collector: %s", response.Status)
	}
	response := get(t, handler, "/metrics?collect[]=nosuch&collect[]=script")
	if text := body(t, response); response.StatusCode != http.StatusBadRequest || !strings.Contains(text, `"nosuch"`) || !strings.Contains(text, "there are: script") {
		t.Errorf("unknown collector: %s: %s", response.Status, text)
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	server := httptest.NewServer(scripted(t, Settings{}, one).Handler())
	defer server.Close()
	for method, want := range map[string]int{
		http.MethodGet: http.StatusOK, http.MethodHead: http.StatusOK,
		http.MethodPost: http.StatusMethodNotAllowed, http.MethodDelete: http.StatusMethodNotAllowed,
	} {
		for _, path := range []string{"/metrics", "/", "/-/healthy", "/-/ready"} {
			request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, nil)
			must(t, err)
			response, err := server.Client().Do(request)
			must(t, err)
			response.Body.Close()
			if response.StatusCode != want {
				t.Errorf("%s %s: %d, want %d", method, path, response.StatusCode, want)
			}
		}
	}
}

func TestPageIsServedBeforeTheScraperGivesUp(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"3":    2500 * time.Millisecond, // half a second is kept for sending
		"0.6":  300 * time.Millisecond,
		"":     10 * time.Second, // --collect.timeout
		"60":   10 * time.Second,
		"NaN":  10 * time.Second,
		"-1":   10 * time.Second,
		"1e99": 10 * time.Second,
		"x":    10 * time.Second,
	} {
		t.Run("timeout "+header, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				handler := scripted(t, Settings{}, func(context.Context, *collector.Sample, *collector.Batch) error {
					time.Sleep(time.Minute)
					return nil
				}).Handler()
				began := time.Now()
				page := body(t, get(t, handler, "/metrics", "X-Prometheus-Scrape-Timeout-Seconds", header))
				if took := time.Since(began); took != want {
					t.Errorf("took %v, want %v", took, want)
				}
				if !strings.Contains(page, `uma_collector_state{collector="script",state="failed"} 1`) {
					t.Error("the late collector is not failed on the page")
				}
				time.Sleep(time.Hour) // until the collector has ended
			})
		})
	}
}

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	for says, settings := range map[string]Settings{
		"--web.max-requests":         {MaxRequests: -1},
		"--collect.timeout":          {CollectTimeout: -time.Second},
		"--gpu.processes":            {Options: collector.Options{ProcessLimit: -1}},
		`no collector "nosuch"`:      {Collectors: []string{"nosuch"}},
		`--web.telemetry-path "/"`:   {TelemetryPath: "/"},
		`--web.telemetry-path "m"`:   {TelemetryPath: "m"},
		`--web.telemetry-path "/{x"`: {TelemetryPath: "/{x"},
		`path "/-/healthy"`:          {TelemetryPath: "/-/healthy"},
		`path "//metrics"`:           {TelemetryPath: "//metrics"},
		`path "/a/../metrics"`:       {TelemetryPath: "/a/../metrics"},
		`path "/metrics?a=b"`:        {TelemetryPath: "/metrics?a=b"},
		`path "/%zz"`:                {TelemetryPath: "/%zz"},
		`path "/a\nb"`:               {TelemetryPath: "/a\nb"},
	} {
		if _, err := New(collector.Host{}, settings); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want an error that says %s", err, says)
		}
	}
}

func TestServerEndsWithItsContextAndFinishesPages(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	e := scripted(t, Settings{}, func(_ context.Context, _ *collector.Sample, b *collector.Batch) error {
		close(began)
		<-release
		b.Gauge(metric.MemoryLedgerBytes, 1, "free")
		return nil
	})
	listeners, err := listen([]string{"127.0.0.1:0"}, true, &bytes.Buffer{})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	server := &http.Server{Handler: e.Handler()}
	ended := make(chan error)
	go func() {
		ended <- serveUntil(ctx, []serving{{server, func() error { return server.Serve(listeners[0]) }}})
	}()
	page := make(chan string)
	go func() {
		response, err := http.Get("http://" + listeners[0].Addr().String() + "/metrics")
		if err != nil {
			page <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		page <- string(text)
	}()
	<-began
	cancel()
	close(release)
	if got := <-page; !strings.Contains(got, `uma_memory_ledger_bytes{line="free"} 1`) {
		t.Errorf("the page under way was not finished: %.200s", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
