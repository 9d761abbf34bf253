package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

const hostileText = `<script>alert("x")</script>`

// machinePage is the page of a machine with little memory left and that in pieces, of which a container has a limit that does not count its
// GPU memory. ContainerLimitUncovered fires at once, MemoryFragmented is pending.
const machinePage = `# TYPE uma_memory_ledger_bytes gauge
uma_memory_ledger_bytes{line="gpu_process"} 85899345920
uma_memory_ledger_bytes{line="anon"} 21474836480
uma_memory_ledger_bytes{line="free"} 1073741824
uma_memory_pool_bytes 108447924224
uma_memory_available_bytes 5368709120
uma_memory_free_contiguous_bytes{min_block_bytes="2097152"} 1048576
uma_host_info{memory_architecture="integrated"} 1
uma_exporter_mode{mode="live"} 1
uma_exporter_mode{mode="simulated"} 0
uma_cgroup_limit_uncovered_ratio{cgroup="/<script>alert(\"x\")</script>"} 0.9
`

// opened is a viewer over servers inside the process: a machine, and the run in progress if there is one.
type opened struct {
	*viewer
	handler http.Handler
}

func openPages(t *testing.T, machine string, servers map[string]http.Handler, change func(*options)) opened {
	t.Helper()
	o := options{
		data: t.TempDir(), runs: t.TempDir(), exporter: "http://exporter.inside:80/metrics", interval: 400 * time.Millisecond, keep: time.Hour, keepBytes: 64 << 20,
	}
	if change != nil {
		change(&o)
	}
	v := newViewer(o, slog.New(slog.DiscardHandler))
	v.site = "http://127.0.0.1:10430"
	inside := map[string]http.Handler{exporterInside: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, machine)
	})}
	maps.Copy(inside, servers)
	for address, handler := range inside {
		if err := v.serveInside(address, handler); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(v.close)
	if err := v.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	handler, err := v.pages()
	if err != nil {
		t.Fatal(err)
	}
	return opened{v, handler}
}

func (o opened) request(r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	o.handler.ServeHTTP(recorder, r)
	return recorder
}

func (o opened) get(path string) *httptest.ResponseRecorder {
	return o.request(httptest.NewRequest(http.MethodGet, path, nil))
}

// until reads a page until it has a text.
func (o opened) until(t *testing.T, path, text string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := o.get(path)
		if strings.Contains(got.Body.String(), text) {
			return got.Body.String()
		}
		if time.Now().After(end) {
			t.Fatalf("%s never has %s: %d %s", path, text, got.Code, got.Body)
		}
	}
}

func wantParts(t *testing.T, name, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(page, part) {
			t.Errorf("%s lacks %s:\n%s", name, part, page[max(0, strings.Index(page, "<body>")):])
		}
	}
	if strings.Contains(page, "<script>alert") {
		t.Errorf("%s has markup of a label", name)
	}
}

func TestTheOverviewAnswersFirst(t *testing.T) {
	o := openPages(t, machinePage, nil, nil)
	page := o.until(t, "/", "1 alert fires")
	wantParts(t, "/", page, "100.0 of 101.0 GiB occupied; 1.0 GiB free.", `<a href="/alerts/ContainerLimitUncovered">`, "No run is in progress.", "0 finished runs",
		`href="/d/umascope-unified-memory?`, `<a href="/" class="here">Overview</a> <a href="/dashboards/">Dashboards</a> <a href="/alerts">Alerts</a> <a href="/runs">Runs</a>`, "GPU-held 80 GiB")
	if sentence, alert := strings.Index(page, "GiB occupied"), strings.Index(page, "1 alert fires"); sentence > alert {
		t.Error("the alerts come before the answer")
	}
}

func TestTheOverviewSaysWhereSamplesOfASimulatedMachineAre(t *testing.T) {
	const sentence = "Samples of simulated machines stay in the same folder as those of real ones: --data names another."
	simulated := strings.NewReplacer(`{mode="live"} 1`, `{mode="live"} 0`, `{mode="simulated"} 0`, `{mode="simulated"} 1`).Replace(machinePage)
	wantParts(t, "/", openPages(t, simulated, nil, nil).until(t, "/", "SIMULATED: 100.0 of"), sentence)
	if page := openPages(t, machinePage, nil, nil).until(t, "/", "100.0 of 101.0 GiB occupied"); strings.Contains(page, sentence) {
		t.Error("said of a machine that is not simulated")
	}
}

