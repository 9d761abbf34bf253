// Package golden holds what uma-load makes of run folders to what it made of them before: summaries, comparisons, CSV
// and JSON byte by byte, pages and workbooks cell by cell. It drives verbs and reads files, and imports nothing that
// makes them.
package golden

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen"
)

// run is a verb of uma-load that ended, with what it printed.
type run struct {
	code           int
	stdout, stderr string
}

// verb runs a verb of uma-load.
func verb(t *testing.T, args ...string) run {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := loadgen.Run(t.Context(), args, &stdout, &stderr)
	return run{code, stdout.String(), stderr.String()}
}

// done wants that it ended well.
func (r run) done(t *testing.T) run {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exit %d: %s", r.code, r.stderr)
	}
	return r
}

// volatile is what differs from one time to the next without meaning anything: the version of the program and of Go,
// the moment at which something was written, and random parts of names.
var volatile = []struct {
	of *regexp.Regexp
	is string
}{
	{regexp.MustCompile(`uma-load \S+ \([^()\s]+, go[0-9.]+\)`), "uma-load VERSION"},
	{regexp.MustCompile(`date-released: "?\d{4}-\d{2}-\d{2}"?`), "date-released: TODAY"},
	{regexp.MustCompile(`year = \{\d{4}\}`), "year = {THIS}"},
	{regexp.MustCompile(`\d+ days old`), "AGE"},
}

// settled is a text without what is volatile, and without the folders of this test.
func settled(text string, folders ...string) string {
	for _, folder := range folders {
		text = strings.ReplaceAll(text, folder, "DIR")
	}
	for _, v := range volatile {
		text = v.of.ReplaceAllString(text, v.is)
	}
	return text
}

const cells = ".cells"

// want holds an output to its golden file below testdata/want, or writes that. Cells are kept as text, for whoever looks
// at what changed in them, and what has to be equal byte by byte is packed.
func want(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata/want", name)
	if filepath.Ext(name) != cells {
		path += ".gz"
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, packed(t, path, got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	wanted := unpacked(t, path, content)
	if filepath.Ext(name) == cells {
		sameCells(t, name, got, wanted)
		return
	}
	same(t, name, got, wanted)
}

// sameCells shows the lines that are missing and those that are new; of lines that only moved, that they did. Where a
// space stands between two elements is style.
func sameCells(t *testing.T, name, got, wanted string) {
	t.Helper()
	if strings.ReplaceAll(got, " ", "") == strings.ReplaceAll(wanted, " ", "") {
		return
	}
	missing, added := without(wanted, got), without(got, wanted)
	if len(missing)+len(added) == 0 {
		t.Errorf("%s: the same lines stand in another order (-update writes them)", name)
		return
	}
	t.Errorf("%s: %d lines are missing:\n%s%d lines are new:\n%s(-update writes them)", name, len(missing), few(missing), len(added), few(added))
}

// without are the lines of a text that another does not have, or not as often.
func without(text, other string) []string {
	left := map[string]int{}
	for one := range strings.Lines(other) {
		left[strings.ReplaceAll(one, " ", "")]++
	}
	var lines []string
	for one := range strings.Lines(text) {
		key := strings.ReplaceAll(one, " ", "")
		if left[key]--; left[key] < 0 {
			lines = append(lines, one)
		}
	}
	return lines
}

// few are the first of many lines.
func few(lines []string) string {
	const most = 25
	text := strings.Join(lines[:min(most, len(lines))], "")
	if len(lines) > most {
		text += "...\n"
	}
	return text
}

func packed(t *testing.T, path, text string) []byte {
	t.Helper()
	if filepath.Ext(path) != ".gz" {
		return []byte(text)
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpacked(t *testing.T, path string, content []byte) string {
	t.Helper()
	if filepath.Ext(path) != ".gz" {
		return string(content)
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err == nil {
		content, err = io.ReadAll(r)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(content)
}

// same shows the first line in which two texts differ.
func same(t *testing.T, name, got, wanted string) {
	t.Helper()
	if got == wanted {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(wanted, "\n")
	for i := range max(len(a), len(b)) {
		var is, was string
		if i < len(a) {
			is = a[i]
		}
		if i < len(b) {
			was = b[i]
		}
		if is != was {
			t.Errorf("%s: line %d is\n%.1000s\nand was\n%.1000s\n(%d lines, %d before; -update writes them)", name, i+1, is, was, len(a), len(b))
			return
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// copied copies a folder to where the test may write, without the files of these names.
func copied(t *testing.T, from string, without ...string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, name := range without {
		if err := os.RemoveAll(filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

const runs = "testdata/runs"

// folders are all run folders, but for ranks.
func folders(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(runs, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "manifest.json" && !strings.Contains(path, "-rank") {
			all = append(all, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("%d folders: %v", len(all), err)
	}
	return all
}

// named is the name of the outputs of a run folder: runs of campaigns and sweeps have random names.
func named(path string) string {
	name, _ := filepath.Rel(runs, path)
	return strings.ReplaceAll(name, string(filepath.Separator), ".")
}

// alike are runs of a campaign or a sweep that have nothing that others have not.
var alike = regexp.MustCompile(`campaign/.*-00[3-6]-`)

// TestReports holds the report of every run in every form.
func TestReports(t *testing.T) {
	t.Parallel()
	for _, path := range folders(t) {
		t.Run(named(path), func(t *testing.T) {
			t.Parallel()
			if !alike.MatchString(path) {
				reports(t, "report/"+named(path), path)
			}
			if summary, err := os.ReadFile(filepath.Join(path, "summary.json")); err == nil {
				same(t, "the summary that is there", before(t, verb(t, "report", path, "--format=json").done(t).stdout), before(t, string(summary)))
			}
		})
	}
}

// reports holds the report of folders in every form.
func reports(t *testing.T, name string, paths ...string) {
	t.Helper()
	book := filepath.Join(t.TempDir(), "book.xlsx")
	form := func(args ...string) string {
		return settled(verb(t, append(append([]string{"report"}, paths...), args...)...).done(t).stdout, filepath.Dir(paths[0]))
	}
	var page strings.Builder
	section := func(name, cells string) { page.WriteString("=== " + name + "\n" + cells) }
	section("table", textCells(form("--xlsx="+book, "--metric=tokens_per_joule=output_tokens_per_second/gpu_power_mean_watts")))
	section("md", markdownCells(form("--format=md")))
	section("html", htmlCells(t, form("--format=html")))
	section("xlsx", workbookCells(t, []byte(read(t, book))))
	section("benchstat", form("--format=benchstat"))
	want(t, name+".cells", page.String())
}
