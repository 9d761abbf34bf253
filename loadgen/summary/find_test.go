package summary

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// start is when the runs of the tests began.
var start = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// complete is a finished run of a name.
func complete(id string) Run {
	ended := start.Add(time.Minute)
	return Run{
		Manifest: rundir.Manifest{
			Schema: rundir.ManifestSchema, Run: id, Scenario: "standard", State: rundir.StateComplete, StartedAt: start, EndedAt: &ended,
			Labels: map[string]string{"arm": "a", "host": "spark1"},
		},
		Summary: Summary{
			Schema: Schema, Run: id, Scenario: "standard", Labels: map[string]string{"arm": "a", "host": "spark1"}, Valid: true,
		},
	}
}

// write makes the folder of a run.
func (r Run) write(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	f := rundir.Folder(path)
	if err := errors.Join(f.WriteJSON(rundir.ManifestFile, r.Manifest), f.WriteJSON(rundir.SummaryFile, r.Summary)); err != nil {
		t.Fatal(err)
	}
}

// filled sets everything in a value that a file can hold to something that is not zero.
func filled(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), depth)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(start))
			return
		}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && field.Tag.Get("json") != "-" {
				filled(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`1`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			filled(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		filled(key, depth+1)
		filled(value, depth+1)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(depth + 1))
	case reflect.Uint64:
		v.SetUint(uint64(depth + 1))
	case reflect.Float64:
		v.SetFloat(float64(depth) + 0.5)
	}
}

// TestASummaryIsReadWithoutLoss fills every member of a summary: what is written comes back.
func TestASummaryIsReadWithoutLoss(t *testing.T) {
	r := complete("r1")
	filled(reflect.ValueOf(&r.Summary).Elem(), 0)
	r.Summary.Schema, r.Summary.Run = Schema, "r1"
	path := filepath.Join(t.TempDir(), "r1")
	r.write(t, path)
	got, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Summary, r.Summary) {
		t.Errorf("read   %+v\nwanted %+v", got.Summary, r.Summary)
	}
	if !reflect.DeepEqual(got.Manifest, r.Manifest) {
		t.Errorf("read   %+v\nwanted %+v", got.Manifest, r.Manifest)
	}
}

func TestWhatIsNoFinishedRunIsRefusedByItsFolder(t *testing.T) {
	put := func(name, text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		is     error
		says   string
	}{
		"no folder of a run": {func(t *testing.T, path string) { remove(t, path, rundir.ManifestFile) }, nil, "it is no folder of a run: it has no manifest.json"},
		"killed":             {func(t *testing.T, path string) { remove(t, path, rundir.SummaryFile) }, ErrUnfinished, "goes on or was killed"},
		"half of a manifest": {put(rundir.ManifestFile, `{"schema":"umascope.manifest/1"`), nil, "manifest.json: unexpected end"},
		"another manifest":   {put(rundir.ManifestFile, `{"schema":"umascope.manifest/2","run":7}`), nil, `manifest.json: its form is "umascope.manifest/2" and not "umascope.manifest/1"`},
		"another summary":    {put(rundir.SummaryFile, `{"schema":"umascope.summary/9"}`), nil, `its form is "umascope.summary/9"`},
		"no form":            {put(rundir.SummaryFile, `{"run":"r1"}`), nil, `its form is "" and not "umascope.summary/2"`},
		"no summary at all":  {put(rundir.SummaryFile, `[]`), nil, "summary.json: json: cannot unmarshal array"},
		"another run's":      {put(rundir.SummaryFile, `{"schema":"umascope.summary/2","run":"r2"}`), nil, `its summary is of the run "r2" and its manifest of "r1"`},
		"a run without name": {put(rundir.ManifestFile, `{"schema":"umascope.manifest/1"}`), nil, "it names no run"},
		"a pipe": {func(t *testing.T, path string) {
			remove(t, path, rundir.SummaryFile)
			if err := unix.Mkfifo(filepath.Join(path, rundir.SummaryFile), 0o644); err != nil {
				t.Fatal(err)
			}
		}, nil, "summary.json is no regular file"},
		"too long": {func(t *testing.T, path string) {
			if err := os.Truncate(filepath.Join(path, rundir.SummaryFile), 64<<20+1); err != nil {
				t.Fatal(err)
			}
		}, nil, "summary.json is longer than 64 MiB"},
		"a rank": {func(t *testing.T, path string) {
			r := complete("r1")
			r.Manifest.Rank = &rundir.Share{Place: traffic.Place{Rank: 1, World: 4}}
			r.write(t, path)
		}, ErrShare, "merge the ranks"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "r1")
			complete("r1").write(t, path)
			c.change(t, path)
			_, err := Open(path)
			if err == nil || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v; want %q", err, c.says)
			}
		})
	}
}

func remove(t *testing.T, path, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(path, name)); err != nil {
		t.Fatal(err)
	}
}

