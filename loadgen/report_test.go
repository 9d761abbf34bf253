package loadgen

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/umascope/umascope/loadgen/rundir"

	"github.com/umascope/umascope/loadgen/summary"
)

// observedRun is a finished run with telemetry, whose figures its folder alone can give again.
func observedRun(t *testing.T) string {
	t.Helper()
	page, _ := exporter(t)
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=30", "--warmup=3", "--output-tokens=8", "--concurrency=3",
		"--telemetry", "spark="+page, "--telemetry-interval=100ms", "--validity=telemetry_lost=off", "--label=host=spark", "--slo=e2e=1m")
	return dir
}

func TestAReportOfARunIsThatOfItsFolder(t *testing.T) {
	t.Parallel()
	dir := observedRun(t)
	for form, file := range map[string]string{"json": rundir.SummaryFile, "md": rundir.ReportFile, "html": rundir.HTMLFile} {
		for _, recompute := range []bool{false, true} {
			args := []string{"report", dir, "--format", form}
			if recompute {
				args = append(args, "--recompute")
			}
			code, stdout, stderr := invokeVerb(t, args...)
			if code != exitDone || stderr != "" {
				t.Fatalf("%s: exit %d: %s", form, code, stderr)
			}
			want := text(t, dir, file)
			if form == "json" {
				var a, b any
				if err := json.Unmarshal([]byte(stdout), &a); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal([]byte(want), &b); err != nil || !reflect.DeepEqual(a, b) {
					t.Errorf("recomputed %t: not what %s says: %s\n%s (%v)", recompute, file, stdout, want, err)
				}
			} else if stdout != want {
				t.Errorf("recomputed %t: %s is not %s", recompute, form, file)
			}
		}
	}
}

func TestAKilledRunIsReportedOfWhatItWrote(t *testing.T) {
	t.Parallel()
	dir := observedRun(t)
	kill(t, dir)
	code, stdout, stderr := invokeVerb(t, "report", dir)
	if code != exitDone || !strings.Contains(stderr, "has not ended, or was killed") {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "19 ok") || !strings.Contains(stdout, "INVALID") || !strings.Contains(stdout, "killed") {
		t.Errorf("not 19 whole requests of an invalid run: %s", stdout)
	}
	if _, err := os.Stat(filepath.Join(dir, rundir.SummaryFile)); err == nil {
		t.Error("a report wrote into the folder of the run")
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if code, _, stderr := invokeVerb(t, "report", dir, "--format=html", "--out", page); code != exitDone || !strings.Contains(text(t, page), "Where the memory went") && !strings.Contains(text(t, page), "Every request") {
		t.Errorf("exit %d: %s: no figures", code, stderr)
	}
}

// kill makes a finished folder that of a run that was killed in its measured phase, in the middle of a line.
func kill(t *testing.T, dir string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, rundir.SummaryFile)); err != nil {
		t.Fatal(err)
	}
	alter(t, dir, rundir.ManifestFile, func(m map[string]any) {
		m["state"] = rundir.StateRunning
		delete(m, "ended_at")
	})
	alter(t, dir, rundir.PhasesFile, func(p map[string]any) {
		p["phases"] = slices.DeleteFunc(p["phases"].([]any), func(one any) bool {
			name := one.(map[string]any)["name"]
			return name == rundir.PhaseMeasure || name == rundir.PhaseStop
		})
	})
	lines := strings.SplitAfter(text(t, dir, rundir.RequestsFile), "\n")
	half := strings.Join(lines[:22], "") + lines[22][:len(lines[22])/2]
	overwrite(t, filepath.Join(dir, rundir.RequestsFile), half)
}

