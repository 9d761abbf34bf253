package loadgen

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// copied are folders of ranks to be spoilt; the ranks themselves ran once.
func copied(t *testing.T, ranks []string) []string {
	t.Helper()
	var own []string
	for _, rank := range ranks {
		path := filepath.Join(t.TempDir(), filepath.Base(rank))
		if err := os.CopyFS(path, os.DirFS(rank)); err != nil {
			t.Fatal(err)
		}
		own = append(own, path)
	}
	return own
}

// alter changes a JSON file of a folder as anybody may who writes one.
func alter(t *testing.T, dir, name string, change func(map[string]any)) {
	t.Helper()
	path := filepath.Join(dir, name)
	var value map[string]any // not by read, which holds a summary to the files that were altered before it
	if err := json.Unmarshal([]byte(text(t, path)), &value); err != nil {
		t.Fatal(err)
	}
	change(value)
	content, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	overwrite(t, path, string(content))
}

// substitute replaces a name in a file, as JSON has it.
func substitute(t *testing.T, path, from, to string) {
	t.Helper()
	quoted := func(name string) []byte {
		content, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(content, quoted(from), quoted(to)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// poisoned puts hostile text wherever a manifest has text that means nothing to a merge: values and
// the names of labels, flags and settings.
func poisoned(value any, key string) any {
	meant := []string{"schema", "of", "state", "started_at", "ended_at", "start_at", "arrival", "slo", "validity", "name", "unmeasured", "endpoint"}
	switch v := value.(type) {
	case string:
		if slices.Contains(meant, key) {
			return v
		}
		return hostileText
	case []any:
		for i := range v {
			v[i] = poisoned(v[i], key)
		}
		return v
	case map[string]any:
		for name := range v {
			v[name] = poisoned(v[name], name)
		}
		if key == "labels" || key == "flags" {
			v[hostileText] = hostileText
		}
		return v
	default:
		return value
	}
}

// secretRanks runs two ranks of one load, which have secrets.
func secretRanks(t *testing.T) attempt {
	t.Helper()
	url := engine(t, 0)
	page, _ := exporter(t)
	keyFile := filepath.Join(t.TempDir(), "key")
	overwrite(t, keyFile, secrets["the file's key"]+"\n")
	a := startInTime(t, 2, func() string { return url }, "--run-id=load", "--api-key-file="+keyFile, "--concurrency=2", "--requests=8", "--warmup=0", "--input-tokens=20", "--output-tokens=4", "--save-outputs",
		"--telemetry", "spark="+page+"?token="+secrets["a query of telemetry"], "--scrape", "engine="+page+"?token="+secrets["a query of a page"], "--telemetry-interval=100ms",
		"--validity=telemetry_lost=off", "--label=host=spark", "--label=arm=a", "--header=X-Token:"+secrets["a header"], "--capture=it=true "+secrets["a command"])
	for r, code := range a.codes {
		if code != exitDone {
			t.Fatalf("rank %d: exit %d: %s", r, code, a.says[r])
		}
	}
	return a
}

func TestWhatSomebodyElseWroteIntoRanksHarmsNoMerge(t *testing.T) {
	t.Parallel()
	ranks := secretRanks(t).folders("load")

	t.Run("no secret of a rank is in what is made of them", func(t *testing.T) {
		out := t.TempDir()
		stdout, stderr := succeeded(t, append([]string{"merge", "--out", out, "--csv", "--xlsx", "--conversations", "--benchstat"}, ranks...)...)
		expectNoSecret(t, out, map[string]string{"stdout": stdout, "stderr": stderr})
	})

	t.Run("hostile text stays text", func(t *testing.T) {
		own, out := copied(t, ranks), t.TempDir()
		for _, path := range own {
			alter(t, path, rundir.ManifestFile, func(m map[string]any) {
				m["judging"].(map[string]any)["warnings"] = []any{hostileText}
				m["judging"].(map[string]any)["model"].(map[string]any)["mismatch"] = hostileText
				poisoned(m, "")
			})
			for _, name := range []string{rundir.ManifestFile, rundir.PhasesFile, rundir.ScheduleFile, rundir.RequestsFile, rundir.OutputsFile} {
				substitute(t, filepath.Join(path, name), rundir.PhaseMeasure, hostileText)
			}
		}
		code, stdout, stderr := invokeVerb(t, append([]string{"merge", "--out", out, "--csv", "--xlsx", "--conversations", "--benchstat"}, own...)...)
		if code != exitInvalid {
			t.Fatalf("exit %d: %s", code, stderr)
		}
		outputs := map[string]string{"stdout": stdout, "stderr": stderr}
		for _, name := range []string{"manifest.json", "phases.json", "summary.json", "report.md", "report.html", "requests.csv", "summary.csv", "results.txt"} {
			outputs[name] = text(t, out, "load", name)
		}
		expectHarmless(t, outputs)
		expectNoFormulaInWorkbook(t, filepath.Join(out, "load", rundir.WorkbookFile))
	})

	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		says  string
	}{
		"a name above the folder":  {manifest(func(m map[string]any) { m["rank"].(map[string]any)["of"] = "../../escaped" }), "--run-id"},
		"a name from the root":     {manifest(func(m map[string]any) { m["rank"].(map[string]any)["of"] = "/tmp/escaped" }), "--run-id"},
		"a name that is hidden":    {manifest(func(m map[string]any) { m["rank"].(map[string]any)["of"] = ".." }), "--run-id"},
		"a name of escapes":        {manifest(func(m map[string]any) { m["rank"].(map[string]any)["of"] = "\x1b[2J\u202e" }), "--run-id"},
		"a world without end":      {manifest(func(m map[string]any) { m["rank"].(map[string]any)["world"] = int64(math.MaxInt64) }), "world"},
		"a world as text":          {manifest(func(m map[string]any) { m["rank"].(map[string]any)["world"] = "2" }), "world"},
		"labels as a list":         {manifest(func(m map[string]any) { m["labels"] = []any{1} }), "labels"},
		"a judging of nothing":     {manifest(func(m map[string]any) { m["judging"] = nil }), "never began"},
		"an SLO of nothing":        {manifest(func(m map[string]any) { m["judging"].(map[string]any)["slo"] = hostileText }), "--slo"},
		"a start at the end":       {manifest(func(m map[string]any) { m["started_at"] = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }), "it started at "},
		"a start at the beginning": {manifest(func(m map[string]any) { m["started_at"] = time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC) }), "it started at "},
		"a manifest that waits":    {pipe(rundir.ManifestFile), "no regular file"},
		"records that wait":        {pipe(rundir.RequestsFile), "no regular file"},
		"telemetry that waits":     {pipe(rundir.TelemetryFile), "no regular file"},
		"a schedule of zeros":      {link(rundir.ScheduleFile, "/dev/zero"), "no regular file"},
		"records that are a folder": {func(t *testing.T, path string) {
			if err := os.Remove(filepath.Join(path, rundir.RequestsFile)); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(path, rundir.RequestsFile), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "no regular file"},
		"records of what is secret": {func(t *testing.T, path string) {
			key := filepath.Join(t.TempDir(), "key")
			overwrite(t, key, secrets["the file's key"]+"\n")
			link(rundir.RequestsFile, key)(t, path)
		}, "requests.jsonl is no regular file"},
		"records of another form": {lines(rundir.RequestsFile, `{"phase":1}`), "phase"},
		"telemetry that is text":  {lines(rundir.TelemetryFile, hostileText), "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			own, out := copied(t, ranks), t.TempDir()
			for _, path := range own {
				c.spoil(t, path)
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				code, stdout, stderr := invokeVerb(t, append([]string{"merge", "--out", filepath.Join(out, "a", "runs")}, own...)...)
				if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(stderr, "\n") != 1 || controls.MatchString(stdout+stderr) {
					t.Errorf("exit %d: %s", code, stderr)
				}
				if names := leaks(stdout + stderr); len(names) > 0 {
					t.Errorf("shows %v: %s", names, stderr)
				}
			}()
			select {
			case <-done:
			case <-time.After(20 * time.Second):
				t.Fatal("it does not end")
			}
			if left, err := filepath.Glob(filepath.Join(out, "a", "*", "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// manifest, pipe, link and lines are ways to spoil the folder of a rank.
func manifest(change func(map[string]any)) func(*testing.T, string) {
	return func(t *testing.T, path string) { alter(t, path, rundir.ManifestFile, change) }
}

func pipe(name string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.Remove(filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(path, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func link(name, to string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		if err := os.Remove(filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func lines(name, line string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		overwrite(t, filepath.Join(path, name), line+"\n")
	}
}
