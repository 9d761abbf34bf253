package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen"
)

// group is folders whose runs are shown together and compared by a label.
type group struct {
	folders []string
	by      []string // flags of compare
}

// groups are those of the golden folders.
var groups = map[string]group{
	"campaign": {[]string{runs + "/campaign"}, []string{"--by=arm"}},
	"demo":     {[]string{runs + "/demo-native", runs + "/demo-container"}, []string{"--by=arm"}},
	"replays":  {[]string{runs + "/demo-rehydrate", runs + "/reuse"}, []string{"--by=host", "--allow-different-workload"}},
	"sweep":    {[]string{runs + "/sweep"}, []string{"--by=concurrency", "--allow-different-workload"}},
	"refused":  {[]string{runs + "/demo-rehydrate", runs + "/demo-wrong-kv"}, []string{"--by=host"}},
	"mixed":    {[]string{runs + "/closed", runs + "/open", runs + "/failures", runs + "/record", runs + "/unstreamed"}, []string{"--by=arm", "--within=scenario", "--allow-different-workload"}},
	"reading":  {[]string{"../../../loadgen/testdata/reading"}, []string{"--by=arm", "--within=scenario"}},
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for name, g := range groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			together(t, "group/"+name, g)
		})
	}
}

// together holds the report of a group and its comparison in every form.
func together(t *testing.T, name string, g group) {
	t.Helper()
	reports(t, name, g.folders...)
	summaries(t, verb(t, slices.Concat([]string{"report", "--format=json"}, g.folders)...).done(t).stdout, g)

	page := filepath.Join(t.TempDir(), "page.html")
	form := func(args ...string) string {
		return verb(t, slices.Concat([]string{"compare"}, g.folders, g.by, args)...).done(t).stdout
	}
	if r := verb(t, slices.Concat([]string{"compare"}, g.folders, g.by)...); r.code == 2 {
		want(t, name+".comparison.refused", r.stderr)
		return
	}
	var b strings.Builder
	section := func(name, cells string) { b.WriteString("=== " + name + "\n" + cells) }
	section("answer", textCells(form()))
	section("text", textCells(form("--all", "--html="+page)))
	section("all columns", textCells(form("--all", "--columns=shapiro,bonferroni,bh,bca")))
	section("md", markdownCells(form("--md")))
	section("html", htmlCells(t, read(t, page)))
	want(t, name+".comparison.cells", b.String())
	want(t, name+".comparison.json", form("--json"))
	want(t, name+".comparison.csv", form("--csv"))
}

