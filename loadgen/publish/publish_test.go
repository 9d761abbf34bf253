package publish

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// plainRun writes a run whose figures and surroundings depend on its number.
func plainRun(t *testing.T, out string, i int, change func(*rundir.Manifest, *summary.Summary)) rundir.Folder {
	t.Helper()
	id := fmt.Sprintf("run-%d", i)
	f := planted(t, out, id, []string{"native", "container"}[i%2], i)
	m, err := manifestOf(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Path(rundir.SummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	var s summary.Summary
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"arm": m.Labels["arm"], "host": secretHost, "model": "llama", "campaign": "c", "round": fmt.Sprint(i / 2)}
	m.Labels, s.Labels = labels, labels
	m.Scenario, s.Scenario = "standard", "standard"
	line := map[string]float64{"free": float64(i)}
	s.Memory.LedgerAt = &summary.Ledgers{Start: line, Ready: line, Peak: line}
	s.Memory.UnavailablePeak = new(float64(int64(100+3*(i%2)+i)) * (1 << 30))
	change(&m, &s)
	if err := errors.Join(f.WriteJSON(rundir.ManifestFile, m), f.WriteJSON(rundir.SummaryFile, s)); err != nil {
		t.Fatal(err)
	}
	return f
}

func plainRuns(t *testing.T, n int, change func(i int, m *rundir.Manifest, s *summary.Summary)) []rundir.Folder {
	t.Helper()
	out := t.TempDir()
	var all []rundir.Folder
	for i := range n {
		all = append(all, plainRun(t, out, i, func(m *rundir.Manifest, s *summary.Summary) { change(i, m, s) }))
	}
	return all
}

func unchanged(int, *rundir.Manifest, *summary.Summary) {}

func comparisonOf(t *testing.T, paths []string) any {
	t.Helper()
	runs, err := observed(paths)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Compare(runs, settingsFor("").Compare)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func pathsOf(all []rundir.Folder) []string {
	var paths []string
	for _, f := range all {
		paths = append(paths, string(f))
	}
	return paths
}

func pathsInPack(out string, pack Pack) []string {
	var paths []string
	for _, run := range pack.Runs {
		paths = append(paths, filepath.Join(out, RunsFolder, run))
	}
	return paths
}

// renamed says how two JSON values differ beside texts, and that texts which were equal are equal, and
// others are not.
type renamed struct {
	to, from map[string]string
	diffs    []string
}

// key is what a key of one is called in the other: the same, or the only one there that is not here, as the name of
// a machine is.
func (r *renamed) key(path, key string, a, b map[string]any) string {
	if _, same := b[key]; same {
		return key
	}
	for name := range b {
		if _, here := a[name]; !here {
			r.walk(path+" (key)", key, name)
			return name
		}
	}
	return key
}

func (r *renamed) walk(path string, a, b any) {
	switch a := a.(type) {
	case map[string]any:
		other, is := b.(map[string]any)
		if !is || len(a) != len(other) {
			r.diffs = append(r.diffs, fmt.Sprintf("%s: %v against %v", path, a, b))
			return
		}
		for key, value := range a {
			r.walk(path+"."+key, value, other[r.key(path, key, a, other)])
		}
	case []any:
		other, is := b.([]any)
		if !is || len(a) != len(other) {
			r.diffs = append(r.diffs, fmt.Sprintf("%s: %v against %v", path, a, b))
			return
		}
		for i := range a {
			r.walk(fmt.Sprint(path, i), a[i], other[i])
		}
	case string:
		other, is := b.(string)
		to, known := r.to[a]
		from, back := r.from[other]
		if !is || known && to != other || back && from != a {
			r.diffs = append(r.diffs, fmt.Sprintf("%s: %q became %q, elsewhere %q, of %q", path, a, other, to, from))
		}
		r.to[a], r.from[other] = other, a
	default:
		if !reflect.DeepEqual(a, b) {
			r.diffs = append(r.diffs, fmt.Sprintf("%s: %v against %v", path, a, b))
		}
	}
}

// TestAComparisonOfThePackIsThatOfTheRuns with its verdicts, its fairness and its order; only names differ.
func TestAComparisonOfThePackIsThatOfTheRuns(t *testing.T) {
	runs := plainRuns(t, 8, func(i int, m *rundir.Manifest, s *summary.Summary) {
		m.Container.HostConfig = map[string]json.RawMessage{
			"ShmSize": json.RawMessage(fmt.Sprint(i % 2)), "IpcMode": json.RawMessage(`"host"`), "Binds": json.RawMessage(fmt.Sprintf(`["/home/%s/data%d:/data"]`, secretUser, i%2)),
		}
		m.Client.BootID = fmt.Sprintf("00000000-0000-0000-0000-00000000000%d", i/4)
		s.BootID = m.Client.BootID
		m.Flags["ca-file"], m.Flags["concurrency"] = fmt.Sprintf("/home/%s/%d.pem", secretUser, i%2), fmt.Sprint(8+i%2)
		m.Server.Version, m.Server.Engine = fmt.Sprintf("0.11.%d", i%2), "vllm"
		m.Campaign.Collected[0].SHA256, m.Server.FingerprintStart.Weights.ConfigSHA256 = strings.Repeat("cd", 32), strings.Repeat("ef", 32)
		m.Container.Image = fmt.Sprintf("registry.lab.example/vllm:%d", i%2)
		// An engine on two machines: the second has facts and a ledger under its name.
		m.Machines[0].Source, s.Machines[0].Source, s.Together.Hosts = "athena-8f", "athena-8f", []string{s.Labels["host"], "athena-8f"}
	})
	want := comparisonOf(t, pathsOf(runs))
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	pack, err := Make(t.Context(), runs, s)
	if err != nil {
		t.Fatal(err)
	}
	r := &renamed{to: map[string]string{}, from: map[string]string{}}
	r.walk("", want, comparisonOf(t, pathsInPack(s.Out, pack)))
	if name := r.to["athena-8f"]; !strings.HasPrefix(name, "host-") {
		t.Errorf("the second machine is called %q in the pack", name)
	}
	if len(r.diffs) > 0 || len(r.to) < 20 {
		t.Errorf("%d texts; %s", len(r.to), strings.Join(r.diffs, "\n"))
	}
}

func rowsOf(t *testing.T, path string) []map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := csv.NewReader(file).ReadAll()
	if err != nil || len(all) < 2 {
		t.Fatalf("%s: %d rows, %v", path, len(all), err)
	}
	var rows []map[string]string
	for _, fields := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = fields[i]
		}
		rows = append(rows, row)
	}
	return rows
}