// TestTheAnswerIsThatOfExplain, whose text comes from another process.
func TestTheAnswerIsThatOfExplain(t *testing.T) {
	answer := ""
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, strings.Replace(machinePage, `mode="live"} 1`, `mode="live"} 0`, 1)+"uma_exporter_mode{mode=\"replay\"} 1\n")
	})
	mux.HandleFunc("/explain.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) })
	o := openPages(t, "", map[string]http.Handler{"other.inside:80": mux}, func(o *options) { o.exporter = "http://other.inside:80/metrics" })
	o.until(t, "/", "REPLAY: 100.0 of 101.0 GiB occupied") // an older exporter has no such page
	for text, want := range map[string]string{
		`{"answer": "80 of 101 GiB occupied: ` + strings.ReplaceAll(hostileText, `"`, `\"`) + `"}`: "80 of 101 GiB occupied: &lt;script&gt;",
		`{"answer": ["x"]}`: "100.0 of 101.0 GiB",
		`no JSON`:           "100.0 of 101.0 GiB",
	} {
		answer = text
		wantParts(t, text, o.get("/").Body.String(), want)
	}
	answer = `{"answer": "80 of 101 GiB occupied.", "memory": {"lines": [{"line": "free", "bytes": 22548578304}, {"line": "anon", "bytes": 85899345920}, {"line": "managed"}]}}`
	wantParts(t, "the lines of the same moment", o.get("/").Body.String(), "80 of 101 GiB occupied.", "anonymous 80 GiB", "free 21 GiB")
	answer = `{"answer": "80 of 101 GiB occupied.", "memory": {"allocatable": {"reserve_bytes": 6442450944}}}`
	wantParts(t, "the reserve and the floor", o.get("/").Body.String(), "Reserve: 6.0 GiB (8 GiB or 6 % of the pool", "Floor: a Spark died with about 7 of 119 GiB available (https://github.com/vllm-project/vllm/issues/46307).")
}

