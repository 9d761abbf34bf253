package importer

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// TestSparkrunIsReadAsItWasWritten: by sparkrun 0.4.2, of one report of llama-benchy. Its figures are those of the report.
func TestSparkrunIsReadAsItWasWritten(t *testing.T) {
	all, err := results(t, "sparkrun", "testdata/sparkrun-0.4.2.yaml")
	if err != nil || len(all) != 4 {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	report, err := results(t, "llama-benchy", "testdata/llama-benchy-0.4.0-depth-cache-hits.json")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range all {
		want := report[i]
		if r.Key != want.Key || r.Version != "0.4.0" || !r.EndedAt.Equal(want.EndedAt) || !slices.EqualFunc(r.Values, want.Values, func(a, b spec.Reported) bool {
			return a.Name == b.Name && a.Statistic == b.Statistic && a.Value == b.Value && slices.Equal(a.Values, b.Values)
		}) {
			t.Errorf("%+v\nis not\n%+v", r, want)
		}
	}
	r := cellRun(t, all, "concurrency=5", "phase=context")
	wantLabels(t, r, map[string]string{
		"model": "sim/simulated-8b", "tool_version": "0.4.0", "phase": "context", "depth": "4096", "concurrency": "5", "pp": "512", "tg": "64",
		"recipe": "recipe", "profile": "@spark-arena/spark-arena-v2", "tp": "1",
	})
	if r.Settings["runtime"] != "vllm-distributed" || r.Settings["vllm_version"] != "0.13.0" || r.Settings["hosts"] != "node-55235459" || r.Settings["container"] == "" {
		t.Errorf("%v", r.Settings)
	}
}

// TestAResumedSparkrunIsWarnedOf: its cells were merged, so that llama-benchy's version and time are lost.
func TestAResumedSparkrunIsWarnedOf(t *testing.T) {
	all, err := results(t, "sparkrun", "testdata/sparkrun-0.4.2-resumed.yaml")
	if err != nil || len(all) != 5 {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	text := strings.Join(Warnings(all), "\n")
	for _, says := range []string{"resumed: sparkrun gave out", versionMissing, "2 of 3 batches that were asked for have values", "early role: the first event came 173 ms"} {
		if !strings.Contains(text, says) {
			t.Errorf("%q is not in\n%s", says, text)
		}
	}
	for _, r := range all {
		if want := time.Date(2026, 11, 23, 9, 20, 0, 0, time.UTC); !r.EndedAt.Equal(want) {
			t.Errorf("%s ended %v: the file was written later than it was measured", r.Key, r.EndedAt)
		}
		if _, known := r.figure(figure{spec.FailedRequests, ""}); known {
			t.Errorf("%s: failures do not follow from a merged file", r.Key)
		}
	}
	if fresh, err := results(t, "sparkrun", "testdata/sparkrun-0.4.2.yaml"); err != nil || strings.Contains(strings.Join(Warnings(fresh), "\n"), "resumed") {
		t.Errorf("%v, %v", Warnings(fresh), err)
	}
}

// benchmarkFolder makes the folder of a benchmark in sparkrun's cache.
func benchmarkFolder(t *testing.T, state string) string {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{"state.yaml": state, "consolidated.json": `{"model":"m","benchmarks":[]}`, "runs/000_d0_c5.log": "text"}
	for name, from := range map[string]string{"runs/000_d0_c5.json": "a-third-failed", "runs/001_d0_c1.json": "early-role-chunk"} {
		text, err := os.ReadFile("testdata/llama-benchy-0.4.0-" + from + ".json")
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	if err := os.Mkdir(filepath.Join(folder, "runs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

const stateYAML = "recipe_qualified_name: r.yaml\nframework: llama-benchy\nprofile: v2\nbase_args:\n  pp:\n  - 512\n  runs: 4\nschedule:\n- depth: 0\n  concurrency: 5\n"

// TestTheFolderOfASparkrunIsItsRuns, which have the version and the time that the merged file lacks.
func TestTheFolderOfASparkrunIsItsRuns(t *testing.T) {
	for _, inside := range []string{"", "runs"} {
		made, err := order(t, "sparkrun", t.TempDir(), filepath.Join(benchmarkFolder(t, stateYAML), inside)).Import()
		if err != nil || len(made) != 2 {
			t.Fatalf("%q: %d runs, %v", inside, len(made), err)
		}
		first, second := made[1], made[0]
		want := map[string]string{
			"arm": "default", "model": "sim/simulated-8b", "tool_version": "0.4.0", "phase": "inference", "depth": "0", "concurrency": "5", "pp": "512", "tg": "32",
			"recipe": "r.yaml", "profile": "v2",
		}
		if !maps.Equal(first.Summary.Labels, want) || first.File != "000_d0_c5.json" || first.Summary.Valid || !second.Summary.Valid {
			t.Errorf("%+v\n%+v", first.Summary, second.Summary)
		}
		if text := strings.Join(first.Summary.Warnings, "\n"); !strings.Contains(text, "3 of 4 batches that were asked for have values") {
			t.Error(text)
		}
	}
}

// TestOneRunOfSparkrunAndLlamaBenchyIsOneRun, whichever file it is read from.
func TestOneRunOfSparkrunAndLlamaBenchyIsOneRun(t *testing.T) {
	out := t.TempDir()
	if _, err := order(t, "sparkrun", out, "testdata/sparkrun-0.4.2.yaml").Import(); err != nil {
		t.Fatal(err)
	}
	report := "testdata/llama-benchy-0.4.0-depth-cache-hits.json"
	for _, format := range []string{"llama-benchy", "sparkrun"} {
		if _, err := order(t, format, out, report).Import(); err == nil || !strings.Contains(err.Error(), "is there already, from another file") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestADamagedFolderOfSparkrunIsRefusedInOneLine(t *testing.T) {
	damaged := benchmarkFolder(t, stateYAML)
	if err := os.WriteFile(filepath.Join(damaged, "runs", "001_d0_c1.json"), []byte(`{"benchmarks":`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, path, says string }{
		{"sparkrun", t.TempDir(), "it is a folder without runs/*.json"},
		{"sparkrun", damaged, "001_d0_c1.json: no file of sparkrun: line 1: it is no JSON"},
		{"sparkrun", benchmarkFolder(t, "base_args: ["), "state.yaml: line 2: it is no YAML"},
		{"sparkrun", filepath.Join(damaged, "none"), "no such file"},
		{"llama-benchy", damaged, "it is no regular file"},
	} {
		out := filepath.Join(t.TempDir(), "runs")
		_, err := order(t, c.format, out, c.path).Import()
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %q", err, c.says)
		}
	}
}