func TestTheTablesHaveRunsArmsAndDifferences(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	runs := plainRuns(t, 8, func(i int, _ *rundir.Manifest, s *summary.Summary) {
		if i == 7 {
			s.Valid, s.InvalidReasons = false, []summary.Reason{{Code: "error_rate"}}
		}
	})
	if _, err := Make(t.Context(), runs, s); err != nil {
		t.Fatal(err)
	}
	all := rowsOf(t, filepath.Join(s.Out, RunsFile))
	if len(all) != 8 || all[0]["run"] != "run-0" || all[0]["label_arm"] != "native" || all[3]["output_tokens_per_second"] != "103" || all[7]["valid"] != "false" || all[7]["invalid_reasons"] != "error_rate" {
		t.Errorf("runs %v", all)
	}
	for _, row := range rowsOf(t, filepath.Join(s.Out, SummaryFile)) {
		if row["metric"] == "output_tokens_per_second" && row["arm"] == "container" && (row["n"] != "3" || row["mean"] != "103" || row["sd"] != "2") {
			t.Errorf("summary %v", row)
		}
	}
	pairs, means := 0, 0
	for _, row := range rowsOf(t, filepath.Join(s.Out, DeltasFile)) {
		if row["metric"] != "output_tokens_per_second" {
			continue
		}
		switch row["of"] {
		case "pair":
			pairs++
			if row["difference"] != "1" || row["candidate"] != "container" || row["run_a"] == "" || row["run_b"] == "" {
				t.Errorf("pair %v", row)
			}
		case "means":
			means++
			if row["verdict"] == "" || row["a"] == "" {
				t.Errorf("means %v", row)
			}
		}
	}
	if pairs != 3 || means != 1 {
		t.Errorf("%d pairs, %d means", pairs, means)
	}
}

// TestPairsWithARebootBetweenAreNoPairs in the tables, as in the comparison.
func TestPairsWithARebootBetweenAreNoPairs(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	runs := plainRuns(t, 8, func(i int, m *rundir.Manifest, s *summary.Summary) {
		m.Client.BootID = fmt.Sprintf("00000000-0000-0000-0000-00000000000%d", (i+5)/8) // between the runs of the second round
		s.BootID = m.Client.BootID
	})
	if _, err := Make(t.Context(), runs, s); err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, row := range rowsOf(t, filepath.Join(s.Out, DeltasFile)) {
		if row["of"] == "pair" && row["metric"] == "output_tokens_per_second" {
			pairs = append(pairs, row["pair"]+" "+row["run_a"]+" "+row["run_b"])
		}
	}
	if want := []string{"1 run-0 run-1", "3 run-4 run-5", "4 run-6 run-7"}; !slices.Equal(pairs, want) {
		t.Errorf("pairs %q, want %q", pairs, want)
	}
}