// summaries holds the JSON of a group to the summaries of its runs.
func summaries(t *testing.T, printed string, g group) {
	t.Helper()
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(printed), &all); err != nil {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, folder := range g.folders {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "summary.json" {
				written[before(t, read(t, path))] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range all {
		if text := before(t, string(one)); !written[text] {
			t.Errorf("a summary of the group is in none of its folders: %.300s", text)
		}
	}
	if len(all) != len(written) {
		t.Errorf("%d summaries of %d", len(all), len(written))
	}
}

// compact is JSON with sorted keys and numbers as they stand.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	if err == nil {
		text, err = json.Marshal(value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sources are the files of other tools, by the format that import calls them. They are copied to where they get a time
// of change that is always the same: some formats have no other.
var sources = map[string][]string{
	"aiperf":          {"../../../loadgen/importer/testdata/aiperf-0.13.0.json"},
	"guidellm":        {"../../../loadgen/importer/testdata/guidellm-0.8.1.json"},
	"vllm":            {"../../../loadgen/importer/testdata/vllm-0.33.0.json", "testdata/sources/vllm/appended.json"},
	"llama-benchy":    {"../../../loadgen/importer/testdata/llama-benchy-0.4.0-a-third-failed.json", "../../../loadgen/importer/testdata/llama-benchy-0.4.0-progress.jsonl"},
	"sparkrun":        {"../../../loadgen/importer/testdata/sparkrun-0.4.2.yaml"},
	"trtllm-log":      {"../../../loadgen/enginelog/testdata/trtllm-bench-constructed.log=native_iter1.log", "testdata/sources/trtllm-log/native_iter1_metadata.json"},
	"genai-bench":     {"../../../loadgen/enginelog/testdata/genai-bench.json", "testdata/sources/genai-bench/experiment_metadata.json"},
	"vllm-multi-turn": {"testdata/sources/vllm-multi-turn/stats.json"},
	"spark-harness":   {"testdata/sources/spark-harness/summary.json", "testdata/sources/spark-harness/invalid.json"},
	"benchmark-spark": {"testdata/sources/benchmark-spark/all.json"},
}

// imported imports the files of a format and returns the folder of its runs, and what was printed.
func imported(t *testing.T, format string, files []string) (out, printed string) {
	t.Helper()
	dir := t.TempDir()
	out = filepath.Join(dir, "runs")
	args := []string{"import", "--format=" + format, "--out=" + out, "--label=host=spark-1"}
	for _, file := range files {
		path, name, renamed := strings.Cut(file, "=")
		if !renamed {
			name = filepath.Base(path)
		}
		copied := filepath.Join(dir, name)
		if err := os.WriteFile(copied, []byte(read(t, path)), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		if err := os.Chtimes(copied, at, at); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_metadata.json") {
			args = append(args, copied)
		}
	}
	return out, settled(verb(t, args...).done(t).stdout, dir)
}

func TestImports(t *testing.T) {
	t.Parallel()
	for format, files := range sources {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			out, printed := imported(t, format, files)
			want(t, "import/"+format+".printed.cells", textCells(printed))
			made, err := filepath.Glob(filepath.Join(out, "*"))
			if err != nil || len(made) == 0 {
				t.Fatalf("%d runs: %v", len(made), err)
			}
			for _, path := range made {
				name := "import/" + format + "." + filepath.Base(path)
				want(t, name+".summary.json", read(t, filepath.Join(path, "summary.json")))
				reports(t, name, path)
				if fields, _ := recomputed(t, path, ""); len(fields) > 0 {
					t.Errorf("without summary.json %q are not computed as they were", fields)
				}
			}
		})
	}
}

// TestPublishedRuns imports the 63 published runs and compares them.
func TestPublishedRuns(t *testing.T) {
	t.Parallel()
	out, _ := imported(t, "benchmark-spark", []string{"../../../loadgen/testdata/published/all_benchmark_results.json"})
	g := group{[]string{out}, []string{"--by=arm", "--within=model"}}
	form := func(args ...string) string {
		return verb(t, slices.Concat([]string{"compare"}, g.folders, g.by, args)...).done(t).stdout
	}
	page := filepath.Join(t.TempDir(), "page.html")
	want(t, "published/text.cells", textCells(form("--all", "--html="+page)))
	want(t, "published/md.cells", markdownCells(form("--md")))
	want(t, "published/html.cells", htmlCells(t, read(t, page)))
	want(t, "published/comparison.json", form("--json"))
	want(t, "published/comparison.csv", form("--csv"))
	want(t, "published/group.cells", textCells(settled(verb(t, "report", out).done(t).stdout, filepath.Dir(out))))
}

// TestMergedRanks makes one run of its ranks.
func TestMergedRanks(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	r := verb(t, "merge", "--out="+out, "--xlsx", "--csv", "--conversations", "--benchstat", runs+"/ranks/load-rank0of2", runs+"/ranks/load-rank1of2").done(t)
	merged := filepath.Join(out, "load")
	want(t, "merge/printed.cells", textCells(settled(r.stdout, out)))
	for _, name := range []string{"summary.json", "requests.jsonl", "phases.json", "requests.csv", "summary.csv", "results.txt"} {
		want(t, "merge/"+name, settled(read(t, filepath.Join(merged, name)), out))
	}
	want(t, "merge/report.md.cells", markdownCells(read(t, filepath.Join(merged, "report.md"))))
	want(t, "merge/report.html.cells", htmlCells(t, read(t, filepath.Join(merged, "report.html"))))
	want(t, "merge/results.xlsx.cells", workbookCells(t, []byte(read(t, filepath.Join(merged, "results.xlsx")))))
	reports(t, "merge/report", merged)
	if fields, _ := recomputed(t, merged, ""); len(fields) > 0 {
		t.Errorf("without summary.json %q are not computed as they were", fields)
	}
}

// TestPacks publishes groups, and compares the pack as its runs were compared.
func TestPacks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"campaign", "demo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := groups[name]
			out := filepath.Join(t.TempDir(), "pack")
			args := slices.Concat([]string{"publish", "--out=" + out}, g.folders)
			want(t, "pack/"+name+"/printed.cells", textCells(settled(verb(t, args...).done(t).stdout, filepath.Dir(out))))
			var files strings.Builder
			err := filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() {
					files.WriteString(strings.TrimPrefix(path, out+"/") + "\n")
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			want(t, "pack/"+name+"/files", files.String())
			for _, file := range []string{"runs.csv", "summary.csv", "deltas.csv", "comparison.json"} {
				want(t, "pack/"+name+"/"+file, settled(read(t, filepath.Join(out, file)), out))
			}
			for _, file := range []string{"index.html", "comparison.html"} {
				want(t, "pack/"+name+"/"+file+cells, htmlCells(t, settled(read(t, filepath.Join(out, file)))))
			}
			want(t, "pack/"+name+"/methodology.md.cells", markdownCells(settled(read(t, filepath.Join(out, "methodology.md")))))
			want(t, "pack/"+name+"/CITATION.cff", citation.ReplaceAllString(settled(read(t, filepath.Join(out, "CITATION.cff"))), "uma-load VERSION"))
			verb(t, "publish", "--verify="+out).done(t)
			summaries, err := filepath.Glob(filepath.Join(out, "runs/*/summary.json"))
			if err != nil || len(summaries) == 0 {
				t.Fatalf("%d summaries, %v", len(summaries), err)
			}
			want(t, "pack/"+name+"/first.summary.json", read(t, summaries[0]))
			want(t, "pack/"+name+"/of-pack.comparison.csv", verb(t, slices.Concat([]string{"compare", out, "--csv"}, g.by)...).done(t).stdout)
		})
	}
}