// TestTheSentenceOfAnotherMachineHasThreeFiguresWhereTheGPUTakesFromThePool: its exporter is not asked.
func TestTheSentenceOfAnotherMachineHasThreeFiguresWhereTheGPUTakesFromThePool(t *testing.T) {
	const gib = 1 << 30
	lines := map[string]float64{ledger.Anon: 100 * gib, ledger.Free: 11 * gib, ledger.FreeCMA: 9 * gib}
	if got, want := (hostLedger{lines: lines}).sentence(), "100.0 of 120.0 GiB occupied; 20.0 GiB free."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	upTo := 30.0 * gib
	want := "SIMULATED: 100.0 of 120.0 GiB occupied; CUDA reports 20.0 GiB free, 9.0 of it in CMA, which a driver cannot pin; up to 30.0 GiB if page cache is given up (not tried on a GB10); fit grants 22.8, since machines were seen to die below 7 of 119 GiB."
	if got := (hostLedger{lines: lines, upTo: &upTo, simulated: "simulated"}).sentence(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheNameOfTheMachineIsThatOfTheFlag(t *testing.T) {
	o := openPages(t, machinePage, nil, func(o *options) { o.host = "sim-spark" })
	o.until(t, "/", "1 alert fires")
	// On a busy machine the alert may be there before figures of this moment are.
	wantParts(t, "/", o.until(t, "/", "100.0 of 101.0 GiB occupied"), "<h1>sim-spark</h1>", "var-host=sim-spark")
}

func TestAnExporterThatIsGoneIsNamed(t *testing.T) {
	o := openPages(t, "", nil, func(o *options) { o.exporter = "http://127.0.0.1:1/metrics" })
	wantParts(t, "/", o.until(t, "/", "No figures come from"), "connection refused", "There are no figures of this machine")
}

func TestAlertsShowWhatFiresFirst(t *testing.T) {
	o := openPages(t, machinePage, nil, nil)
	o.until(t, "/alerts", "<h2>Firing</h2>")
	page := o.until(t, "/alerts", "1 firing, 1 pending")
	o.until(t, "/alerts", "1 rule for programs also firing.") // the dead man's switch
	wantParts(t, "/alerts", page, "<h2>Pending</h2>", "firing since", "cgroup</dt> <dd>/&lt;script&gt;", "<dt>value</dt> <dd>90 %</dd>", "1 MiB", "90% of the memory of /&lt;script&gt;")
	order := -1
	for _, part := range []string{"<h2>Firing</h2>", "ContainerLimitUncovered", "<h2>Pending</h2>", "MemoryFragmented", "<h2>All rules</h2>"} {
		at := strings.Index(page, part)
		if at < order {
			t.Errorf("%s is at %d, before what comes first", part, at)
		}
		order = at
	}
	rows := page[strings.Index(page, "<h2>All rules</h2>"):]
	for _, group := range alerts.Groups() {
		for _, a := range group.Alerts {
			if strings.Count(rows, `<a href="/alerts/`+a.Name+`">`) != len(a.Rules) {
				t.Errorf("%s has not a row for each rule", a.Name)
			}
			help := o.get("/alerts/" + a.Name)
			if text := help.Body.String(); help.Code != http.StatusOK || strings.Count(text, "<h3>") != len(a.Help()) || !strings.Contains(text, "<pre><code>") || strings.Contains(text, "`") {
				t.Errorf("%s: %d %s", a.Name, help.Code, text)
			}
		}
	}
	wantParts(t, "its page", o.get("/alerts/ContainerLimitUncovered").Body.String(), "<strong>firing</strong>", "<code>--memory</code>", "/&lt;script&gt;")
	if code := o.get("/alerts/NoSuch").Code; code != http.StatusNotFound {
		t.Errorf("an alert that does not exist: %d", code)
	}
}

// TestAnAlertThatIsOnlyHeldSaysSo: ContainerLimitUncovered keeps firing for 5 minutes.
func TestAnAlertThatIsOnlyHeldSaysSo(t *testing.T) {
	var present atomic.Bool
	present.Store(true)
	const ratio = "uma_cgroup_limit_uncovered_ratio"
	o := openPages(t, "", map[string]http.Handler{exporterInside: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		page := machinePage
		if !present.Load() {
			page = page[:strings.Index(page, ratio)]
		}
		fmt.Fprint(w, page)
	})}, nil)
	const path, held = "/alerts/ContainerLimitUncovered", "Its condition ended at"
	if page := o.until(t, path, "firing since"); strings.Contains(page, held) {
		t.Errorf("held while its condition holds:\n%s", page)
	}
	present.Store(false)
	for _, path := range []string{path, "/alerts"} {
		wantParts(t, path, o.until(t, path, held), "<dt>value</dt> <dd>90 %, its last</dd>", "the alert is held for 5m after that")
	}
	present.Store(true)
	for end := time.Now().Add(time.Minute); strings.Contains(o.get(path).Body.String(), held); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still held when its condition holds again")
		}
	}
}

