package golden

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A summary is a function of its run folder. These are the exceptions, by kind of run: an exception that no longer is
// one fails the test.

// refused are kinds of which no summary is computed at all, with what is printed then.
var refused = map[string]string{
	// Recorded before the manifest had what the command's log and the files of --result held, why it stopped and what
	// was warned of.
	"record": "its load was not ours", "record-failed": "its load was not ours", "record-result": "its load was not ours",
}

// lost are fields that are not computed as they were when the folder lacks summary.json: these runs are from before the
// manifest had what was read of pages, logs and outputs when the run ended.
var lost = map[string][]string{
	"closed": {"memory.engine_reported"}, // of the file of --engine-log
	// Of the logs of the arms' processes, on a machine whose KV cache no page shows.
	"campaign":       {"kv", "machines", "memory.engine_reported", "memory.occupied_without_kv_bytes"},
	"conversations":  {"signals.reuse", "signals.ssd_offload", "signals.ssd_rehydrate"},
	"reuse":          {"checked", "signals.output_match", "signals.reuse", "signals.ssd_offload", "signals.ssd_rehydrate"},
	"demo-rehydrate": {"checked", "signals.output_match", "signals.reuse", "signals.ssd_offload", "signals.ssd_rehydrate"},
	"demo-wrong-kv":  {"checked", "invalid_reasons", "signals.output_match", "signals.reuse", "signals.ssd_offload", "signals.ssd_rehydrate", "valid"},
}

// TestSummariesAreComputedFromTheirFolders computes the summary of every golden folder anew, once with the summary that
// was written at the end of the run and once without it.
func TestSummariesAreComputedFromTheirFolders(t *testing.T) {
	t.Parallel()
	for _, path := range folders(t) {
		t.Run(named(path), func(t *testing.T) {
			t.Parallel()
			kind, _, _ := strings.Cut(named(path), ".")
			got, computed := recomputed(t, path, refused[kind])
			if computed && !slices.Equal(got, lost[kind]) {
				t.Errorf("without summary.json these fields are not computed as they were:\n%q\nthe exceptions are\n%q", got, lost[kind])
			}
		})
	}
}

// TestSummariesOfNewRunsAreComputedFromTheirFolders does the same with folders that are made now, and holds the pages that
// a run writes at its end to those that report makes of its folder.
func TestSummariesOfNewRunsAreComputedFromTheirFolders(t *testing.T) {
	t.Parallel()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	text, err := exec.CommandContext(t.Context(), own, "-make=closed,reuse,failures,record,record-result,record-failed,campaign,unserved", "-into="+out).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	seen := 0
	err = filepath.WalkDir(out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "manifest.json" {
			return err
		}
		seen++
		dir := filepath.Dir(path)
		redrawn(t, dir)
		if fields, _ := recomputed(t, dir, ""); len(fields) > 0 {
			t.Errorf("%s: without summary.json %q are not computed as they were", strings.TrimPrefix(dir, out+"/"), fields)
		}
		return nil
	})
	if err != nil || seen < 8 {
		t.Errorf("%d folders: %v", seen, err)
	}
}

// redrawn holds the pages in the folder of a run to what report makes of it.
func redrawn(t *testing.T, path string) {
	t.Helper()
	made := func(form string) string { return verb(t, "report", path, "--format="+form).done(t).stdout }
	same(t, path+"/report.md", made("md"), read(t, filepath.Join(path, "report.md")))
	same(t, path+"/report.html", htmlCells(t, made("html")), htmlCells(t, read(t, filepath.Join(path, "report.html"))))
}

// recomputed holds what is computed of the folder of a run to its summary, and returns the fields that differ if the
// folder lacks it. Of a kind that is refused nothing is computed.
func recomputed(t *testing.T, path, refusal string) (differing []string, computed bool) {
	t.Helper()
	written, err := os.ReadFile(filepath.Join(path, "summary.json"))
	if err != nil {
		return nil, false // it was killed
	}
	r := verb(t, "report", "--recompute", "--format=json", path)
	if refusal != "" {
		if r.code != 2 || !strings.Contains(r.stderr, refusal) {
			t.Errorf("computed anew it is %d, %s, and not refused with %q: an exception less?", r.code, r.stderr, refusal)
		}
		return nil, false
	}
	// A summary of an older form has, by today's names, the figures that are computed anew. Those that are new follow from
	// its ledger, unless telemetry lost lines of it.
	anew, shown := r.done(t).stdout, verb(t, "report", "--format=json", path).done(t).stdout
	same(t, path+": the summary computed beside the one that is there", before(t, anew), before(t, string(written)))
	same(t, path+": the summary that is there, and as it is shown", before(t, shown), before(t, string(written)))
	if has(shown, anew, `"pool_bytes"`) && has(shown, anew, `"growth"`) {
		same(t, path+": the summary as it is shown, and computed anew", shown, anew)
	}

	alone := copied(t, path, "summary.json", "report.html", "report.md")
	var was, is any
	if err := json.Unmarshal([]byte(before(t, shown)), &was); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(before(t, verb(t, "report", "--format=json", alone).done(t).stdout)), &is); err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	differences("", was, is, fields)
	return slices.Sorted(maps.Keys(fields)), true
}

// has reports whether a summary as it is shown has a field, if the one that is computed anew has it.
func has(shown, anew, field string) bool {
	return strings.Contains(shown, field) || !strings.Contains(anew, field)
}

// differences collects the fields in which two JSON values differ, to the second level.
func differences(path string, a, b any, into map[string]bool) {
	x, isObject := a.(map[string]any)
	y, both := b.(map[string]any)
	if isObject && both && strings.Count(path, ".") < 2 {
		for key := range maps.Keys(x) {
			differences(fmt.Sprintf("%s.%s", path, key), x[key], y[key], into)
		}
		for key := range maps.Keys(y) {
			differences(fmt.Sprintf("%s.%s", path, key), x[key], y[key], into)
		}
		return
	}
	if !reflect.DeepEqual(a, b) {
		into[strings.TrimPrefix(path, ".")] = true
	}
}
