package promexport

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

var update = flag.Bool("update", false, "write the golden page anew")

var noon = time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)

// bench has runs that are given, by the paths of their folders.
type bench struct {
	*Results
	runs   map[string]Run
	errs   map[string]error
	opened atomic.Int64
	now    time.Time
}

func newBench(t testing.TB) *bench {
	t.Helper()
	b := &bench{runs: map[string]Run{}, errs: map[string]error{}, now: noon}
	b.Results = New(t.TempDir(), 10, 500)
	b.find = func(string) ([]string, error) { return slices.Sorted(maps.Keys(b.runs)), nil }
	b.open = func(path string) (Run, error) { b.opened.Add(1); return b.runs[path], b.errs[path] }
	b.Now = func() time.Time { return b.now }
	return b
}

// put adds runs, a minute after each other.
func (b *bench) put(runs ...Run) {
	for _, r := range runs {
		b.runs[filepath.Join(b.Root, fmt.Sprintf("%04d", len(b.runs)))] = r
	}
}

func (b *bench) handler(t testing.TB) http.Handler {
	t.Helper()
	h, err := Handler(b.Results, Program{"v1.2.3", "abc", "go1.26"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func get(t testing.TB, h http.Handler, path string) (int, string) {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(answer.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(body)
}

func (b *bench) page(t *testing.T) string {
	t.Helper()
	code, page := get(t, b.handler(t), "/metrics")
	if code != http.StatusOK {
		t.Fatalf("%d: %s", code, page)
	}
	return page
}

func saved(t testing.TB, root, name string, c compare.Comparison) string {
	t.Helper()
	text, err := json.Marshal(c)
	if err == nil {
		err = os.MkdirAll(filepath.Join(root, ComparisonsFolder), 0o755)
	}
	path := filepath.Join(root, ComparisonsFolder, name+".json")
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// savedAt makes a file one of that time.
func savedAt(t testing.TB, at time.Time, path string) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestTheGoldenPage(t *testing.T) {
	page := golden(t).page(t)
	path := filepath.Join("testdata", "results.prom")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != page {
		t.Errorf("the page is not %s (%v): go test ./loadgen/promexport -update, and read what changed\n%s", path, err, page)
	}
}

// TestEverySeriesIsOnTheGoldenPage, so that none is forgotten here or in the vocabulary.
func TestEverySeriesIsOnTheGoldenPage(t *testing.T) {
	page := golden(t).page(t)
	for _, subject := range metric.Subjects() {
		if subject.Title != "Results" && subject.Title != "Comparisons" {
			continue
		}
		for _, definer := range subject.Defs {
			if name := definer.Def().Name; !strings.Contains(page, "\n# TYPE "+name+" "+string(definer.Def().Kind)+"\n") {
				t.Errorf("no %s", name)
			}
		}
	}
}

func TestPromtoolFindsNoProblemInThePage(t *testing.T) {
	problems, err := promlint.New(strings.NewReader(golden(t).page(t))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v (%v)", problems, err)
	}
}

func TestAbsentIsAbsent(t *testing.T) {
	b := newBench(t)
	b.put(Of(compare.Run{ID: "bare", StartedAt: noon}, summary.Summary{Latency: &summary.Latency{TTFT: &summary.Clocks{Send: distribution(3, 1)}}}))
	page := b.page(t)
	for _, absent := range []string{"quantile=", "uma_run_end_", "uma_run_memory", "uma_run_kv", "uma_run_gpu", "uma_run_output", "uma_run_telemetry_mode", "uma_run_zscore", "uma_comparison", "NaN"} {
		if strings.Contains(page, absent) {
			t.Errorf("%s is there: %s", absent, page)
		}
	}
	for _, there := range []string{`uma_run_time_to_first_token_seconds_count{run="bare"} 3`, `uma_run_valid{run="bare"} 0`, `uma_run_start_timestamp_seconds{run="bare"} 1.79388e+09`} {
		if !strings.Contains(page, there+"\n") {
			t.Errorf("%s is missing: %s", there, page)
		}
	}
}

func TestHostileNamesMakeAPageThatCanBeRead(t *testing.T) {
	b := newBench(t)
	hostile := "a\x1b[31m\"\\\n{}\xff<script>" + strings.Repeat("x", 5000)
	for i := range 3 { // three runs of one name, and labels that are one when they can be printed
		o, s := whole(hostile, i)
		o.Host, o.Scenario, o.Engine, o.Model, o.Mode = hostile, hostile, hostile, hostile, hostile
		o.Labels = map[string]string{"arm": hostile, "a": "1", "a\x01": "1", hostile: hostile}
		for n := range 500 {
			o.Labels[fmt.Sprint("l", n)] = "x"
		}
		b.put(Of(o, s))
	}
	c := twoArms()
	c.Strata = append(c.Strata, c.Strata[0], compare.Stratum{Within: map[string]string{hostile: hostile}, Pairs: c.Strata[0].Pairs})
	c.Strata[0].Pairs[0].A, c.Strata[0].Pairs[0].Metrics[0].Name = hostile, hostile
	saved(t, b.Root, "a<b>", c)
	page := b.page(t)
	if problems, err := promlint.New(strings.NewReader(page)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v (%v)", problems, err)
	}
	if strings.Contains(page, "\x1b") || !utf8.ValidString(page) || strings.Count(page, "\numa_run_info{") != 1 || strings.Count(page, "\numa_run_label{") != mostLabels {
		t.Errorf("page %.3000q", page)
	}
	code, index := get(t, b.handler(t), "/")
	if code != http.StatusOK || strings.Contains(index, "<script") || strings.Contains(index, "a<b>") {
		t.Errorf("%d %.3000q", code, index)
	}
	if _, found := b.Look().Run(b.Look().All[0].Name()); !found {
		t.Error("a run is not found by the name that it is shown under")
	}
}

func TestRunsAndComparisonsAreFoundByTheNamesThatTheyAreShownUnder(t *testing.T) {
	b := golden(t)
	shown := b.Look()
	if len(shown.All) == 0 || len(shown.Comparisons) == 0 {
		t.Fatal("nothing is shown")
	}
	for _, r := range shown.All {
		if found, is := shown.Run(r.Name()); !is || found.Folder != r.Folder || filepath.Dir(found.Folder) != b.Root {
			t.Errorf("%s is in %s", r.Name(), found.Folder)
		}
	}
	for _, c := range shown.Comparisons {
		if whole, err := shown.Comparison(c.Name); err != nil || len(whole.Strata) == 0 {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	if _, is := shown.Run("../" + shown.All[0].Name()); is {
		t.Error("a path names a run")
	}
	if _, err := shown.Comparison("../x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path names a comparison: %v", err)
	}
	address := func(name string) string { return "/to/" + name }
	var page strings.Builder
	if err := render.HTML(&page, render.Document{Blocks: shown.Blocks(Addresses{Run: address, Comparison: address})}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{shown.All[0].Name(), shown.Comparisons[0].Name} {
		if !strings.Contains(page.String(), `href="/to/`+name+`"`) {
			t.Errorf("no link to %s", name)
		}
	}
}

func TestTheHTMLPageMarksSimulatedRuns(t *testing.T) {
	b := golden(t)
	code, index := get(t, b.handler(t), "/")
	for _, part := range []string{"run-6", "120.50", "simulated engine", "telemetry constructed", "native-container", "saved 2026-11-05 14:00:00", "confounded with time",
		"&#43;7.95 GiB to &#43;8.11 GiB", "0.9772 to 0.9916", "container against native: confounded with time", "output_tokens_per_second, which decides", "inconclusive, about 87 runs of each arm needed",
		"10 finished runs, the newest 5 of them", "200 ms", "count from the intended start", "70.5 GiB", "half a page", "A row in colour is invalid, or no measurement of a live machine: see its quality.", "1 unfinished, 1 unreadable"} {
		if !strings.Contains(index, part) {
			t.Errorf("%d: %q is missing in %s", code, part, index)
		}
	}
	if code, _ := get(t, b.handler(t), "/-/healthy"); code != http.StatusOK {
		t.Errorf("health %d", code)
	}
	if code, _ := get(t, b.handler(t), "/etc/passwd"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}

// FuzzSavedComparison: whatever lies in the folder, there is a page that can be read.
