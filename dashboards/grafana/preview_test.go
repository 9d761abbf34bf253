package grafana

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAPageAsksWhatGrafanaWouldAskAndGetsFrames(t *testing.T) {
	prometheus := newFake(t, answering)
	handler := open(t, PreviewConfig{Prometheus: prometheus.URL, Scrape: 5 * time.Second})
	answer := get(t, handler, "/render/b?from=1700000000000&to=1700001800000&width=1000")
	if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("%d %s: %s", answer.Code, answer.Header().Get("Content-Type"), answer.Body)
	}
	parts := lines(t, answer.Body.String())
	if at(t, parts["dashboard"], "variables", 0, "current", 0) != hostile || at(t, parts["dashboard"], "window", 0) != 1.7e12 {
		t.Errorf("dashboard %v", parts["dashboard"])
	}
	frame := at(t, parts["panel2"], "frames", 0)
	if at(t, frame, "series", 0, "name") != hostile || at(t, frame, "step") != 5000.0 {
		t.Errorf("frame %v", frame)
	}
	if at(t, frame, "series", 0, "points", 1, 0) != 1700000015500.0 || at(t, frame, "series", 0, "points", 1, 1) != "NaN" {
		t.Errorf("points %v", at(t, frame, "series", 0, "points"))
	}
	if at(t, frame, "series", 0, "histograms", 0, 1, 0, 2) != "3" {
		t.Errorf("histograms %v", at(t, frame, "series", 0, "histograms"))
	}
	instant := at(t, parts["panel2"], "frames", 1)
	if at(t, instant, "instant") != true || at(t, instant, "format") != "table" || at(t, instant, "expr") != "rate(m[20s])" {
		t.Errorf("frame %v", instant)
	}
	if warning := at(t, parts["panel2"], "warnings", 0); warning != "query A: mind "+hostile {
		t.Errorf("warning %v", warning)
	}
	if at(t, parts["events"], "events", 0, "title") != "of "+hostile || len(at(t, parts["events"], "events").([]any)) != 1 {
		t.Errorf("events %v", parts["events"])
	}
	heard := strings.Join(prometheus.heard, "\n")
	for _, want := range []string{
		"GET /api/v1/label/host/values end=1700001800.000&match%5B%5D=up&start=1700000000.000",
		"POST /api/v1/query_range end=1700001800.000&query=m%7Bhost%3D%22%3Cscript%3Ealert%281%29%3C%2Fscript%3E%5C%22%27%5C%5C%60%22%7D&start=1700000000.000&step=5&timeout=20s",
	} {
		if !strings.Contains(heard, want) {
			t.Errorf("not asked: %s; asked\n%s", want, heard)
		}
	}
	if strings.Contains(heard, "never") {
		t.Error("an annotation that is switched off was asked")
	}
}

func TestPanelsOfACollapsedRowAreAnsweredWhenItIsOpened(t *testing.T) {
	prometheus := newFake(t, answering)
	handler := open(t, PreviewConfig{Prometheus: prometheus.URL})
	asked := func() bool { return strings.Contains(strings.Join(prometheus.heard, "\n"), "query=inside") }
	parts := lines(t, get(t, handler, "/render/b?open=Row").Body.String())
	if parts["panel2"] == nil || parts["panel5"] != nil || asked() {
		t.Errorf("collapsed: %v, queried: %v", parts["panel5"], asked())
	}
	row, inside := at(t, parts["dashboard"], "rows", 1), at(t, parts["dashboard"], "panels", 2)
	if at(t, row, "collapsed") != true || at(t, row, "title") != "More of "+hostile || at(t, inside, "title") != "Inside" || at(t, inside, "row") != at(t, row, "name") {
		t.Errorf("row %v, panel %v", row, inside)
	}
	parts = lines(t, get(t, handler, "/render/b?open=More+of+%24host").Body.String())
	if parts["panel5"] == nil || !asked() {
		t.Errorf("opened: %v, queried: %v", parts["panel5"], asked())
	}
}

