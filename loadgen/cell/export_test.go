package cell

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// fileOf exports rows as JSON.
func fileOf(t *testing.T, rows []Row) string {
	t.Helper()
	report, err := NewReport(rows, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := report.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// saved writes a file and returns its path.
func saved(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAFileOfLlamaBenchyComesBackAsItWas, each character of it but the version: that says who wrote it.
func TestAFileOfLlamaBenchyComesBackAsItWas(t *testing.T) {
	files, err := filepath.Glob("../importer/testdata/llama-benchy-*.json")
	if err != nil || len(files) < 7 {
		t.Fatal(files, err)
	}
	for _, path := range append(files, "testdata/llama-benchy-0.4.0-hits.json", "testdata/llama-benchy-0.4.0-misses.json") {
		original, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := withoutSeries(t, original)
		version := want.Version
		want.Version = "umascope v1.2.3; figures of llama-benchy " + version
		got := withoutSeries(t, []byte(fileOf(t, imported(t, path))))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v\nwant %+v", path, got, want)
		}
		if strings.Contains(path, "timeseries") {
			continue // they are not kept
		}
		said := strings.Replace(string(original), fmt.Sprintf("%q", version), fmt.Sprintf("%q", want.Version), 1)
		if text := fileOf(t, imported(t, path)); strings.TrimSpace(text) != strings.TrimSpace(said) {
			t.Errorf("%s is not written as it was:\n%s", path, text)
		}
	}
}

// plainReport is a file by the names in it, numbers as their text.
type plainReport struct {
	Version string
	Rest    map[string]any
}

func withoutSeries(t *testing.T, text []byte) plainReport {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var all map[string]any
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for _, b := range all["benchmarks"].([]any) {
		delete(b.(map[string]any), "throughput_over_time")
		delete(b.(map[string]any), "requests_throughput_over_time")
	}
	version := all["version"].(string)
	delete(all, "version")
	return plainReport{version, all}
}

// TestOwnCellsComeBackToTheLastBit: exported, imported and exported again, and in seconds as they were measured.
func TestOwnCellsComeBackToTheLastBit(t *testing.T) {
	rows := arena()
	first := fileOf(t, rows)
	back := imported(t, saved(t, first))
	if second := fileOf(t, back); second != first {
		t.Errorf("%s\nis not\n%s", second, first)
	}
	for i, row := range rows {
		if !reflect.DeepEqual(back[i].LlamaBenchy(), row.LlamaBenchy()) || back[i].Position != row.Position || back[i].Context != row.Context || back[i].Cached != row.Cached {
			t.Errorf("%+v is not %+v", back[i], row)
		}
	}
}

// TestRowsOfOneTimeHaveTheOrderOfLlamaBenchy: by depth and requests at once, the context before its prompt.
func TestRowsOfOneTimeHaveTheOrderOfLlamaBenchy(t *testing.T) {
	rows := arena()
	want := fileOf(t, rows)
	slices.Reverse(rows)
	if got := fileOf(t, rows); got != want {
		t.Errorf("%s\nis not\n%s", got, want)
	}
}

// TestAnyNumberComesBack, through a file and an imported run.
func TestAnyNumberComesBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	draw := func() float64 {
		switch r.IntN(4) {
		case 0:
			return float64(r.IntN(1e9)) / 1e6 // nanoseconds, in milliseconds
		case 1:
			return math.Ldexp(1+r.Float64(), r.IntN(60)-30)
		case 2:
			return float64(r.IntN(1e6))
		}
		return r.Float64() * 1e4
	}
	for range 40 {
		metric := func() *Metric {
			if r.IntN(5) == 0 {
				return nil
			}
			return newMetric([]float64{draw(), draw(), draw()})
		}
		f := LlamaBenchy{metric(), metric(), metric(), metric(), metric(), metric(), metric(), metric(), metric()}
		row := Row{Position: Position{Concurrency: 2, Prompt: 1, Response: 1}, Model: "m", Arm: "default", LatencyMode: "api", LatencySeconds: draw() / 1e3, Ended: time.Unix(1_795_000_000, 0), Reported: &f}
		first := fileOf(t, []Row{row})
		back := imported(t, saved(t, first))
		if len(back) != 1 || !reflect.DeepEqual(*back[0].Reported, f) {
			t.Fatalf("%+v is not %+v", back, f)
		}
		if second := fileOf(t, back); second != first {
			t.Fatalf("%s\nis not\n%s", second, first)
		}
	}
}

// TestAFileHasOneModelOneArmAndOneSettingOfCaching.
func TestAFileHasOneModelOneArmAndOneSettingOfCaching(t *testing.T) {
	for want, change := range map[string]func(*Row){
		`runs/a is of the model "m" and runs/b of "other"`:                                             func(r *Row) { r.Model = "other" },
		`runs/a is of the arm "default" and runs/b of "new"`:                                           func(r *Row) { r.Arm = "new" },
		"the depth of runs/a was sent ahead, for the prefix cache, and that of runs/b with the prompt": func(r *Row) { r.Cached, r.Context = false, false },
	} {
		row := arena()[1]
		row.Run = "runs/a"
		other := row
		other.Run = "runs/b"
		change(&other)
		if _, err := NewReport([]Row{row, other}, "v1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := NewReport(nil, "v1"); err == nil {
		t.Error("a file of nothing")
	}
}

// TestCSVAndTheTablePeoplePost: as llama-benchy writes them from the same figures; both files here were written by its
// own classes from the JSON (.ci/proofs/spark).
func TestCSVAndTheTablePeoplePost(t *testing.T) {
	for name, rows := range map[string][]Row{
		"several": imported(t, "testdata/llama-benchy-0.4.0-hits.json"),
		"one":     slices.DeleteFunc(imported(t, "testdata/llama-benchy-0.4.0-hits.json"), func(r Row) bool { return r.Concurrency > 1 }),
	} {
		report, err := NewReport(rows, "v1")
		if err != nil {
			t.Fatal(err)
		}
		var text, table strings.Builder
		if err := report.WriteCSV(&text); err != nil {
			t.Fatal(err)
		}
		if err := report.WriteMarkdown(&table); err != nil {
			t.Fatal(err)
		}
		for file, got := range map[string]string{"by-llama-benchy-" + name + ".csv": text.String(), "by-llama-benchy-" + name + ".md": table.String()} {
			want, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil || strings.TrimSuffix(got, "\n") != strings.TrimSuffix(string(want), "\n") {
				t.Errorf("%s: %v\n%s", file, err, got)
			}
		}
	}
}

func FuzzNumber(f *testing.F) {
	for _, v := range []float64{0, 1, 50, .1, 1e-5, 1e16, 123456789.125, math.SmallestNonzeroFloat64, math.MaxFloat64} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return // JSON has no such number
		}
		text, err := json.Marshal(number(v))
		var back float64
		if err != nil || json.Unmarshal(text, &back) != nil || back != v || !strings.ContainsAny(string(text), ".e") {
			t.Errorf("%v: %s, %v", v, text, err)
		}
	})
}
