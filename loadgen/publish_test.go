package loadgen

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/publish"
	"github.com/umascope/umascope/loadgen/rundir"
)

// measured makes a run of each arm, in one folder.
func measured(t *testing.T, arms ...string) string {
	t.Helper()
	url, out := engine(t, time.Millisecond), t.TempDir()
	page, _ := exporter(t)
	for i, arm := range arms {
		succeeded(t, append([]string{
			"run", "--url", url, "--out", out, "--run-id", arm + string(rune('0'+i)), "--web.listen-address=127.0.0.1:0", "--requests=6", "--warmup=0", "--output-tokens=2",
			"--telemetry", "athena=" + page, "--telemetry-interval=250ms", "--validity=telemetry_lost=off", "--save-outputs", "--capture", "date=date",
			"--label=arm=" + arm, "--label=host=athena", "--header=X-Any:hunter2", "--seed=1",
		}, uncontended...)...)
	}
	return out
}

func TestRunsArePublishedAndVerified(t *testing.T) {
	t.Parallel()
	runs := measured(t, "native", "container", "native", "container")
	pack := filepath.Join(t.TempDir(), "pack")
	code, stdout, stderr := invokeVerb(t, "publish", runs, "--out", pack, "--title=Two arms", "--author=A. Tester")
	if code != exitDone || !strings.Contains(stdout, "4 runs in") || !strings.Contains(stdout, "left out of the runs: captures, outputs.jsonl") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := invokeVerb(t, "publish", "--verify", pack); code != exitDone || !strings.Contains(stdout, "as they were packed") {
		t.Errorf("verify: exit %d: %s%s", code, stdout, stderr)
	}
	for _, of := range [][]string{{"manifest.json"}, {"summary.json"}} {
		if content := text(t, append([]string{pack, "runs", "native0"}, of...)...); strings.Contains(content, "athena") || strings.Contains(content, "hunter2") || !strings.Contains(content, "\"host-") {
			t.Errorf("%v: %s", of, content)
		}
	}
	// Its files have the forms of all others.
	schemas := validators(t)
	for file, path := range map[string]string{
		publish.PackFile: filepath.Join(pack, publish.PackFile), rundir.ManifestFile: filepath.Join(pack, "runs", "native0", rundir.ManifestFile),
		rundir.SummaryFile: filepath.Join(pack, "runs", "native0", rundir.SummaryFile), rundir.PhasesFile: filepath.Join(pack, "runs", "native0", rundir.PhasesFile),
		compareOutput: filepath.Join(pack, publish.ComparisonJSON),
	} {
		for _, value := range documents(t, path) {
			if err := schemas[file].Validate(value); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	// The pack says what the runs say, to the letter where nothing was taken out.
	raw := filepath.Join(t.TempDir(), "raw")
	if code, _, stderr := invokeVerb(t, "publish", runs, "--out", raw, "--no-redact", "--with=outputs"); code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	compared := func(dir string) string {
		stdout, _ := succeeded(t, "compare", dir, "--by=arm", "--within=model", "--json")
		return stdout
	}
	want := compared(runs)
	if compared(raw) != want {
		t.Error("a comparison of the pack is another one")
	}
	if got := compared(pack); len(got) < 1000 || strings.Count(got, "verdict") != strings.Count(want, "verdict") {
		t.Errorf("%s", got)
	}
	// A file that changed is found, and the pack is replaced.
	overwrite(t, filepath.Join(pack, publish.RunsFile), "x")
	if code, stdout, stderr := invokeVerb(t, "publish", "--verify", pack); code != exitFailed || !strings.Contains(stdout, publish.RunsFile) || !strings.Contains(stderr, "1 file is not as it was packed") {
		t.Errorf("verify: exit %d: %s", code, stdout)
	}
	if code, _, stderr := invokeVerb(t, "publish", runs, "--out", pack); code != exitDone {
		t.Errorf("again: exit %d: %s", code, stderr)
	}
}

// hiddenFlags are the flags of runs of whose values a pack shows figures only.
var hiddenFlags = []string{
	"api-key-file", "ca-file", "header", "capture", "container", "engine-log", "extra-body", "out", "result", "run-id", "stop", "trace", "url", "web.listen-address", "web.allow-host", "web.config.file", "telemetry-config",
	"before", "after", "grace", "telemetry-interval", "requests", "duration", "warmup", "ramp", "seed", "rank", "world", "start-at", "clients", "active-conversations",
	"max-turns", "reset-prefix-cache", "burstiness", "fit-pressure", "force", "temperature", "top-p", "request-seed", "no-stream", "request-timeout", "first-token-timeout",
	"chunk-timeout", "wait-ready", "ready-consecutive", "prompt-ids", "max-input-tokens", "token-margin", "clip", "shared-prefix-tokens", "ignore-eos",
	"web.linger", "save-outputs", "save-prompts", "xlsx", "csv", "conversations", "benchstat", "verbose", "print-content", "progress", "tolerance", "pause", "stop-error-rate",
	"same-prompts", "repeat-of", "resume",
}

// TestEveryFlagOfARunIsShownOrHidden in packs: a new one is added to publish.ShownFlags or to hiddenFlags.
func TestEveryFlagOfARunIsShownOrHidden(t *testing.T) {
	line := newCommandLine(&strings.Builder{})
	for _, verb := range []string{line.run.FullCommand(), line.sweep.FullCommand(), line.record.verb.FullCommand()} {
		for _, f := range line.app.GetCommand(verb).Model().Flags {
			if slices.Contains(publish.ShownFlags(), f.Name) == slices.Contains(hiddenFlags, f.Name) {
				t.Errorf("%s --%s: add it to publish.ShownFlags or to hiddenFlags", verb, f.Name)
			}
		}
	}
}

func TestPublishRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	root := oldRuns(t, 1)
	mine := t.TempDir()
	overwrite(t, filepath.Join(mine, "mine"), "")
	out := filepath.Join(t.TempDir(), "pack")
	for says, args := range map[string][]string{
		"folders of runs":   {"--out", out},
		"--out":             {root},
		mine:                {root, "--out", mine},
		"no folder of a":    {mine, "--out", out},
		"--keep":            {root, "--out", out, "--keep=hosts"},
		"--by: no run":      {root, "--out", out, "--by=colour"},
		"--license":         {root, "--out", out, "--license=what ever"},
		"--with":            {root, "--out", out, "--with=everything"},
		"--no-redact keeps": {root, "--out", out, "--keep=host", "--no-redact"},
		"pack.json":         {"--verify", mine},
		"lies in " + root:   {root, "--out", filepath.Join(root, "pack")},
		"takes no folders":  {"--verify", mine, root},
	} {
		code, _, stderr := invokeVerb(t, append([]string{"publish"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d: %s", args, code, stderr)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(out)); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if err := os.Remove(filepath.Join(root, "a", rundir.SummaryFile)); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := invokeVerb(t, "publish", root, "--out", out); code != exitUsage || !strings.Contains(stderr, "no run that is finished") {
		t.Errorf("unfinished: exit %d: %s", code, stderr)
	}
}