// manyRuns are runs of two arms at two loads.
func manyRuns(t *testing.T) string {
	t.Helper()
	url, out := engine(t, 200*time.Microsecond), t.TempDir()
	for i, arm := range []string{"native", "container", "container", "native"} {
		for _, concurrency := range []int{1, 4} {
			succeeded(t, slices.Concat([]string{"run", "--out", out, "--run-id", fmt.Sprintf("r%d-%d", i, concurrency), "--web.listen-address", "127.0.0.1:0"}, uncontended,
				[]string{"--url", url, "--requests=12", "--warmup=0", "--output-tokens=4", "--ignore-eos", "--concurrency", strconv.Itoa(concurrency), "--label=arm=" + arm})...)
		}
	}
	return out
}

func TestManyRunsAreReportedSideBySide(t *testing.T) {
	t.Parallel()
	runs := manyRuns(t)
	page, book := filepath.Join(runs, "all.html"), filepath.Join(t.TempDir(), "results.xlsx")
	metric := "--metric=tokens_per_request=output_tokens_per_second/requests_per_second"
	code, stdout, stderr := invokeVerb(t, "report", runs, metric, "--xlsx", book)
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	answer, table, _ := strings.Cut(stdout, "\n\n")
	header, _, _ := strings.Cut(table, "\n")
	if !strings.HasPrefix(header, "concurrency") || !strings.Contains(table, "  tokens_per_request") || strings.Count(table, "12 ok") != 8 ||
		!strings.HasPrefix(answer, "All 8 runs are valid. Output tokens per second ") || !strings.Contains(answer, "shortest at concurrency ") {
		t.Errorf("the table: %s", stdout)
	}
	expectManyInWorkbook(t, book)
	if code, _, stderr := invokeVerb(t, "report", runs, "--format=html", "--out", page); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	html := text(t, page)
	for _, want := range []string{"<h2>Over load", "over concurrency", "<h2>By arm", `href="r0-1/report.html"`, "native", "container"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	_, stdout, _ = invokeVerb(t, "report", runs, metric, "--format=json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || len(all) != 8 || all[0]["schema"] != summary.Schema || all[0]["metrics"].(map[string]any)["tokens_per_request"].(float64) != 4 {
		t.Errorf("%d summaries, %v: %.300s", len(all), err, stdout)
	}
	_, stdout, _ = invokeVerb(t, "report", runs, "--format=benchstat")
	if n := strings.Count(stdout, "\nBenchmarkLoad/"); n != 8 || strings.Count(stdout, "\narm: container\n") != 4 {
		t.Errorf("%d results: %s", n, stdout)
	}
	if _, stdout, _ = invokeVerb(t, "report", runs, "--format=md"); strings.Count(stdout, "12 ok") != 8 {
		t.Errorf("Markdown: %s", stdout)
	}
}

func expectManyInWorkbook(t *testing.T, path string) {
	t.Helper()
	book, err := excelize.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	tabs := book.GetSheetList()
	if len(tabs) != 3+4 || tabs[0] != "Summary" || tabs[5] != "Raw data" || tabs[6] != "Parameters" || !strings.HasPrefix(tabs[1], "container") {
		t.Fatalf("tabs %q", tabs)
	}
	for tab, want := range map[string]int{"Summary": 1 + 8, "Raw data": 1 + 8*12, tabs[1]: 1 + 2 + 1 + 4} {
		if rows, err := book.GetRows(tab); err != nil || len(rows) != want {
			t.Errorf("%s has %d rows, want %d (%v)", tab, len(rows), want, err)
		}
	}
	rows, err := book.GetRows(tabs[1])
	if err != nil {
		t.Fatal(err)
	}
	last := len(rows[0]) - 1
	if rows[0][last] != "tokens_per_request" || rows[1][last] != "4" || rows[4][0] != "n" || rows[4][last] != "2" || rows[5][last] != "4" || rows[6][last] != "0" {
		t.Errorf("the cell's sheet: %q", rows)
	}
	parameters, err := book.GetRows("Parameters")
	if i := slices.IndexFunc(parameters, func(row []string) bool { return row[0] == "concurrency" }); err != nil || i < 0 || len(parameters[i]) != 9 {
		t.Errorf("the flags of the runs: %q (%v)", parameters, err)
	}
}

func TestWhatCannotBeReportedIsRefusedByName(t *testing.T) {
	t.Parallel()
	empty, runs := t.TempDir(), importPublished(t)
	none := filepath.Join(t.TempDir(), "none")
	broken := t.TempDir()
	overwrite(t, filepath.Join(broken, rundir.ManifestFile), `{"schema":"umascope.manifest/9","run":"x"}`)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"a folder that is not there":  {[]string{none}, none},
		"a folder without a run":      {[]string{empty}, empty},
		"a form of another time":      {[]string{broken}, "umascope.manifest/9"},
		"a metric that nobody has":    {[]string{runs, "--metric=x=output_tokens_per_secnd/2"}, `"output_tokens_per_secnd" is no metric; near it are `},
		"a metric of a metric's name": {[]string{runs, "--metric=energy_joules=1"}, "energy_joules is the name of a metric already"},
		"a metric without a name":     {[]string{runs, "--metric=1+2"}, "want NAME=EXPRESSION"},
		"an expression that is none":  {[]string{runs, "--metric=x=1+"}, "column"},
		"a call":                      {[]string{runs, "--metric=x=exit(1)"}, "want names of figures"},
		"one name twice":              {[]string{runs, "--metric=x=1", "--metric=x=2"}, "x is given twice"},
		"a place that is not there":   {[]string{runs, "--out", filepath.Join(none, "x.html")}, "--out"},
		"a workbook in a file":        {[]string{runs, "--xlsx", filepath.Join(broken, rundir.ManifestFile, "x.xlsx")}, "--xlsx"},
		"two runs of one name":        {[]string{runs, namesake(t, runs)}, "and so is another run, in "},
		"a form that does not exist":  {[]string{runs, "--format=pdf"}, `--format: "pdf" is none of table, md,`},
	} {
		code, stdout, stderr := invokeVerb(t, append([]string{"report"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 || stdout != "" {
			t.Errorf("%s: exit %d, want one line with %q: %s%s", name, code, c.says, stdout, stderr)
		}
	}
}

// first is the first run of a folder, and twice a copy of it elsewhere.
func first(t *testing.T, runs string) string {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(runs, "2*"))
	if err != nil || len(folders) == 0 {
		t.Fatalf("no run in %s (%v)", runs, err)
	}
	return folders[0]
}

func twice(t *testing.T, runs string) string {
	t.Helper()
	return copied(t, []string{first(t, runs)})[0]
}

// namesake is another run with the name of the first.
func namesake(t *testing.T, runs string) string {
	t.Helper()
	path := twice(t, runs)
	alter(t, path, rundir.ManifestFile, func(m map[string]any) { m["started_at"] = "2020-01-01T00:00:00Z" })
	return path
}

// withCopies adds copies of the first run to the folder: beside it, before it in the order of names, and deeper.
func withCopies(t *testing.T, runs string) []string {
	t.Helper()
	original := first(t, runs)
	names := []string{filepath.Base(original) + " copy", "0 copy of " + filepath.Base(original), filepath.Join("backup", filepath.Base(original))}
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(runs, name), os.DirFS(original)); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// A copied folder costs nothing but itself: all verbs over the folder above it give what they gave without it, and name
// the copy.
func TestACopyOfARunIsLeftOutAloneAndByName(t *testing.T) {
	t.Parallel()
	runs := importPublished(t)
	for name, args := range map[string][]string{
		"report":          {"report", runs},
		"report as JSON":  {"report", runs, "--format=json"},
		"report as HTML":  {"report", runs, "--format=html"},
		"benchstat":       {"report", runs, "--format=benchstat"},
		"compare":         {"compare", runs, "--by=arm"},
		"compare as JSON": {"compare", runs, "--by=arm", "--json"},
	} {
		wantCode, want, _ := invokeVerb(t, args...)
		copies := withCopies(t, runs)
		code, stdout, stderr := invokeVerb(t, args...)
		if code != wantCode || stdout != want {
			t.Errorf("%s: exit %d and another output than %d without copies: %s%s", name, code, wantCode, stdout, stderr)
		}
		for _, copied := range copies {
			if !strings.Contains(stderr, "left out: "+filepath.Join(runs, copied)+": it is a copy of the run in "+first(t, runs)) {
				t.Errorf("%s: %s is not named: %s", name, copied, stderr)
			}
			if err := os.RemoveAll(filepath.Join(runs, copied)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestACopyOfARunIsMarkedAndTakesNoPlaceFromOthers(t *testing.T) {
	t.Parallel()
	runs := importPublished(t)
	goes := func() string {
		_, stdout, _ := invokeVerb(t, "runs", "prune", "--runs", runs, "--keep=3")
		var lines []string
		for line := range strings.Lines(stdout) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "goes" {
				lines = append(lines, fields[1])
			}
		}
		return strings.Join(lines, " ")
	}
	before := goes()
	copies := withCopies(t, runs)
	if after := goes(); after != before || before == "" {
		t.Errorf("prune: %q go, without copies %q", after, before)
	}
	_, stdout, _ := invokeVerb(t, "runs", "list", "--runs", runs)
	if n := strings.Count(stdout, ", copy"); n != len(copies) {
		t.Errorf("runs list marks %d copies, want %d: %s", n, len(copies), stdout)
	}
}

func TestAMetricThatARunLacksIsAbsent(t *testing.T) {
	t.Parallel()
	run := first(t, importPublished(t))
	_, stdout, _ := invokeVerb(t, "report", run, "--metric=x=kv_capacity_bytes/1e9", "--metric=y=energy_joules/2", "--metric=z=1/(kv_capacity_bytes-kv_capacity_bytes)")
	for name, want := range map[string]string{"x (computed)": "", "y (computed)": "–", "z (computed)": "–"} {
		line := ""
		for l := range strings.Lines(stdout) {
			if strings.HasPrefix(l, name) {
				line = strings.TrimSpace(strings.TrimPrefix(l, name))
			}
		}
		if line == "" || want != "" && line != want {
			t.Errorf("%s is %q, want %q: %s", name, line, want, stdout)
		}
	}
	_, stdout, _ = invokeVerb(t, "report", run, "--metric=y=energy_joules/2", "--format=json")
	var one struct {
		Metrics map[string]*float64 `json:"metrics"`
	}
	if err := json.Unmarshal([]byte(stdout), &one); err != nil || one.Metrics == nil || one.Metrics["y"] != nil {
		t.Errorf("%v (%v)", one.Metrics, err)
	}
}

func TestLabelsOfOthersAreTextInEveryReport(t *testing.T) {
	t.Parallel()
	const evil = "<script>alert(1)</script>\x1b[31m|`x`=cmd"
	runs := importPublished(t)
	folders, err := filepath.Glob(filepath.Join(runs, "2*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, dir := range folders[:4] {
		for _, file := range []string{rundir.ManifestFile, rundir.SummaryFile} {
			alter(t, dir, file, func(m map[string]any) {
				m["labels"].(map[string]any)["arm"] = fmt.Sprintf("%s %d", evil, i%2)
				m["labels"].(map[string]any)[evil] = evil
			})
		}
	}
	for _, form := range []string{"table", "md", "html", "benchstat"} {
		stdout, _ := succeeded(t, append([]string{"report", "--format", form}, folders[:4]...)...)
		if strings.Contains(stdout, "\x1b") || form == "html" && strings.Contains(stdout, "<script>alert") || form == "md" && strings.Contains(stdout, "<script") {
			t.Errorf("%s has it as it is", form)
		}
	}
}