func TestThePackCanBeReadByOthers(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	s.Title, s.Authors, s.License = `Runs: "a" & {b} <c> # d`, []string{"A: B", "C"}, "CC-BY-4.0"
	if _, err := Make(t.Context(), plainRuns(t, 6, unchanged), s); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(s.Out, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o004 == 0 {
			t.Errorf("a web server cannot read %s: %v (%v)", path, info.Mode(), err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files := everyFile(t, s.Out)
	var citation map[string]any
	if err := yaml.Unmarshal([]byte(files[CitationFile]), &citation); err != nil || citation["title"] != s.Title || citation["cff-version"] != "1.2.0" || citation["license"] != "CC-BY-4.0" {
		t.Errorf("%v: %s", err, files[CitationFile])
	}
	figures := 0
	for path, text := range files {
		if !strings.HasSuffix(path, ".svg") {
			continue
		}
		figures++
		decoder := xml.NewDecoder(strings.NewReader(text))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		if !strings.Contains(files[IndexFile], path) && figures <= mostShown {
			continue
		}
	}
	if figures == 0 || strings.Contains(files[IndexFile], "<c>") || !strings.Contains(files[IndexFile], "&lt;c&gt;") || !strings.Contains(files[IndexFile], FiguresFolder+"/01-") {
		t.Errorf("%d figures; %.800s", figures, files[IndexFile])
	}
	at := 0
	for _, part := range []string{" against ", "none of this is a measurement of a real one", "<th scope=\"col\" class=\"words\">verdict", "Files</h2>", "Figures</h2>"} {
		i := strings.Index(files[IndexFile][at:], part)
		if i < 0 {
			t.Fatalf("%q is missing on the front page, or above what comes before it", part)
		}
		at += i
	}
	for _, part := range []string{"## Runs", "## Order", "## Plan and gates", "## Software", "## Statistics", "## What is not in the pack", "@misc"} {
		if !strings.Contains(files[MethodologyFile], part) {
			t.Errorf("%q is missing in %s", part, files[MethodologyFile])
		}
	}
}

func TestRunsAreTakenApartByWhatThereAreSeveralOf(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	s.Compare.Within = nil
	runs := plainRuns(t, 8, func(i int, m *rundir.Manifest, s *summary.Summary) {
		m.Labels["model"] = []string{"small", "large"}[i/4]
		s.Labels = m.Labels
	})
	if _, err := Make(t.Context(), runs, s); err != nil {
		t.Fatal(err)
	}
	row := rowsOf(t, filepath.Join(s.Out, SummaryFile))[0]
	if _, scenario := row["scenario"]; scenario || row["model"] != "large" {
		t.Errorf("%v", row)
	}
}

func TestASingleArmIsPublishedWithoutAComparison(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	pack, err := Make(t.Context(), plainRuns(t, 1, unchanged), s)
	if err != nil {
		t.Fatal(err)
	}
	files := everyFile(t, s.Out)
	if _, there := files[ComparisonFile]; there || len(pack.Runs) != 1 || !strings.Contains(files[IndexFile], "nothing to compare") || !strings.Contains(files[DeltasFile], "baseline") {
		t.Errorf("%v", pack.Files)
	}
}

func TestAPackIsVerified(t *testing.T) {
	s := settingsFor(filepath.Join(t.TempDir(), "pack"))
	if _, err := Make(t.Context(), plainRuns(t, 2, unchanged), s); err != nil {
		t.Fatal(err)
	}
	if _, problems, err := Verify(s.Out); err != nil || len(problems) > 0 {
		t.Fatalf("%v %v", problems, err)
	}
	write := func(path, text string) {
		if err := os.WriteFile(filepath.Join(s.Out, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(RunsFile, "changed")
	write("more.txt", "new")
	if err := os.Remove(filepath.Join(s.Out, SummaryFile)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(s.Out, DeltasFile)), os.Symlink("/etc/hostname", filepath.Join(s.Out, DeltasFile))); err != nil {
		t.Fatal(err)
	}
	_, problems, err := Verify(s.Out)
	if text := strings.Join(problems, "\n"); err != nil || len(problems) != 4 || !strings.Contains(text, "runs.csv is not the one") || !strings.Contains(text, "more.txt is not of") || !strings.Contains(text, "summary.csv is missing") || !strings.Contains(text, "deltas.csv is not the one") {
		t.Errorf("%q %v", problems, err)
	}
}

func TestOnlyAPackIsReplaced(t *testing.T) {
	runs := plainRuns(t, 2, unchanged)
	parent := t.TempDir()
	s := settingsFor(filepath.Join(parent, "pack"))
	make := func() error { _, err := Make(t.Context(), runs, s); return err }
	if err := errors.Join(os.Mkdir(s.Out, 0o755), make(), make()); err != nil { // an empty folder, then a pack
		t.Fatal(err)
	}
	before := everyFile(t, s.Out)
	mine := filepath.Join(s.Out, "CNAME")
	if err := os.WriteFile(mine, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := make(); err == nil || !strings.Contains(err.Error(), "CNAME") {
		t.Errorf("a file of somebody else: %v", err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "mine" {
		t.Error("it is lost")
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	// A run that cannot be read leaves the old pack, and nothing beside it.
	s.Read = func([]string) ([]compare.Run, error) { return nil, errors.New("no") }
	if err := make(); err == nil {
		t.Error("a pack of nothing")
	}
	if after := everyFile(t, s.Out); !reflect.DeepEqual(after, before) {
		t.Error("the old pack is another one")
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	for what, out := range map[string]string{"a file": string(runs[0].Path(rundir.ManifestFile)), "another folder": string(runs[0])} {
		s.Out = out
		if err := CheckOut(out); err == nil || !strings.Contains(err.Error(), out) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	parent := t.TempDir()
	if _, err := Make(ctx, plainRuns(t, 2, unchanged), settingsFor(filepath.Join(parent, "pack"))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(parent); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}
