package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
)

const root = "../.."

func runIn(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestCommittedFilesAreWhatTheCodeGenerates(t *testing.T) {
	if code, _, stderr := runIn(t, "--check", "--dir", root); code != exitDone {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// checkout is an empty checkout with the folders that are written to.
func checkout(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"dashboards", "alerts", "exporter"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCheckNamesTheFileAndTheFirstLineThatDiffers(t *testing.T) {
	dir := checkout(t)
	if code, stdout, stderr := runIn(t, "--dir", dir); code != exitDone || !strings.Contains(stdout, "alerts/memory.yaml\n") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	if code, _, stderr := runIn(t, "--dir", dir, "--check"); code != exitDone {
		t.Fatalf("exit %d right after writing: %s", code, stderr)
	}
	path := filepath.Join(dir, "alerts/memory.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(content), "for: 1m", "for: 2m", 1)
	wantLine := 1 + strings.Count(edited[:strings.Index(edited, "for: 2m")], "\n")
	if err := os.WriteFile(path, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runIn(t, "--dir", dir, "--check")
	want := "uma-gen: alerts/memory.yaml:" + strconv.Itoa(wantLine) + " is not what the code generates: go generate ./... writes it\n"
	if code != exitFailed || stderr != want {
		t.Errorf("exit %d, %q, want %q", code, stderr, want)
	}
	if code, _, stderr := runIn(t, "dashboards", "--dir", dir, "--check"); code != exitDone {
		t.Errorf("dashboards are blamed for an alert: exit %d, %s", code, stderr)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != edited {
		t.Error("--check wrote to the file")
	}
}

func TestCheckNamesAMissingFile(t *testing.T) {
	code, _, stderr := runIn(t, "docs", "--check", "--dir", checkout(t))
	if code != exitFailed || !strings.Contains(stderr, "exporter/METRICS.md: no such file") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// Prometheus loads alerts/*.yaml, and the preview dashboards/*.json: what a renamed group leaves behind would go on.
func TestCheckNamesAFileThatNothingGenerates(t *testing.T) {
	dir := checkout(t)
	if code, _, stderr := runIn(t, "--dir", dir); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, left := range []string{"alerts/old.yaml", "dashboards/old.json"} {
		if err := os.WriteFile(filepath.Join(dir, left), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, _, stderr := runIn(t, "--dir", dir, "--check")
	want := "uma-gen: dashboards/old.json: nothing generates it, but it would be loaded: remove it\n" +
		"uma-gen: alerts/old.yaml: nothing generates it, but it would be loaded: remove it\n"
	if code != exitFailed || stderr != want {
		t.Errorf("exit %d, %q", code, stderr)
	}
	if code, _, stderr := runIn(t, "alerts", "--dir", dir, "--check"); code != exitFailed || strings.Contains(stderr, "dashboards") {
		t.Errorf("alerts alone: exit %d, %q", code, stderr)
	}
	if code, _, stderr := runIn(t, "docs", "--dir", dir, "--check"); code != exitDone {
		t.Errorf("docs alone: exit %d, %q", code, stderr)
	}
}

func TestAnUnknownSubjectIsRefusedWithTheKnownOnes(t *testing.T) {
	for _, args := range [][]string{{"posters"}, {"--dir", root, "preview"}} {
		code, _, stderr := runIn(t, args...)
		if code != exitInput || !strings.Contains(stderr, args[len(args)-1]) || !strings.Contains(stderr, "uma-gen preview, flags after it") {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
}

func TestBadInputIsOneLineAndExit2(t *testing.T) {
	for _, args := range [][]string{{"posters"}, {"--frobnicate"}, {"--dir", "/nowhere"}, {"alerts", "dashboards"}} {
		code, _, stderr := runIn(t, args...)
		if code != exitInput || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, strings.TrimPrefix(args[len(args)-1], "--")) {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
}

func TestHelpIsNoError(t *testing.T) {
	if code, stdout, stderr := runIn(t, "--help"); code != exitDone || !strings.Contains(stdout, "  --check ") || stderr != "" {
		t.Errorf("exit %d, %q, %q", code, stdout, stderr)
	}
}

func TestFirstDifferenceCountsLinesFromOne(t *testing.T) {
	cases := []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a\nb\n", "a\nb\n", 0}, {"a\nb\n", "a\nc\n", 2}, {"x\n", "y\n", 1}, {"a\n", "a\nb\n", 2}, {"a\n", "a", 1}, {"", "a", 1}}
	for _, c := range cases {
		if got := firstDifference([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q, %q: line %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestTheReferenceHoldsEverySeriesOnceInItsTable(t *testing.T) {
	var rows, lines strings.Builder
	for _, f := range reference() {
		for _, section := range strings.Split(string(f.content), "\n## ")[1:] {
			into, bars := &rows, 9
			if strings.HasPrefix(section, "Lines of the ledger") {
				into, bars = &lines, 3
			}
			into.WriteString(section)
			for row := range strings.Lines(section) {
				if strings.HasPrefix(row, "| ") && strings.Count(strings.ReplaceAll(row, `\|`, ""), "|") != bars {
					t.Errorf("%s: the row has not %d cells: %s", f.path, bars-1, row)
				}
			}
		}
	}
	for _, definer := range metric.Everything() {
		if row := "| `" + definer.Def().Name + "` |"; strings.Count(rows.String(), row) != 1 {
			t.Errorf("%s is in %d rows", definer.Def().Name, strings.Count(rows.String(), row))
		}
	}
	for _, line := range ledger.Names() {
		if row := "| `" + line + "` |"; strings.Count(lines.String(), row) != 1 {
			t.Errorf("ledger line %s is in %d rows", line, strings.Count(lines.String(), row))
		}
	}
}

func TestTheReferenceHasWhatMayBeSummed(t *testing.T) {
	cases := map[string]metric.Definer{
		"never":                      metric.GPUTemperatureCelsius,
		"yes":                        metric.GPUPowerWatts,
		"not over `min_block_bytes`": metric.MemoryFreeContiguousBytes,
	}
	for want, definer := range cases {
		if got := sums(definer.Def()); got != want {
			t.Errorf("%s: %q, want %q", definer.Def().Name, got, want)
		}
	}
}

func TestCellsStayCells(t *testing.T) {
	if got := escape("a|b<script>\nc"); got != `a\|b&lt;script&gt; c` {
		t.Error(got)
	}
}