// TestThePresentIsThatOfWhatIsShown: the last hour of a simulation is not that of the wall clock.
func TestThePresentIsThatOfWhatIsShown(t *testing.T) {
	prometheus := newFake(t, answering)
	present := time.Unix(4_000_000_000, 0)
	handler := open(t, PreviewConfig{Prometheus: prometheus.URL, Now: func() time.Time { return present }})
	ask := func() any {
		return at(t, lines(t, get(t, handler, "/render/b?from=now-1h&to=now").Body.String())["dashboard"], "window", 1)
	}
	if to := ask(); to != 4e12 {
		t.Errorf("the page ends at %v", to)
	}
	present = present.Add(time.Minute)
	if to := ask(); to != 4e12+60e3 {
		t.Errorf("a minute later the page ends at %v", to)
	}
	if heard := strings.Join(prometheus.heard, "\n"); !strings.Contains(heard, "end=4000000000.000&match%5B%5D=up&start=3999996400.000") {
		t.Errorf("asked\n%s", heard)
	}
}

func TestLinksKeepTimeAndVariables(t *testing.T) {
	handler := open(t, PreviewConfig{Prometheus: newFake(t, answering).URL})
	parts := lines(t, get(t, handler, "/render/b?from=now-1h&to=now-1m&var-host=a%26b").Body.String())
	if got := at(t, parts["dashboard"], "links", 0, "url"); got != "/d/c?from=now-1h&to=now-1m&var-host=a%26b" {
		t.Errorf("link %v", got)
	}
	config := at(t, parts["dashboard"], "panels", 0, "fieldConfig", "defaults", "links", 0, "url")
	if config != "/d/c?v=${__value.raw}&var-host=a%26b" {
		t.Errorf("link of a cell %v", config)
	}
	if got := at(t, parts["dashboard"], "panels", 0, "title"); got != "On a&b" {
		t.Errorf("title %v", got)
	}
}

func TestAQueryThatFailsIsReportedAndTheOthersAreShown(t *testing.T) {
	prometheus := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Form.Get("query"), "m{a=") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"status":"error","errorType":"bad_data","error":"parse error at char 5"}`))
			return
		}
		answering(w, r)
	})
	parts := lines(t, get(t, open(t, PreviewConfig{Prometheus: prometheus.URL}), "/render/b").Body.String())
	if got := at(t, parts["panel3"], "problems", 0); got != "query A: bad_data: parse error at char 5" {
		t.Errorf("problem %v", got)
	}
	if len(at(t, parts["panel2"], "problems").([]any)) != 0 || parts["end"] == nil {
		t.Errorf("panel %v", parts["panel2"])
	}
}

// badSources are addresses where no good Prometheus is, with what a page says of each.
func TestAPrometheusThatDoesNotAnswerIsNamedOnThePage(t *testing.T) {
	elsewhere := newFake(t, answering)
	for want, handler := range map[string]func(w http.ResponseWriter, r *http.Request){
		"it redirects, which is not followed": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"it takes too long": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil { // a drop now and then, without end
				if _, err := w.Write([]byte(" ")); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				time.Sleep(soon / 10)
			}
		},
		"answers with 503 Service Unavailable": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "still starting", http.StatusServiceUnavailable) // a Prometheus that reads its log, or one behind a password
		},
		"answers with other data than was asked for": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"status":"success","data":{}}`))
		},
		"is no Prometheus": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>hello")) },
		"longer than 32 MiB": func(w http.ResponseWriter, _ *http.Request) {
			block := []byte(strings.Repeat(" ", 1<<20))
			for range 40 {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		},
	} {
		prometheus := newFake(t, handler)
		began := time.Now()
		timeout := soon
		if strings.HasPrefix(want, "longer") {
			timeout = 10 * time.Second
		}
		parts := lines(t, get(t, open(t, PreviewConfig{Prometheus: prometheus.URL, Timeout: timeout}), "/render/c").Body.String())
		if parts["end"] == nil {
			t.Errorf("%s: no end", want)
		}
		parts = lines(t, get(t, open(t, PreviewConfig{Prometheus: prometheus.URL, Timeout: timeout, Dashboards: os.DirFS(variableOnly(t))}), "/render/v").Body.String())
		problem, _ := at(t, parts["dashboard"], "variables", 0, "problem").(string)
		if !strings.Contains(problem, want) || !strings.Contains(problem, prometheus.URL) {
			t.Errorf("%s: %q", want, problem)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %s", want, took)
		}
	}
	if len(elsewhere.heard) != 0 {
		t.Errorf("a redirect was followed: %q", elsewhere.heard)
	}
}