// finished writes a run with telemetry of that name, and returns its folder.
func finished(t *testing.T, runs, name string) string {
	t.Helper()
	written := testrun.OneMachine(t, testrun.Page{}, testrun.Steady(30)...).Write(t)
	var manifest map[string]any
	path := filepath.Join(written, rundir.ManifestFile)
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	manifest["run"] = name
	if err == nil {
		text, err = json.Marshal(manifest)
	}
	if err = errors.Join(err, os.WriteFile(path, text, 0o644)); err != nil {
		t.Fatal(err)
	}
	if _, err := summary.Write(written, supported.Engines()); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(runs, fmt.Sprint("run-", time.Now().UnixNano()))
	if err := os.Rename(written, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestRunsAreListedWithTheirReportsAndFiles(t *testing.T) {
	runs := t.TempDir()
	hostile := "../" + hostileText + "?#%2e"
	folder := finished(t, runs, hostile)
	damaged := filepath.Join(runs, "damaged")
	secret := filepath.Join(t.TempDir(), "secret.txt")
	text, err := json.Marshal(compare.Comparison{Schema: compare.Schema})
	if err = errors.Join(err, os.Mkdir(damaged, 0o755), os.WriteFile(filepath.Join(damaged, rundir.ManifestFile), []byte("{"), 0o644),
		os.WriteFile(filepath.Join(folder, "page.html"), []byte(hostileText), 0o644), os.WriteFile(secret, []byte("s3cret"), 0o644),
		os.Symlink(secret, filepath.Join(folder, "link.txt")), syscall.Mkfifo(filepath.Join(folder, "pipe.txt"), 0o644),
		os.Mkdir(filepath.Join(runs, promexport.ComparisonsFolder), 0o755),
		os.WriteFile(filepath.Join(runs, promexport.ComparisonsFolder, "a<b>.json"), text, 0o644)); err != nil {
		t.Fatal(err)
	}
	o := openPages(t, machinePage, nil, func(o *options) { o.runs = runs })
	page := o.get("/runs").Body.String()
	wantParts(t, "/runs", page, "1 finished run; 0 unfinished, 1 unreadable", damaged, `href="`+strings.ReplaceAll(addressOfRun(hostile), "&", "&amp;")+`"`, `href="/comparison/a%3Cb%3E"`)
	report := o.get(addressOfRun(hostile))
	wantParts(t, "the report", report.Body.String(), "this run is", "Run detail</a>", "Every request", "<h2>Files</h2>", `<a href="requests.jsonl">`, "var-run=..%2F%3Cscript")
	if strings.Contains(report.Body.String(), "link.txt") || strings.Contains(report.Body.String(), "pipe.txt") {
		t.Error("links or pipes are listed as files")
	}
	wantParts(t, "the comparison", o.get("/comparison/a%3Cb%3E").Body.String(), "a&lt;b&gt;", `class="here">Runs`)
	for name, want := range map[string]string{"requests.jsonl": "text/plain; charset=utf-8", "page.html": "application/octet-stream"} {
		answer := o.get(addressOfRun(hostile) + name)
		download := strings.HasPrefix(answer.Header().Get("Content-Disposition"), "attachment")
		if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != want || download != (name == "page.html") || answer.Body.Len() == 0 {
			t.Errorf("%s: %d %v", name, answer.Code, answer.Header())
		}
	}
	for _, path := range []string{
		addressOfRun(hostile) + "link.txt", addressOfRun(hostile) + "pipe.txt", addressOfRun(hostile) + "..%2F..%2Fsecret.txt", addressOfRun(hostile) + "none",
		"/run/none/", "/run/none/manifest.json", "/comparison/none", "/comparison/..%2Fa", addressOfRun("damaged"),
	} {
		if answer := o.get(path); answer.Code != http.StatusNotFound || strings.Contains(answer.Body.String(), "s3cret") {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
}

func TestRunsThatCannotBeReadAreNamed(t *testing.T) {
	runs := t.TempDir()
	o := openPages(t, machinePage, nil, func(o *options) { o.runs = filepath.Join(runs, "none") })
	for _, path := range []string{"/", "/runs"} {
		wantParts(t, "no folder: "+path, o.get(path).Body.String(), o.runs+" does not exist yet", "uma-load run makes")
	}
	file := filepath.Join(runs, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o = openPages(t, machinePage, nil, func(o *options) { o.runs = file })
	wantParts(t, "a file", o.get("/runs").Body.String(), "it is no folder")
	folder := finished(t, runs, "damaged-later")
	o = openPages(t, machinePage, nil, func(o *options) { o.runs = runs })
	if err := os.WriteFile(filepath.Join(folder, rundir.TelemetryFile), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if answer := o.get(addressOfRun("damaged-later")); answer.Code != http.StatusNotFound || !strings.Contains(answer.Body.String(), rundir.TelemetryFile) {
		t.Errorf("damaged telemetry: %d %s", answer.Code, answer.Body)
	}
}

// livePages are the pages of a run in progress, whose answers may be those of any program.
func livePages(events http.HandlerFunc) map[string]http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, "uma_run_simulated{host=\"h\",run=\"<script>\"} 1\numa_run_active{host=\"h\",run=\"<script>\",arm=\"native\",scenario=\"standard\"} 1\numa_run_active{host=\"g\",run=\"<script>\",arm=\"native\",scenario=\"standard\"} 1\numa_run_phase{host=\"h\",run=\"<script>\",phase=\"measure\"} 1\n"+
			"uma_load_requests_in_flight{run=\"<script>\",phase=\"measure\"} 7\numa_load_requests_total{run=\"<script>\",phase=\"measure\",status=\"ok\"} 42\numa_load_requests_total{run=\"<script>\",phase=\"measure\",status=\"http\"} 0\n")
	})
	mux.HandleFunc("/events", events)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, hostileText) })
	return map[string]http.Handler{defaultLive: mux}
}