// citation is the version in YAML, which breaks long lines.
var citation = regexp.MustCompile(`uma-load \S+\s+\([^()\s]+,\s+go[0-9.]+\)`)

// TestSavedComparison keeps a comparison next to the runs.
func TestSavedComparison(t *testing.T) {
	t.Parallel()
	dir := copied(t, runs+"/campaign")
	printed := verb(t, "compare", dir, "--by=arm", "--json", "--save").done(t).stdout
	saved, err := filepath.Glob(filepath.Join(dir, "comparisons", "*"))
	if err != nil || len(saved) == 0 {
		t.Fatalf("%d files, %v", len(saved), err)
	}
	want(t, "saved.printed.json", printed)
	if len(saved) != 1 {
		t.Errorf("%d files", len(saved))
	}
	want(t, "saved.json", settled(read(t, saved[0]), dir))
}

// TestLists holds what is printed of many runs without showing their figures, and what is computed of them.
func TestLists(t *testing.T) {
	t.Parallel()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	aged := agedRuns(t)
	for name, args := range map[string][]string{
		"runs":     {"runs", "list", "--runs=" + aged},
		"prune":    {"runs", "prune", "--runs=" + aged, "--keep=2"},
		"campaign": {"campaign", "status", runs + "/campaign"},
		"unserved": {"campaign", "status", runs + "/unserved"},
		"power":    {"campaign", "power", "--from=" + runs + "/campaign", "--margin=2%"},
	} {
		want(t, "list/"+name+cells, textCells(settled(verb(t, args...).done(t).stdout, here, aged)))
	}
	want(t, "list/runs.json", settled(verb(t, "runs", "list", "--runs="+aged, "--json").done(t).stdout, here, aged))
}

// agedRuns is a copy of the run folders into which nothing was written for a day: a killed run counts as running for an
// hour after its last file was written, and in a fresh checkout all files are new.
func agedRuns(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), runs)
	if err := os.CopyFS(dir, os.DirFS(runs)); err != nil {
		t.Fatal(err)
	}
	yesterday := time.Now().Add(-24 * time.Hour)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, yesterday, yesterday))
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestServedPage holds the series of finished runs.
func TestServedPage(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- loadgen.Run(ctx, []string{"serve", "--runs=" + runs, "--web.listen-address=127.0.0.1:0"}, io.Discard, writer)
		writer.Close()
	}()
	var output strings.Builder
	address := regexp.MustCompile(`url=(http://\S+/metrics)`)
	for buffer := make([]byte, 4096); !address.MatchString(output.String()); {
		n, err := reader.Read(buffer)
		if output.Write(buffer[:n]); err != nil {
			t.Fatalf("it does not serve: %s", output.String())
		}
	}
	go func() { _, _ = io.Copy(io.Discard, reader) }()
	response, err := http.Get(address.FindStringSubmatch(output.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	<-ended
	want(t, "serve/runs.prom", regexp.MustCompile(`(?m)^uma_load_build_info.*\n`).ReplaceAllString(string(page), ""))
}