// TestRunsAreFoundWhereverTheyLie: alone, in a folder of runs, a sweep, a campaign and a pack; each once,
// and nothing by way of a link.
func TestRunsAreFoundWhereverTheyLie(t *testing.T) {
	root := t.TempDir()
	at := func(path string) string { return filepath.Join(root, path) }
	for _, path := range []string{"runs/one", "runs/sweep/p1", "runs/sweep/p2", "campaign/runs/r1", "pack/runs/r9", "runs/one/inside", "runs/.import-1/half", "elsewhere/linked", "deep/1/2/3/4/5/6/7/8/9/r"} {
		complete(filepath.Base(path)).write(t, at(path))
	}
	for link, to := range map[string]string{"runs/link": "elsewhere", "alias": "pack"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct{ paths, want []string }{
		"one run":       {[]string{"runs/one"}, []string{"runs/one"}},
		"all of them":   {[]string{"runs"}, []string{"runs/one", "runs/sweep/p1", "runs/sweep/p2"}},
		"a sweep":       {[]string{"runs/sweep/"}, []string{"runs/sweep/p1", "runs/sweep/p2"}},
		"a campaign":    {[]string{"campaign"}, []string{"campaign/runs/r1"}},
		"a named link":  {[]string{"alias"}, []string{"alias/runs/r9"}},
		"each once":     {[]string{"runs/one", "runs", "pack", "alias"}, []string{"runs/one", "runs/sweep/p1", "runs/sweep/p2", "pack/runs/r9"}},
		"a linked runs": {[]string{"runs/link"}, []string{"runs/link/linked"}},
	} {
		var paths, want []string
		for _, path := range c.paths {
			paths = append(paths, root+"/"+path)
		}
		for _, path := range c.want {
			want = append(want, at(path))
		}
		if got, err := Find(paths); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for path, says := range map[string]string{"deep": "no folder of a run", "nowhere": "no such folder; uma-load run makes runs below runs", "runs/one/manifest.json": "it is no folder"} {
		if _, err := Find([]string{at("runs/one"), at(path)}); err == nil || !strings.Contains(err.Error(), at(path)) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestRunsAreLoadedInTheOrderOfTheirStart(t *testing.T) {
	root := t.TempDir()
	for i, id := range []string{"c", "a", "b"} {
		r := complete(id)
		r.Manifest.StartedAt = start.Add(time.Duration(i) * time.Hour)
		r.write(t, filepath.Join(root, id))
	}
	complete("killed").write(t, filepath.Join(root, "killed"))
	remove(t, filepath.Join(root, "killed"), rundir.SummaryFile)
	runs, skipped, err := Load([]string{root})
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.Manifest.Run)
	}
	if err != nil || !slices.Equal(ids, []string{"c", "a", "b"}) {
		t.Errorf("%q, %v", ids, err)
	}
	if len(skipped) != 1 || !errors.Is(skipped[0], ErrUnfinished) || !strings.Contains(skipped[0].Error(), filepath.Join(root, "killed")) {
		t.Errorf("%v", skipped)
	}
	complete("a").write(t, filepath.Join(root, "copy"))
	_, _, err = Load([]string{root})
	if err == nil || !strings.Contains(err.Error(), filepath.Join(root, "copy")) || !strings.Contains(err.Error(), filepath.Join(root, "a")) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("two runs of one name: %v", err)
	}
}

// cpuSeconds is the processor time of this process so far.
func cpuSeconds(b *testing.B) float64 {
	b.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

// BenchmarkLoad reads a thousand runs of the size that runs with telemetry have: summaries of some 90 KB.
// On a machine that does other things too, its processor time says more than the time that it took.
func BenchmarkLoad(b *testing.B) {
	root := b.TempDir()
	r := complete("r")
	filled(reflect.ValueOf(&r.Summary).Elem(), 0)
	r.Summary.Schema = Schema
	phase := r.Summary.Phases["x"]
	r.Summary.Phases = map[string]PhaseSummary{}
	for _, name := range []string{"load", "ready", "warmup", "measure", "stop"} {
		phase.Deltas = map[string]Delta{}
		for i := range 100 {
			phase.Deltas[fmt.Sprintf(`some_counter_%d_bytes_total{device="nvme0n1",op="read"}`, i)] = Delta{Delta: float64(i) * 1e6}
		}
		r.Summary.Phases[name] = phase
	}
	for i := range 1000 {
		id := fmt.Sprintf("r%04d", i)
		r.Manifest.Run, r.Summary.Run = id, id
		r.write(b, filepath.Join(root, id))
	}
	before, loops := cpuSeconds(b), 0
	for b.Loop() {
		loops++
		runs, _, err := Load([]string{root})
		if err != nil || len(runs) != 1000 {
			b.Fatal(len(runs), err)
		}
	}
	b.ReportMetric((cpuSeconds(b)-before)/float64(loops), "cpu-s/op")
}
