package loadgen

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

func listed(t *testing.T, root string) map[string]rundir.Entry {
	t.Helper()
	stdout, _ := succeeded(t, "runs", "list", "--json", "--runs", root)
	var all []rundir.Entry
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	byRun := map[string]rundir.Entry{}
	for _, e := range all {
		byRun[e.Run] = e
	}
	return byRun
}

// TestARunWritesNothingThatPruneDoesNotKnow: a file that is new is named in package rundir, or runs with it
// are never pruned.
func TestARunWritesNothingThatPruneDoesNotKnow(t *testing.T) {
	t.Parallel()
	page, _ := exporter(t)
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=4", "--warmup=0", "--output-tokens=2", "--label=arm=a",
		"--telemetry", "spark="+page, "--telemetry-interval=250ms", "--validity=telemetry_lost=off", "--save-outputs", "--xlsx", "--csv", "--conversations", "--benchstat", "--capture", "date=date")
	e := listed(t, filepath.Dir(dir))["r1"]
	if len(e.Foreign) > 0 || e.State != rundir.EntryFinished || e.Valid == nil || !*e.Valid || e.Arm != "a" || e.Model != "simulated-8b" || e.Bytes == 0 || e.StartedAt == nil {
		t.Errorf("%+v", e)
	}
}

// oldRuns are runs of months ago.
func oldRuns(t *testing.T, n int) string {
	t.Helper()
	root := t.TempDir()
	for i := range n {
		start := time.Now().Add(-time.Duration(60+i) * 24 * time.Hour).UTC()
		id := string(rune('a' + i))
		f, err := rundir.New(root, id)
		if err != nil {
			t.Fatal(err)
		}
		manifest := `{"schema":"umascope.manifest/1","run":"` + id + `","state":"complete","started_at":"` + start.Format(time.RFC3339) + `"}`
		for name, text := range map[string]string{rundir.ManifestFile: manifest, rundir.SummaryFile: `{"schema":"umascope.summary/2","run":"` + id + `","valid":true}`} {
			overwrite(t, f.Path(name), text)
		}
	}
	return root
}

func TestPruneSaysWhatGoesBeforeItGoes(t *testing.T) {
	root := oldRuns(t, 4)
	if code, _, stderr := invokeVerb(t, "runs", "pin", "--runs", root, "d"); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	code, stdout, stderr := invokeVerb(t, "runs", "prune", "--runs", root, "--keep=1", "--older-than=30d")
	if code != exitDone || !strings.Contains(stdout, "2 of 4 runs go") || !strings.Contains(stdout, "pinned") || !strings.Contains(stderr, "--yes") || len(listed(t, root)) != 4 {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	code, _, stderr = invokeVerb(t, "runs", "prune", "--runs", root, "--keep=1", "--older-than=30d", "--yes")
	if left := listed(t, root); code != exitDone || len(left) != 2 || left["a"].Run == "" || !left["d"].Pinned {
		t.Errorf("exit %d: %s; left %v", code, stderr, left)
	}
	if code, _, _ := invokeVerb(t, "runs", "unpin", filepath.Join(root, "d")); code != exitDone || listed(t, root)["d"].Pinned {
		t.Error("it is pinned still")
	}
}

func TestTarBringsAnArchiveBack(t *testing.T) {
	root := oldRuns(t, 2)
	to := filepath.Join(t.TempDir(), "old.tar.gz")
	code, stdout, stderr := invokeVerb(t, "runs", "archive", "--runs", root, "a", filepath.Join(root, "b"), "--to", to, "--delete")
	if code != exitDone || len(listed(t, root)) != 0 {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if out, err := exec.CommandContext(t.Context(), "tar", "-xzf", to, "-C", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if all := listed(t, root); len(all) != 2 || all["a"].State != rundir.EntryFinished {
		t.Errorf("%v", all)
	}
}

func TestARunThatMayGoOnIsNeitherPrunedNorArchived(t *testing.T) {
	root := oldRuns(t, 1)
	manifest := filepath.Join(root, "a", rundir.ManifestFile)
	if err := os.Remove(filepath.Join(root, "a", rundir.SummaryFile)); err != nil {
		t.Fatal(err)
	}
	running := strings.Replace(text(t, manifest), `"complete"`, `"running"`, 1)
	overwrite(t, manifest, running)
	code, stdout, _ := invokeVerb(t, "runs", "prune", "--runs", root, "--keep=0", "--yes")
	if code != exitDone || !strings.Contains(stdout, "goes on") || listed(t, root)["a"].State != rundir.EntryRunning {
		t.Errorf("exit %d: %s", code, stdout)
	}
	code, _, stderr := invokeVerb(t, "runs", "archive", "--runs", root, "a", "--to", filepath.Join(root, "x.tar.gz"), "--delete")
	if code != exitUsage || !strings.Contains(stderr, "goes on") || len(listed(t, root)) != 1 {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestRunsRefusesWhatItDoesNotFind(t *testing.T) {
	root := oldRuns(t, 1)
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for says, args := range map[string][]string{
		"none":       {"list", "--runs", filepath.Join(root, "none")},
		"empty":      {"pin", "--runs", root, "empty"},
		"nowhere":    {"archive", "--runs", root, "nowhere", "--to", "x.tar.gz"},
		".tar.gz":    {"archive", "--runs", root, "a", "--to", filepath.Join(root, "x.zip")},
		"--to: stat": {"archive", "--runs", root, "a", "--to", filepath.Join(root, "none", "x.tar.gz")},
		"--keep":     {"prune", "--runs", root},
		"older-than": {"prune", "--runs", root, "--older-than=0d"},
		"--to":       {"archive", "--runs", root, "a"},
		"a folder":   {"pin", root},
	} {
		code, _, stderr := invokeVerb(t, append([]string{"runs"}, args...)...)
		if says == "a folder" {
			says = "no folder of a run"
		}
		if code != exitUsage || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
	if code, stdout, _ := invokeVerb(t, "runs", "list", "--runs", filepath.Join(root, "empty")); code != exitDone || !strings.Contains(stdout, "0 runs") {
		t.Errorf("an empty folder: exit %d: %s", code, stdout)
	}
}
