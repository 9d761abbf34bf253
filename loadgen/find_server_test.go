package loadgen

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// exporterOf serves the page of an exporter, and returns its address.
func exporterOf(t *testing.T, page string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	t.Cleanup(s.Close)
	return s.URL + "/metrics"
}

// livePage is the page of an exporter that reads the pages of these engines, each NAME=SOURCE.
func livePage(engines ...string) string {
	page := "uma_exporter_build_info{version=\"test\"} 1\numa_exporter_mode{mode=\"live\"} 1\numa_exporter_mode{mode=\"replay\"} 0\n"
	for _, one := range engines {
		name, source, _ := strings.Cut(one, "=")
		page += fmt.Sprintf("uma_engine_info{source=%q,engine=%q,model=\"m\",version=\"\"} 1\n", source, name)
	}
	return page
}

// sourceOf is the label of an engine's page.
func sourceOf(url string) string { return strings.TrimPrefix(url, "http://") + "/metrics" }

// TestWithoutURLTheOnlyEngineThatTheExporterFoundIsMeasured: LMCache has a page and no API, and so has a worker.
func TestWithoutURLTheOnlyEngineThatTheExporterFoundIsMeasured(t *testing.T) {
	url := engine(t, time.Millisecond)
	worker := httptest.NewServer(http.NotFoundHandler())
	defer worker.Close()
	exporter := exporterOf(t, livePage("vllm="+sourceOf(url), "lmcache=127.0.0.1:1/metrics", "dynamo="+sourceOf(worker.URL)))
	dir := t.TempDir()
	for _, verb := range []string{"check", "run --concurrency 1 --requests 2 --run-id found", "sweep --over concurrency=1,2 --requests 2 --pause 0s --run-id sweep"} {
		args := strings.Fields(verb)
		if args[0] != "check" {
			args = slices.Concat(args, []string{"--out", dir, "--web.listen-address", "127.0.0.1:0"}, uncontended)
		}
		var stdout, stderr bytes.Buffer
		if code := (Program{Stdout: &stdout, Stderr: &stderr, Exporter: exporter}).Run(t.Context(), args); code != exitDone && code != exitInvalid {
			t.Fatalf("%s: exit %d: %s", verb, code, stderr.String())
		}
		if said := "exporter has found\" url=" + url + " engine=vllm exporter=" + exporter; strings.Count(stderr.String(), said) != 1 {
			t.Errorf("%s does not log %q once:\n%s", verb, said, stderr.String())
		}
	}
	for _, run := range []string{"found", "sweep/sweep-01-concurrency-1", "sweep/sweep-02-concurrency-2"} {
		m := manifestOf(t, filepath.Join(dir, run))
		if m.Server.URL != url || m.Server.FoundBy != exporter || m.Flags["url"] != url {
			t.Errorf("%s: server %s, found by %q, --url %q", run, m.Server.URL, m.Server.FoundBy, m.Flags["url"])
		}
	}
}

func TestWithoutURLWhatTheExporterAnswersIsShown(t *testing.T) {
	both := []string{engine(t, time.Millisecond), engine(t, time.Millisecond)}
	slices.Sort(both)
	one, other := both[0], both[1]
	recorded, err := os.ReadFile("../exporter/testdata/engines.prom")
	if err != nil {
		t.Fatal(err)
	}
	for says, exporter := range map[string]string{
		"has found 2 engines: " + one + " (vllm m), " + other + " (trtllm m)":    exporterOf(t, livePage("vllm="+sourceOf(one), "trtllm="+strings.TrimPrefix(other, "http://")+"/v1/models")),
		"has found no engine with an OpenAI-compatible API; uma-exporter doctor": exporterOf(t, livePage("lmcache="+sourceOf(one))),
		"it shows a recording":                exporterOf(t, string(recorded)),
		"the page is not one of uma-exporter": exporterOf(t, "up 1\n"),
		"not in the Prometheus text format":   exporterOf(t, "<h1>Grafana</h1>\x1b[2J\n"),
		"connection refused":                  "http://127.0.0.1:1/metrics",
		"such as --url http://127.0.0.1:8000": "",
	} {
		for _, verb := range []string{"check", "run", "sweep --over concurrency=1,2"} {
			var stdout, stderr bytes.Buffer
			code := Program{Stdout: &stdout, Stderr: &stderr, Exporter: exporter}.Run(t.Context(), strings.Fields(verb))
			if text := stderr.String(); code != exitUsage || strings.Count(text, "\n") != 1 || strings.Contains(text, "\x1b") ||
				!strings.Contains(text, "missing --url") || !strings.Contains(text, says) || !strings.Contains(text, exporter) {
				t.Errorf("%s: exit %d, want %q: %s", verb, code, says, text)
			}
		}
	}
}