func TestARunInProgressIsShown(t *testing.T) {
	o := openPages(t, machinePage, livePages(http.NotFound), nil)
	const words = "SIMULATED engine, arm native, scenario standard, phase measure, on g and h"
	wantParts(t, "/", o.until(t, "/", "In progress"), `<a href="/runs/live/">&lt;script&gt;</a>, `+words)
	wantParts(t, "live", o.until(t, "/runs/live/", "42 ok"), words, "requests: 7 in flight, 42 ok<", "/d/umascope-run-detail?", "var-run=%3Cscript%3E", `<a href="/runs" class="here">Runs</a>`)
	if code := o.get("/runs/live").Code; code/100 != 3 {
		t.Errorf("without the slash: %d", code)
	}
	if code := o.request(httptest.NewRequest(http.MethodPost, "/runs/live/", nil)).Code; code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", code)
	}
	if script := o.get("/runs/live/live.js"); script.Code != http.StatusOK || script.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || !strings.Contains(script.Body.String(), "EventSource") {
		t.Errorf("the script: %d %v", script.Code, script.Header())
	}
	wantParts(t, "no run", openPages(t, machinePage, nil, nil).get("/runs/live/").Body.String(), "No run is in progress.")
}

func TestARunInProgressGivesEventsAndNothingElse(t *testing.T) {
	var seen *http.Request
	o := openPages(t, machinePage, livePages(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Security-Policy", "script-src *")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprint(w, "data: []\n\n")
	}), nil)
	request := httptest.NewRequest(http.MethodGet, "/runs/live/events?columns=80&a=b", nil)
	request.Header.Set("Authorization", "Basic x")
	request.Header.Set("Cookie", "c=d")
	request.Header.Set("X-Forwarded-For", "1.2.3.4")
	answer := o.request(request)
	header := answer.Header()
	if answer.Body.String() != "data: []\n\n" || header.Get("Set-Cookie") != "" || header.Get("Access-Control-Allow-Origin") != "" || header.Get("X-Content-Type-Options") != "nosniff" ||
		len(header.Values("Content-Security-Policy")) != 1 || strings.Contains(header.Get("Content-Security-Policy"), "script-src") {
		t.Errorf("%d %v %s", answer.Code, header, answer.Body)
	}
	if seen.Host != defaultLive || seen.Header.Get("Authorization")+seen.Header.Get("Cookie")+seen.Header.Get("X-Forwarded-For") != "" || seen.URL.RawQuery != "columns=80" {
		t.Errorf("the run gets %v", seen)
	}
	const again = "event: report\ndata: \n\n" // the page is loaded again
	for name, events := range map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, hostileText) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		},
		"an error": http.NotFound,
	} {
		o := openPages(t, machinePage, livePages(events), nil)
		if answer := o.get("/runs/live/events?columns=80"); answer.Body.String() != again || answer.Header().Get("Location") != "" {
			t.Errorf("%s: %d %v %s", name, answer.Code, answer.Header(), answer.Body)
		}
	}
	if answer := openPages(t, machinePage, nil, nil).get("/runs/live/events?columns=80"); answer.Body.String() != again {
		t.Errorf("a run that has ended: %d %s", answer.Code, answer.Body)
	}
	for _, path := range []string{"/runs/live/metrics", "/runs/live/none"} {
		if code := o.get(path).Code; code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// everyPath are the paths of all pages.
var everyPath = []string{
	"/", "/alerts", "/alerts/Watchdog", "/runs", "/runs/live/", "/runs/live/events", "/runs/live/live.js", "/run/none/", "/run/none/x", "/comparison/none", "/dashboards/", "/d/umascope-overview", "/render/umascope-overview",
	"/assets/style.css", "/api/v1/query?query=1", "/metrics", "/-/healthy", "/-/ready", "/none",
}

func TestEveryPageIsGuarded(t *testing.T) {
	o := openPages(t, machinePage, nil, nil)
	for _, path := range everyPath {
		header := o.get(path).Header()
		if policy := header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %v", path, header)
		}
		for _, site := range []string{"cross-site", "same-site"} {
			request := httptest.NewRequest(http.MethodGet, path, nil)
			request.Header.Set("Sec-Fetch-Site", site)
			request.Header.Set("Sec-Fetch-Mode", "no-cors")
			if code := o.request(request).Code; code != http.StatusForbidden {
				t.Errorf("%s, read by another site: %d", path, code)
			}
		}
	}
	follow := httptest.NewRequest(http.MethodGet, "/alerts", nil)
	for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"} {
		follow.Header.Set(name, value)
	}
	if code := o.request(follow).Code; code != http.StatusOK {
		t.Errorf("a link of another site: %d", code)
	}
	foreign := httptest.NewRequest(http.MethodPost, "/api/v1/query", strings.NewReader("query=1"))
	foreign.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if code := o.request(foreign.Clone(t.Context())).Code; code == http.StatusForbidden {
		t.Errorf("a client library: %d", code)
	}
	foreign.Header.Set("Origin", "http://elsewhere.example")
	if code := o.request(foreign).Code; code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", code)
	}
}

