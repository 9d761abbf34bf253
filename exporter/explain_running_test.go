package exporter

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

// servedAt serves pages on a free port of this machine.
func servedAt(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// explainDefault is what explain prints without --url where the default exporter is at this address.
func explainDefault(t *testing.T, address string, args ...string) string {
	t.Helper()
	line, err := parse(append([]string{"explain"}, args...), &bytes.Buffer{}, &bytes.Buffer{})
	must(t, err)
	line.exporterURL = address
	var out bytes.Buffer
	must(t, line.explain(t.Context(), &out))
	return out.String()
}

// TestExplainAsksARunningExporterFirst: it may read what the user may not. All but where the figures are from is what
// the exporter itself prints.
func TestExplainAsksARunningExporterFirst(t *testing.T) {
	for _, name := range []string{"gb10-load", "h200-load", "gh200", "no-gpu"} {
		e := openHostNamed(t, name)
		address := servedAt(t, e.Handler())
		var own bytes.Buffer
		must(t, e.Explain(t.Context(), &own))
		answer, rest, _ := strings.Cut(own.String(), "\n")
		mode, rest, _ := strings.Cut(rest, "\n")
		want := answer + "\n" + strings.Replace(mode, thisMachine, "the exporter's machine", 1) +
			"\nread by the running exporter: " + address + "/explain.json\n" + rest
		for from, got := range map[string]string{
			"default": explainDefault(t, address),
			"--url":   runHere(t, "explain", "--url="+address),
			"page":    runHere(t, "explain", "--url="+address+"/explain.json"),
		} {
			if got != want {
				t.Errorf("%s, %s: %s", name, from, firstDifference(got, want))
			}
		}
	}
}

func TestExplainAsJSONIsTheSameDocument(t *testing.T) {
	e := openHostNamed(t, "h200-load")
	address := servedAt(t, e.Handler())
	x, err := e.explanation(t.Context())
	must(t, err)
	x.Exporter = address + explainPath
	var want bytes.Buffer
	must(t, x.writeJSON(&want))
	if got := runHere(t, "explain", "--json", "--url="+address); got != want.String() {
		t.Error(firstDifference(got, want.String()))
	}
	var own struct{ Schema, Answer, Mode, Note, Exporter string }
	must(t, json.Unmarshal([]byte(runHere(t, "explain", "--json", "--replay=hosts/h200-load.txtar")), &own))
	if own.Schema != explanationSchema || own.Answer != x.Answer || own.Mode != "replay" || own.Note != "--replay is given" || own.Exporter != "" {
		t.Errorf("of a recording: %+v", own)
	}
}

// TestWatchedJSONIsOnlyJSON: only text clears the screen.
func TestWatchedJSONIsOnlyJSON(t *testing.T) {
	address := servedAt(t, openHostNamed(t, "no-gpu").Handler())
	for flag, begins := range map[string]string{"--json": "{\n", "--no-json": clearScreen + "REPLAY: "} {
		line, err := parse([]string{"explain", "--watch", flag, "--url=" + address}, &bytes.Buffer{}, &bytes.Buffer{})
		must(t, err)
		source, err := line.explanations()
		must(t, err)
		var out bytes.Buffer
		must(t, line.explainOnce(t.Context(), source, &out))
		if !strings.HasPrefix(out.String(), begins) || strings.Count(out.String(), "\x1b") != strings.Count(begins, "\x1b") {
			t.Errorf("%s: %.100q", flag, out.String())
		}
	}
}

// TestFlagsOfTheMachineAreNotThoseOfARunningExporter: it is not asked where they are given.
func TestFlagsOfTheMachineAreNotThoseOfARunningExporter(t *testing.T) {
	asked := servedAt(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it is asked") }))
	for _, flag := range []string{"--direct", "--gpu.pcie", "--memory.cache-path=/nosuch", "--no-cgroup.detail"} {
		name, _, _ := strings.Cut(strings.Replace(flag, "--no-", "--", 1), "=")
		wantIn(t, explainDefault(t, asked, flag), "\nread by this command: "+name+" is given\n")
		var stderr bytes.Buffer
		if code := Run(t.Context(), []string{"explain", flag, "--url=" + asked}, &bytes.Buffer{}, &stderr); code != exitInput || !strings.Contains(stderr.String(), "so "+name+" cannot be given too") {
			t.Errorf("%s: exit %d: %s", flag, code, stderr.String())
		}
	}
}

// answered is a server that gives one answer.
func answered(status int, contentType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
}

// changed returns an explanation of a small machine in JSON, with a change.
func changed(t *testing.T, change func(*explanation)) string {
	t.Helper()
	x, err := exporterOf(t, integratedHost(t, "x"), Settings{}).explanation(t.Context())
	must(t, err)
	change(&x)
	var out bytes.Buffer
	must(t, x.writeJSON(&out))
	return out.String()
}

// TestAnswersThatAreNoExplanation: with --url they end explain, as the figures of this machine are not what was asked
// for; without, this machine is read, and the reason is shown.
func TestAnswersThatAreNoExplanation(t *testing.T) {
	const asJSON = "application/json"
	huge := uint64(1 << 60)
	older := exporterOf(t, integratedHost(t, "x"), Settings{})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", older.pages.handler(older.writeMetrics))
	mux.Handle("GET /{$}", older.pages.handler(older.writeLanding))
	for says, server := range map[string]http.Handler{
		"an older uma-exporter":               mux,
		"another program listens there":       answered(http.StatusOK, "text/html", "<h1>Grafana</h1>"),
		"answers 401 Unauthorized":            answered(http.StatusUnauthorized, "text/plain", "no"),
		"answers 302 Found":                   http.RedirectHandler("/elsewhere", http.StatusFound),
		"not one of uma-exporter: unexpected": answered(http.StatusOK, asJSON, `{"schema":`),
		"not one of uma-exporter: json":       answered(http.StatusOK, asJSON, `[1]`),
		"longer than 1024 KiB":                answered(http.StatusOK, asJSON, strings.Repeat(" ", maxExplanationBytes+1)),
		`schema is ""`:                        answered(http.StatusOK, asJSON, `{}`),
		`schema is "umascope.explain/2"`:      answered(http.StatusOK, asJSON, changed(t, func(x *explanation) { x.Schema = "umascope.explain/2" })),
		`no mode "\x1b[2J"`:                   answered(http.StatusOK, asJSON, changed(t, func(x *explanation) { x.Mode = "\x1b[2J" })),
		"its pool has 107374182401":           answered(http.StatusOK, asJSON, changed(t, func(x *explanation) { x.Memory.PoolBytes++ })),
		"impossible memory of process 7":      answered(http.StatusOK, asJSON, changed(t, func(x *explanation) { x.Memory.Holders[0].Bytes = &huge })),
		"impossible memory of GPU 0":          answered(http.StatusOK, asJSON, changed(t, func(x *explanation) { x.GPUs[0].TotalBytes = &huge })),
		"1025 GPU processes":                  answered(http.StatusOK, asJSON, changed(t, func(x *explanation) { x.Memory.Holders = make([]holder, mostHolders+1) })),
		"it has 65 GPUs":                      answered(http.StatusOK, asJSON, changed(t, func(x *explanation) { x.GPUs = make([]gpuMemory, mostRows+1) })),
	} {
		address := servedAt(t, server)
		var stdout, stderr bytes.Buffer
		code := Run(t.Context(), []string{"explain", "--url=" + strings.Replace(address, "//", "//user:s3cret@", 1)}, &stdout, &stderr)
		if text := stderr.String(); code != exitFailed || stdout.Len() > 0 || strings.Count(text, "\n") != 1 ||
			!strings.Contains(text, address+explainPath) || !strings.Contains(text, says) || strings.Contains(text, "s3cret") {
			t.Errorf("want %q: exit %d, %q, stderr %s", says, code, stdout.String(), text)
		}
	}
	foreign := servedAt(t, answered(http.StatusOK, "text/html", "<h1>Grafana</h1>"))
	text := explainDefault(t, foreign)
	wantIn(t, text, "GiB occupied", "\nread by this command: "+foreign+"/explain.json: the answer is not JSON: another program listens there\n")
}

func TestWithoutARunningExporterTheMachineIsRead(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	wantIn(t, explainDefault(t, server.URL), "GiB occupied", "\nmode live: figures of this machine, now\nread by this command: no exporter runs at "+strings.TrimPrefix(server.URL, "http://")+"\n")
	var stderr bytes.Buffer
	if code := Run(t.Context(), []string{"explain", "--url=" + server.URL}, &bytes.Buffer{}, &stderr); code != exitFailed || !strings.Contains(stderr.String(), "--url "+server.URL+"/explain.json: no exporter runs there") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestAProgramThatDoesNotAnswerIsNotWaitedForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runningExporter{&url.URL{Scheme: "http", Host: "127.0.0.1:1", Path: explainPath}, &http.Client{Transport: silent{}}}
		began := time.Now()
		_, err := r.explanation(t.Context())
		if took := time.Since(began); took != explainTimeout || err == nil || err.Error() != "http://127.0.0.1:1/explain.json: no answer within 5s" {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// FuzzParseExplanation prints what another process calls an explanation.
func FuzzParseExplanation(f *testing.F) {
	for _, name := range []string{"gb10-load", "h200x2", "no-gpu"} {
		x, err := openHostNamed(f, name).explanation(f.Context())
		must(f, err)
		var body bytes.Buffer
		must(f, x.writeJSON(&body))
		f.Add(body.Bytes())
	}
	f.Add([]byte(`{"schema":"umascope.explain/1","mode":"live","memory":{"pool_bytes":1,"lines":[{"line":"free","bytes":1}],"memory_architecture":"integrated","gpu_processes":[{"comm":"\u001b[2J"}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		x, err := parseExplanation(body)
		if err != nil {
			checkTerminal(t, "error", oneLine(err.Error()))
			return
		}
		var text, document bytes.Buffer
		x.print(&text)
		checkTerminal(t, "explain", text.String())
		if first, _, _ := strings.Cut(text.String(), "\n"); !strings.HasSuffix(first, ".") {
			t.Errorf("begins with %q", first)
		}
		must(t, x.writeJSON(&document))
		again, err := parseExplanation(document.Bytes())
		if err != nil {
			if document.Len() <= maxExplanationBytes {
				t.Errorf("%v: of %s", err, document.Bytes())
			}
			return
		}
		var second bytes.Buffer
		must(t, again.writeJSON(&second))
		if !bytes.Equal(document.Bytes(), second.Bytes()) {
			t.Error(firstDifference(second.String(), document.String()))
		}
	})
}

func TestTheExplanationIsServedAsJSON(t *testing.T) {
	e := exporterOf(t, integratedHost(t, hostile), Settings{})
	response := get(t, e.Handler(), explainPath)
	if kind := response.Header.Get("Content-Type"); kind != "application/json" || response.StatusCode != http.StatusOK {
		t.Errorf("%s, %s", response.Status, kind)
	}
	x, err := parseExplanation([]byte(body(t, response)))
	must(t, err)
	if x.Mode != collector.Simulated || x.Memory.PoolBytes != 100<<30 || x.Exporter != "" {
		t.Errorf("%+v", x)
	}
	if _, err := New(collector.Host{}, Settings{TelemetryPath: explainPath}); err == nil {
		t.Error("the metrics may have the path of the explanation")
	}
}