// variableOnly is a folder with a dashboard that asks one question.
func variableOnly(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	content := `{"uid":"v","title":"V","schemaVersion":42,"time":{"from":"now-1h","to":"now"},"templating":{"list":[{"name":"host","type":"query","query":"label_values(host)"}]}}`
	if err := os.WriteFile(filepath.Join(dir, "v.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A page of ten variables would else stand empty for ten times as long.
func TestVariablesOfAPrometheusThatHangsTakeNoLongerThanOne(t *testing.T) {
	release := make(chan struct{})
	prometheus := newFake(t, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) })
	dir := t.TempDir()
	variable := func(name string) string { return `{"name":"` + name + `","type":"query","query":"label_values(host)"}` }
	content := `{"uid":"v","title":"V","schemaVersion":42,"time":{"from":"now-1h","to":"now"},"templating":{"list":[` +
		strings.Join([]string{variable("a"), variable("b"), variable("c"), variable("d"), variable("e"), variable("f")}, ",") + `]}}`
	if err := os.WriteFile(filepath.Join(dir, "v.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	parts := lines(t, get(t, open(t, PreviewConfig{Prometheus: prometheus.URL, Timeout: soon, Dashboards: os.DirFS(dir)}), "/render/v").Body.String())
	for i := range 6 {
		problem, _ := at(t, parts["dashboard"], "variables", i, "problem").(string)
		if !strings.Contains(problem, "does not answer: it takes too long") || !strings.Contains(problem, prometheus.URL) {
			t.Errorf("variable %d: %q", i, problem)
		}
	}
	prometheus.mu.Lock()
	defer prometheus.mu.Unlock()
	if len(prometheus.heard) > 2 {
		t.Errorf("asked %d times, each of which is waited for", len(prometheus.heard))
	}
}

func TestAPrometheusThatIsGoneIsReportedWithoutThePassword(t *testing.T) {
	body := get(t, open(t, PreviewConfig{Prometheus: "http://me:secret@127.0.0.1:1"}), "/render/b").Body.String()
	if !strings.Contains(body, "does not answer") || !strings.Contains(body, "127.0.0.1:1") || strings.Contains(body, "secret") {
		t.Errorf("page %s", body)
	}
}

func TestWhatTheAddressAsksForIsChecked(t *testing.T) {
	handler := open(t, PreviewConfig{Prometheus: newFake(t, answering).URL})
	for path, want := range map[string]int{
		"/render/b?from=yesterday":         http.StatusBadRequest,
		"/render/b?from=now&to=now-1h":     http.StatusBadRequest,
		"/render/b?from=0&to=now":          http.StatusBadRequest,
		"/render/b?width=1":                http.StatusBadRequest,
		"/render/b?width=1e9":              http.StatusBadRequest,
		"/render/b?columns=0":              http.StatusBadRequest,
		"/render/nothing":                  http.StatusNotFound,
		"/d/nothing":                       http.StatusNotFound,
		"/d/..%2F..%2Fgo.mod":              http.StatusNotFound,
		"/assets/../server.go":             http.StatusTemporaryRedirect,
		"/assets/nothing.js":               http.StatusNotFound,
		"/d/b":                             http.StatusOK,
		"/d/b/any-name":                    http.StatusOK,
		"/assets/main.js":                  http.StatusOK,
		"/assets/echarts/LICENSE":          http.StatusOK,
		"/":                                http.StatusOK,
		"/other":                           http.StatusNotFound,
		"/render/b?var-nobody=x&columns=1": http.StatusOK,
	} {
		if got := get(t, handler, path); got.Code != want {
			t.Errorf("%s: %d, want %d (%s)", path, got.Code, want, strings.TrimSpace(got.Body.String()))
		}
	}
}

func TestOtherSitesAreRefused(t *testing.T) {
	prometheus := newFake(t, answering)
	handler := open(t, PreviewConfig{Prometheus: prometheus.URL})
	if got := get(t, handler, "/render/b", "Sec-Fetch-Site", "cross-site"); got.Code != http.StatusForbidden || len(prometheus.heard) > 0 {
		t.Errorf("another site: %d, asked %q", got.Code, prometheus.heard)
	}
}

func TestAnAddressThatIsNoPrometheusIsRefused(t *testing.T) {
	for _, address := range []string{"", "localhost:9090", "ftp://x", "http://", "http://x?y=1", "http://x#y", "http://a b", "http://me:secret@x?y"} {
		if _, err := NewPreview(PreviewConfig{Prometheus: address}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// A pipe would be waited for until somebody writes into it.
func TestWhatIsNoPlainFileIsNotRead(t *testing.T) {
	dir := folder(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	body := get(t, open(t, PreviewConfig{Dashboards: os.DirFS(dir), Prometheus: "http://127.0.0.1:1"}), "/").Body.String()
	if !strings.Contains(body, "pipe.json: it is no plain file") || !strings.Contains(body, `href="/d/c"`) {
		t.Errorf("page %s", body)
	}
}

func TestTwoFilesOfOneDashboardAreReported(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "copy.json"), []byte(board), 0o600); err != nil {
		t.Fatal(err)
	}
	body := get(t, open(t, PreviewConfig{Dashboards: os.DirFS(dir), Prometheus: "http://127.0.0.1:1"}), "/").Body.String()
	if !strings.Contains(body, "copy.json: its uid is that of b.json") || strings.Count(body, `href="/d/b"`) != 1 {
		t.Errorf("page %s", body)
	}
}

func TestAFileThatIsNoDashboardIsNamed(t *testing.T) {
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, "broken.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	handler := open(t, PreviewConfig{Dashboards: os.DirFS(dir), Prometheus: "http://127.0.0.1:1"})
	for path, want := range map[string]string{"/": "broken.json: not a dashboard", "/d/gone": "there is no such dashboard"} {
		body := get(t, handler, path).Body.String()
		if !strings.Contains(body, want) || !strings.Contains(body, `href="/d/c"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if body := get(t, open(t, PreviewConfig{Dashboards: os.DirFS(t.TempDir()), Prometheus: "http://127.0.0.1:1"}), "/").Body.String(); !strings.Contains(body, "there are no dashboards") {
		t.Errorf("an empty folder: %s", body)
	}
}

// TestDashboardsOfASiteHaveItsBarAndNoAddressOfTheirOwn: the Prometheus of a site may have none that a reader can use.
func TestDashboardsOfASiteHaveItsBarAndNoAddressOfTheirOwn(t *testing.T) {
	site := &Site{Index: "/dashboards/", Source: "this <site>", Pages: []SitePage{{"Overview & more", "/"}, {"Dashboards", "/dashboards/"}}}
	handler := open(t, PreviewConfig{Prometheus: "http://127.0.0.1:1", Site: site})
	for path, want := range map[string]string{"/dashboards/": "this &lt;site&gt;", "/d/b": `<a href="/dashboards/" title="All dashboards">`} {
		page := get(t, handler, path).Body.String()
		for _, part := range []string{want, `<a href="/">Overview &amp; more</a>`, `<a href="/dashboards/" class="here">Dashboards</a>`} {
			if !strings.Contains(page, part) {
				t.Errorf("%s lacks %s: %s", path, part, page)
			}
		}
		if strings.Contains(page, "127.0.0.1") || strings.Contains(page, "preview") {
			t.Errorf("%s shows the address of the Prometheus, or calls itself a preview: %s", path, page)
		}
	}
	if code := get(t, handler, "/").Code; code != http.StatusNotFound {
		t.Errorf("/ is the site's: %d", code)
	}
	if data := get(t, handler, "/render/b").Body.String(); !strings.Contains(data, "does not answer") || strings.Contains(data, "the Prometheus at") {
		t.Errorf("data %s", data)
	}
}