func TestOwnMetricsAndHealth(t *testing.T) {
	o := openPages(t, machinePage, nil, nil)
	wantParts(t, "/metrics", o.get("/metrics").Body.String(), "uma_view_build_info{", "prometheus_tsdb_head_series ", "prometheus_rule_group_iterations_total{", "go_goroutines ", "process_resident_memory_bytes ")
	for _, path := range []string{"/-/healthy", "/-/ready"} {
		if answer := o.get(path); answer.Code != http.StatusOK || answer.Body.String() != "ok\n" {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
}

// TestTargetsOfFilesReachNoServerInsideTheProcess: their pages would be scraped under the name of another machine.
func TestTargetsOfFilesReachNoServerInsideTheProcess(t *testing.T) {
	file := filepath.Join(t.TempDir(), "targets.yaml")
	text := `[{targets: ["exporter.inside:80", "runs.inside:80", "prometheus.inside", "127.0.0.1:1"], labels: {host: other}}]`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	o := openPages(t, machinePage, nil, func(o *options) { o.targets = []string{file} })
	got := until(t, o.database, "targets", nil, "127.0.0.1:1/metrics")
	active, dropped, _ := strings.Cut(got, `"droppedTargets"`)
	for _, name := range []string{"exporter.inside:80", "runs.inside:80", "prometheus.inside"} {
		if strings.Count(active, `"__address__":"`+name+`"`) != map[bool]int{true: 0, false: 1}[name == "prometheus.inside"] || !strings.Contains(dropped, name) {
			t.Errorf("%s: active %s\ndropped %s", name, active, dropped)
		}
	}
	until(t, o.database, "query", map[string][]string{"query": {`uma_memory_pool_bytes`}}, o.host)
	if got := ask(t, o.database, "query", map[string][]string{"query": {`{host="other",__name__!="up",__name__!~"scrape_.*"}`}}); strings.Contains(got, "uma_") {
		t.Errorf("series under the name of another machine: %s", got)
	}
}

// BenchmarkRunsOfAFolder lists 500 runs: the target on two cores is a second, when they are read for the first time too.
func BenchmarkRunsOfAFolder(b *testing.B) {
	source := testrun.New(testrun.Steady(50)...).Write(b)
	if _, err := summary.Write(source, supported.Engines()); err != nil {
		b.Fatal(err)
	}
	runs := b.TempDir()
	for i := range 500 {
		if err := copyRun(source, filepath.Join(runs, fmt.Sprintf("run-%03d", i)), fmt.Sprintf("run-%03d", i)); err != nil {
			b.Fatal(err)
		}
	}
	v := newViewer(options{runs: runs, data: b.TempDir(), exporter: "http://127.0.0.1:1/metrics", interval: time.Minute, keep: time.Hour, keepBytes: 64 << 20}, slog.New(slog.DiscardHandler))
	b.Cleanup(v.close)
	if err := v.open(context.Background()); err != nil {
		b.Fatal(err)
	}
	handler, err := v.pages()
	if err != nil {
		b.Fatal(err)
	}
	read := func(b *testing.B) {
		b.Helper()
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/runs", nil))
		if !strings.Contains(answer.Body.String(), "500 finished runs") {
			b.Fatal(answer.Body.String())
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			v.results = promexport.New(runs, runsPerCell, mostRuns)
			read(b)
		}
	})
	b.Run("again", func(b *testing.B) {
		now := time.Now()
		v.results.Now = func() time.Time { return now }
		for b.Loop() {
			now = now.Add(time.Hour) // the files are looked at again
			read(b)
		}
	})
}

// copyRun copies a run under another name.
func copyRun(from, to, name string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	for _, file := range []string{rundir.ManifestFile, rundir.SummaryFile} {
		path := filepath.Join(to, file)
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var fields map[string]any
		if err := json.Unmarshal(text, &fields); err != nil {
			return err
		}
		fields["run"] = name
		if text, err = json.Marshal(fields); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
