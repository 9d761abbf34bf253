package importer

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

func order(t testing.TB, format, out string, files ...string) Order {
	t.Helper()
	f, err := Find(format)
	if err != nil {
		t.Fatal(err)
	}
	return Order{Format: f, Out: out, Files: files, Program: rundir.Program{Version: "v"}, Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Show: show}
}

// show writes the pages of a run, as the verb does.
func show(r summary.Run) error {
	return errors.Join(
		r.Write(rundir.ReportFile, func(w io.Writer) error { return report.Markdown(w, r.Summary) }),
		r.Write(rundir.HTMLFile, func(w io.Writer) error { return report.HTML(w, report.Page{Title: r.Summary.Run, Summary: r.Summary}) }),
	)
}

// entries are the names in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	all, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}

func readJSONFile[T any](t *testing.T, path string) T {
	t.Helper()
	var value T
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestAnImportedRunIsAFolderOfTheToolsFigures(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	path := written(t, "all.json", sparkJSON)
	made, err := order(t, "benchmark-spark", out, path).Import()
	if err != nil || len(made) != 3 {
		t.Fatalf("%d, %v", len(made), err)
	}
	if got := entries(t, out); len(got) != 3 || slices.ContainsFunc(got, func(n string) bool { return strings.HasPrefix(n, ".") }) {
		t.Errorf("%q", got)
	}
	failed, whole := made[0], made[1] // in the order of their start
	if failed.Summary.Valid || failed.Summary.InvalidReasons[0].Code != summary.CodeIncomplete {
		t.Errorf("a run that failed: %+v", failed.Summary.InvalidReasons)
	}
	m := readJSONFile[rundir.Manifest](t, whole.Path(rundir.ManifestFile))
	if m.Imported == nil || m.Imported.Format != "benchmark-spark" || m.Imported.File != "all.json" || len(m.Imported.SHA256) != 64 || m.Imported.Key != "20251109_022626" || m.State != rundir.StateComplete {
		t.Errorf("%+v", m)
	}
	if failed := readJSONFile[rundir.Manifest](t, failed.Path(rundir.ManifestFile)); failed.State != rundir.StateFailed {
		t.Errorf("%+v", failed)
	}
	s := readJSONFile[summary.Summary](t, whole.Path(rundir.SummaryFile))
	if s.Memory.OccupiedWithoutKV != nil || s.Memory.UnavailablePeak != nil || *s.Memory.EngineReported.Peak != 75698798592 || *s.KV.CapacityBytes != 44*gib {
		t.Errorf("memory %+v, KV %+v", s.Memory, s.KV)
	}
	if s.Throughput.OutputTokensPerSecond != nil || s.Latency != nil || len(s.Tool.Values) != 4 || s.Tool.Values[0].From != "all.json" {
		t.Errorf("%+v, %+v", s.Throughput, s.Tool)
	}
	if s.Thermal.StartCelsius == nil || *s.Thermal.EndCelsius != 60 || s.Thermal.MaxCelsius != nil || s.Thermal.Mode != "imported" {
		t.Errorf("%+v", s.Thermal)
	}
	for _, name := range []string{rundir.ReportFile, rundir.HTMLFile} {
		if text, err := os.ReadFile(whole.Path(name)); err != nil || !strings.Contains(string(text), "none was measured here") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatWasImportedBeforeIsRefusedByItsName(t *testing.T) {
	out := t.TempDir()
	path := written(t, "all.json", sparkJSON)
	made, err := order(t, "benchmark-spark", out, path).Import()
	if err != nil {
		t.Fatal(err)
	}
	before := entries(t, out)
	again := order(t, "benchmark-spark", out, path)
	again.Labels = map[string]string{"arm": "another"} // by another name it is the same run
	for name, c := range map[string]struct {
		order Order
		says  string
	}{
		"again":                 {order(t, "benchmark-spark", out, path), "it was imported before"},
		"under another arm":     {again, "it was imported before"},
		"in a file that is new": {order(t, "benchmark-spark", out, written(t, "new.json", sparkJSON+" ")), "is there already, from another file"},
	} {
		_, err := c.order.Import()
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), out) || !strings.HasPrefix(err.Error(), c.order.Files[0]) {
			t.Errorf("%s: %v", name, err)
		}
		if got := entries(t, out); !slices.Equal(got, before) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := os.Stat(made[0].Path(rundir.SummaryFile)); err != nil {
		t.Error(err)
	}
}

// TestARunOfTwoFormatsIsOneRun: benchmark-spark has a log of every run in its table.
func TestARunOfTwoFormatsIsOneRun(t *testing.T) {
	out := t.TempDir()
	if _, err := order(t, "benchmark-spark", out, written(t, "all.json", sparkJSON)).Import(); err != nil {
		t.Fatal(err)
	}
	log := written(t, "n.log", "TensorRT-LLM version: 1.1\nRequest Throughput (req/sec): 1.5\n", "n_metadata.json", `{"environment":"native","model_name":"small","timestamp":"20251109_022626","exit_code":0}`)
	if _, err := order(t, "trtllm-log", out, log).Import(); err == nil || !strings.Contains(err.Error(), "its run of 20251109_022626 is there already, from another file") {
		t.Error(err)
	}
}

func TestOneRunInTwoFilesIsRefused(t *testing.T) {
	a, b := written(t, "a.json", sparkJSON), written(t, "b.json", strings.Replace(sparkJSON, "0.5", "0.6", 1))
	for name, c := range map[string]struct {
		files []string
		says  []string
	}{
		"the same file":   {[]string{a, a}, []string{"it says the same as", a}},
		"the same run":    {[]string{a, b}, []string{b, "a second run of 20251110_000000", `"container"`, a}},
		"twice in a file": {[]string{written(t, "c.json", strings.Replace(sparkJSON, "20251109_012626", "20251109_022626", 1))}, []string{"c.json", "a second run of 20251109_022626"}},
	} {
		out := filepath.Join(t.TempDir(), "runs")
		_, err := order(t, "benchmark-spark", out, c.files...).Import()
		for _, says := range c.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v does not say %q", name, err, says)
			}
		}
		if got := entries(t, out); len(got) != 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAFailureLeavesNothing: files are read before anything is written, and what was moved to its place is
// taken back.
func TestAFailureLeavesNothing(t *testing.T) {
	good := written(t, "all.json", sparkJSON)
	out := filepath.Join(t.TempDir(), "runs")
	if _, err := order(t, "benchmark-spark", out, good, written(t, "bad.json", `{"models":{"m":{"native":[{"timestamp":"yesterday"}]}}}`)).Import(); err == nil || !strings.Contains(err.Error(), `bad.json: no file of benchmark-spark: models.m.native[0]: timestamp: "yesterday" is no time`) {
		t.Error(err)
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	blocked := filepath.Join(t.TempDir(), "runs")
	if err := os.WriteFile(blocked, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := order(t, "benchmark-spark", blocked, good).Import(); err == nil || !strings.Contains(err.Error(), blocked) {
		t.Error(err)
	}
	o := order(t, "benchmark-spark", out, good)
	all, err := o.read()
	if err != nil {
		t.Fatal(err)
	}
	// Something takes the last place after it was looked at.
	if err := os.MkdirAll(filepath.Join(out, all[2].id), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := o.write(all); !errors.Is(err, os.ErrExist) {
		t.Error(err)
	}
	if got := entries(t, out); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

func TestADamagedFileIsRefusedInOneLine(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, path, says string }{
		{"vllm", pipe, "it is no regular file"},
		{"vllm", filepath.Join(t.TempDir(), "none"), "no such file"},
		{"vllm", written(t, "f", ""), "it is empty"},
		{"vllm", written(t, "f", "[]"), "it is empty"},
		{"vllm", written(t, "f", `{"date":"20260102-030405"}`), "run 1: it has no date or no request_throughput"},
		{"vllm", written(t, "f", `{"date":"now","request_throughput":1}`), `date: "now" is no time`},
		{"vllm", written(t, "f", `{"date":"20260102-030405","request_throughput":"fast"}`), "request_throughput is string"},
		{"vllm", written(t, "f", `{"date":`), "run 1: it is no JSON"},
		{"aiperf", written(t, "f", `{"request_throughput":{"unit":"requests/sec","avg":1}}`), "aiperf_version is"},
		{"aiperf", written(t, "f", "{\n\n\"aiperf_version\": }"), "line 3: it is no JSON"},
		{"aiperf", written(t, "f", `{"aiperf_version":"0.13.0","schema_version":"1.4","start_time":"2026-01-02T03:04:05","request_latency":{"unit":"fortnights","avg":1}}`), `request_latency: its unit "fortnights" is not known`},
		{"guidellm", written(t, "f", `{"benchmarks":[]}`), "it has no metadata.guidellm_version or no benchmarks"},
		{"guidellm", written(t, "f", `{"metadata":{"guidellm_version":"1"},"benchmarks":[{"start_time":1e300}]}`), "benchmarks[0].start_time"},
		{"genai-bench", written(t, "f", `{}`), "no file of a run of genai-bench"},
		{"vllm-multi-turn", written(t, "f", `[{"ttft_ms":1}]`), "[0]: it has no ttft_ms"},
		{"spark-harness", written(t, "f", `{"run_id":"r"}`), "it has no run_id or no run_valid"},
		{"spark-harness", written(t, "f", `{"run_id":"r","run_valid":true}`), "it has no created_utc"},
		{"trtllm-log", written(t, "f", "hello\n"), "no line of it has a figure"},
		{"trtllm-log", written(t, "f.log", "KV\n", "f_metadata.json", `{"timestamp":3}`), "f_metadata.json: timestamp is number"},
		{"benchmark-spark", written(t, "f", `{"models":{}}`), "it has no models"},
		{"sparkrun", written(t, "f", ""), "it has no sparkrun_benchmark"},
		{"sparkrun", written(t, "f", "a: b\nsparkrun_benchmark: [\n"), "it is no YAML"},
		{"sparkrun", written(t, "f", "sparkrun_benchmark:\n  benchmark: {framework: tool-eval-bench}\n"), `framework is "tool-eval-bench": only results of llama-benchy are read`},
		{"sparkrun", written(t, "f", "sparkrun_benchmark:\n  timestamp: now\n  benchmark: {framework: llama-benchy}\n"), `sparkrun_benchmark.timestamp: "now" is no time`},
		{"sparkrun", written(t, "f", "sparkrun_benchmark:\n  benchmark: {framework: llama-benchy}\n"), "sparkrun_benchmark.results.json: it has no benchmarks"},
		{"sparkrun", written(t, "f", "sparkrun_benchmark:\n  benchmark: {framework: llama-benchy}\n  results:\n    json:\n      benchmarks:\n      - concurrency: two\n"), "line 6: it is no YAML: cannot construct"},
		{"llama-benchy", written(t, "f", ""), "it is not JSON"},
		{"llama-benchy", written(t, "f", "{\n\"benchmarks\": [\n}"), "line 3: it is no JSON"},
		{"llama-benchy", written(t, "f", `{"version":"0.4.0","benchmarks":[]}`), "it has no benchmarks"},
		{"llama-benchy", written(t, "f", `{"timestamp":"now","benchmarks":[{}]}`), `timestamp: "now" is no time`},
		{"llama-benchy", written(t, "f", `{"benchmarks":[{"concurrency":1,"context_size":0,"prompt_size":1}]}`), "benchmarks[0]: it has no response_size"},
		{"llama-benchy", written(t, "f", `{"benchmarks":[{"concurrency":0,"context_size":0,"prompt_size":1,"response_size":1}]}`), "benchmarks[0]: concurrency is 0"},
		{"llama-benchy", written(t, "f", `{"benchmarks":[{"ttfr":{"mean":"fast"}}]}`), "benchmarks.ttfr.mean is string"},
		{"llama-benchy", written(t, "f", progress("header")), "it has no requests"},
		{"llama-benchy", written(t, "f", progress("header", "{", "bench_complete")), "line 2: it is no JSON"},
		{"llama-benchy", written(t, "f", strings.Replace(progress("header", "start 0"), "progress.v1\",\"type\":\"request", "progress.v2\",\"type\":\"request", 1)), `line 2: its schema is "llama-benchy-progress.v2"`},
		{"llama-benchy", written(t, "f", progress("header", "token 3")), "line 2: request 3 has not started"},
		{"llama-benchy", written(t, "f", progress("header", "start 0", "start 0")), "line 3: request 0 starts twice"},
		{"llama-benchy", written(t, "f", progress("header", "start 0", "end 0", "token 0")), "line 4: request 0 has ended"},
		{"llama-benchy", written(t, "f", strings.Replace(progress("header", "start 0"), `"concurrency":2,`, "", 1)), "line 2: it has no concurrency"},
		{"llama-benchy", written(t, "f", strings.Replace(progress("header", "start 0", "token 0"), `"count":1`, `"count":-1`, 1)), "line 3: it has no count, or none that is a count"},
		{"llama-benchy", written(t, "f", strings.Replace(progress("header", "start 0", "first 0"), `"ttfr_s":0.1`, `"ttfr_s":-1`, 1)), "line 3: it has no ttfr_s, or none that is a time"},
		{"llama-benchy", written(t, "f", strings.Replace(progress("header", "start 0", "token 0"), `"ts":1795426147.3`, `"ts":1995426147`, 1)), "line 3: ts: it is years from"},
		{"llama-benchy", written(t, "f", "model,test_name,t_s_mean\nm,pp8,1\nm,tg8\n"), "--format json"},
		{"llama-benchy", written(t, "f", "| model | test | t/s |\n| m | pp8 |\n"), "--format json"},
		{"benchmark-spark", written(t, "f", `{"models":{"m":[]}}`), "models is array"},
	} {
		out := filepath.Join(t.TempDir(), "runs")
		_, err := order(t, c.format, out, c.path).Import()
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %q", c.format, err, c.says)
		}
		if got := entries(t, out); len(got) != 0 {
			t.Errorf("%s: %q", c.format, got)
		}
	}
}

// TestTextsOfAFileAreMadePrintable plants escapes, line ends and markup wherever a file has a text.
func TestTextsOfAFileAreMadePrintable(t *testing.T) {
	const hostile = `\u001b[31mred\u001b]0;t\u0007<script>alert(1)</script>|a\nb\u202e`
	text := `{"models":{"` + hostile + `":{"` + hostile + `":[{"model_id":"` + hostile + `","timestamp":"20251109_022626","exit_code":0,"output_throughput":64}]}}}`
	made, err := order(t, "benchmark-spark", t.TempDir(), written(t, "a\x1b[31m<b>.json", text)).Import()
	if err != nil {
		t.Fatal(err)
	}
	one := made[0]
	var texts []string
	for name, value := range one.Summary.Labels {
		texts = append(texts, name, value)
	}
	texts = append(append(texts, one.Summary.Model.ID, one.File, one.Summary.Tool.File, filepath.Base(string(one.Folder))), one.Summary.Warnings...)
	for _, text := range texts {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", text)
		}
	}
	page, err := os.ReadFile(one.Path(rundir.HTMLFile))
	if err != nil || strings.Contains(string(page), "<script>alert") || strings.Contains(string(page), "\x1b") {
		t.Errorf("the page has markup of the file: %v", err)
	}
	markdown, err := os.ReadFile(one.Path(rundir.ReportFile))
	if err != nil || regexp.MustCompile(`[^\\]\|a `).Match(markdown) || strings.Contains(string(markdown), "\x1b") {
		t.Errorf("the report has a cell of the file: %v", err)
	}
}

func TestAnAddressIsKeptWithoutWhatIsSecret(t *testing.T) {
	for text, want := range map[string]string{
		"http://user:pass@host:8000/v1?key=1#f": "http://host:8000/v1", "nonsense": "", "http://h\x1b/": "", "https://h": "https://h",
	} {
		if got := plainURL(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFailedRequestsOfTheToolMakeARunInvalid(t *testing.T) {
	text := `{"date":"20260102-030405","num_prompts":100,"completed":%OK,"failed":%BAD,"request_throughput":1}`
	for failed, valid := range map[string]bool{"1": true, "2": false} {
		r := strings.NewReplacer("%OK", "99", "%BAD", failed)
		made, err := order(t, "vllm", t.TempDir(), written(t, "r.json", r.Replace(text))).Import()
		if err != nil || made[0].Summary.Valid != valid || !slices.Contains(made[0].Summary.Checked, "errors") {
			t.Errorf("%s of 100 failed: %+v, %v", failed, made, err)
		}
	}
}

// TestWhetherARunEndedIsCheckedWhereItsFileHasIt: by an exit code, or a word for it.
func TestWhetherARunEndedIsCheckedWhereItsFileHasIt(t *testing.T) {
	for format, c := range map[string]struct {
		path  string
		check bool
	}{
		"benchmark-spark": {written(t, "all.json", sparkJSON), true}, "aiperf": {"testdata/aiperf-0.13.0.json", true},
		"spark-harness": {written(t, "summary.json", harnessJSON), true}, "guidellm": {"testdata/guidellm-0.8.1.json", false}, "vllm": {"testdata/vllm-0.33.0.json", false},
	} {
		made, err := order(t, format, t.TempDir(), c.path).Import()
		if err != nil {
			t.Fatal(err)
		}
		if last := made[len(made)-1].Summary; slices.Contains(last.Checked, "plan") != c.check || !last.Valid {
			t.Errorf("%s: valid %v, checked %q", format, last.Valid, last.Checked)
		}
	}
}

func TestNumbersThatAreNoneAreAbsent(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":NaN,"b":[-Infinity,Infinity,1]}`: `{"a":null,"b":[null,null,1]}`,
		`{"NaN":"NaN \" NaN","x":"\\",y:NaN}`:  `{"NaN":"NaN \" NaN","x":"\\",y:null}`,
		`{"a":1}`:                              `{"a":1}`,
		`"NaN\`:                                `"NaN\`,
	} {
		if got := string(withoutNaN([]byte(text))); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
