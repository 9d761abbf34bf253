package loadgen

import (
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// foreignLine is in files that links of damaged runs lead to. It begins as one of our files does.
const foreignLine = "root:$6$secret-9c51e0b7a2"

// damage is what is wrong with a run, by its folder.
var damage = map[string]func(t *testing.T, dir, foreign string){
	"summary is a link": func(t *testing.T, dir, foreign string) { linkTo(t, foreign, filepath.Join(dir, "summary.json")) },
	"manifest is a link": func(t *testing.T, dir, foreign string) {
		linkTo(t, foreign, filepath.Join(dir, "manifest.json"))
	},
	"manifest is no JSON": func(t *testing.T, dir, _ string) { overwrite(t, filepath.Join(dir, "manifest.json"), "{") },
	"summary is cut":      func(t *testing.T, dir, _ string) { cutShort(t, filepath.Join(dir, "summary.json")) },
	"summary is a folder": func(t *testing.T, dir, _ string) {
		if err := os.Remove(filepath.Join(dir, "summary.json")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(dir, "summary.json"), 0o755); err != nil {
			t.Fatal(err)
		}
	},
}

// damagedFiles is what publish alone reads.
var damagedFiles = map[string]func(t *testing.T, dir, foreign string){
	"requests are a link": func(t *testing.T, dir, foreign string) {
		linkTo(t, foreign, filepath.Join(dir, "requests.jsonl"))
		packTo(t, filepath.Join(dir, "requests.jsonl.gz"), "{}\n") // which makes the other one looked at
	},
	"requests are no records": func(t *testing.T, dir, _ string) { overwrite(t, filepath.Join(dir, "requests.jsonl"), "no JSON\n") },
	"telemetry is not packed": func(t *testing.T, dir, _ string) {
		overwrite(t, filepath.Join(dir, "telemetry.jsonl.gz"), "no gzip")
	},
}

func linkTo(t *testing.T, to, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
}

func cutShort(t *testing.T, path string) {
	t.Helper()
	overwrite(t, path, text(t, path)[:200])
}

func packTo(t *testing.T, path, content string) {
	t.Helper()
	var packed strings.Builder
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(content)); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	overwrite(t, path, packed.String())
}

// withDamage copies the recorded runs and damages one of them in each of the ways. It returns the folder and how many runs
// are sound.
func withDamage(t *testing.T, ways map[string]func(t *testing.T, dir, foreign string)) (dir string, sound int) {
	t.Helper()
	dir = t.TempDir()
	recorded, err := filepath.Glob("testdata/reading/*")
	if err != nil || len(recorded) == 0 {
		t.Fatal(recorded, err)
	}
	for _, run := range recorded {
		if err := os.CopyFS(filepath.Join(dir, filepath.Base(run)), os.DirFS(run)); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(t.TempDir(), "shadow")
	overwrite(t, foreign, `{"schema":"`+foreignLine+`","run":"`+foreignLine+`"}`+"\n"+foreignLine+"\n")
	for name, does := range ways {
		to := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.CopyFS(to, os.DirFS(recorded[0])); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"manifest.json", "summary.json"} { // each run has a name of its own
			content := text(t, to, file)
			overwrite(t, filepath.Join(to, file), strings.ReplaceAll(content, filepath.Base(recorded[0]), filepath.Base(to)))
		}
		does(t, to, foreign)
	}
	return dir, len(recorded)
}

// leftOut checks that each damaged run is named in a line of its own, with a reason.
func leftOut(t *testing.T, stderr string, ways map[string]func(t *testing.T, dir, foreign string)) {
	t.Helper()
	for name := range ways {
		name = strings.ReplaceAll(name, " ", "-")
		found := false
		for line := range strings.Lines(stderr) {
			_, why, named := strings.Cut(line, name+": ")
			found = found || named && strings.HasPrefix(line, "uma-load: left out: ") && len(why) > len("x\n")
		}
		if !found {
			t.Errorf("%s is not left out by name: %s", name, stderr)
		}
	}
}

func TestADamagedRunIsLeftOutByName(t *testing.T) {
	dir, _ := withDamage(t, damage)
	for verb, args := range map[string][]string{
		"compare": {"compare", dir, "--by=arm", "--within=scenario", "--allow-different-workload"},
		"report":  {"report", dir},
	} {
		code, stdout, stderr := invokeVerb(t, args...)
		if code != exitDone {
			t.Errorf("%s: exit %d: %s", verb, code, stderr)
		}
		leftOut(t, stderr, damage)
		if strings.Contains(stdout+stderr, foreignLine[:8]) {
			t.Errorf("%s shows what a link leads to: %s%s", verb, stdout, stderr)
		}
	}
}

func TestARunWithDamagedTelemetryIsLeftOutOfAPageOfRuns(t *testing.T) {
	ways := map[string]func(t *testing.T, dir, foreign string){"telemetry is not packed": damagedFiles["telemetry is not packed"]}
	dir, sound := withDamage(t, ways)
	page := filepath.Join(t.TempDir(), "page.html")
	_, stderr := succeeded(t, "report", dir, "--format=html", "--out="+page)
	leftOut(t, stderr, ways)
	if content := text(t, page); strings.Contains(content, "telemetry-is-not-packed") || !strings.Contains(content, fmt.Sprintf("All %d runs are valid.", sound)) {
		t.Errorf("the page has the damaged run, or lacks a sound one")
	}

	paths, err := summary.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var runs []summary.Run
	for _, one := range summary.OpenAll(paths) {
		runs = append(runs, one.Run)
	}
	var notices strings.Builder
	of := rundir.Folder(t.TempDir())
	if err := writeRunsPage(of, compare.Comparison{}, runs, &notices); err != nil || len(runs) != sound+1 {
		t.Errorf("the page of a campaign of %d runs: %v", len(runs), err)
	}
	leftOut(t, notices.String(), ways)
}

func TestADamagedRunIsInNoPack(t *testing.T) {
	ways := map[string]func(t *testing.T, dir, foreign string){}
	for _, some := range []map[string]func(t *testing.T, dir, foreign string){damage, damagedFiles} {
		for name, does := range some {
			ways[name] = does
		}
	}
	dir, sound := withDamage(t, ways)
	out := filepath.Join(t.TempDir(), "pack")
	code, stdout, stderr := invokeVerb(t, "publish", dir, "--out="+out, "--within=scenario", "--allow-different-workload")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	leftOut(t, stderr, ways)
	if runs, err := os.ReadDir(filepath.Join(out, "runs")); err != nil || len(runs) != sound {
		t.Errorf("%d runs in the pack, want %d: %v", len(runs), sound, err)
	}
	everything(t, out, func(name, content string) {
		if strings.Contains(content, foreignLine[:8]) {
			t.Errorf("%s holds what a link leads to", name)
		}
	})
	if strings.Contains(stdout+stderr, foreignLine[:8]) {
		t.Errorf("what a link leads to is shown: %s%s", stdout, stderr)
	}
	if code, _, stderr := invokeVerb(t, "publish", "--verify", out); code != exitDone {
		t.Errorf("verify: exit %d: %s", code, stderr)
	}
}

func TestWithoutASoundRunNothingIsCompared(t *testing.T) {
	dir, _ := withDamage(t, map[string]func(t *testing.T, dir, foreign string){"cut": damage["summary is cut"]})
	for _, args := range [][]string{{"compare", filepath.Join(dir, "cut"), "--by=arm"}, {"publish", filepath.Join(dir, "cut"), "--out=" + filepath.Join(dir, "pack")}} {
		code, _, stderr := invokeVerb(t, args...)
		if code != exitUsage || !strings.Contains(stderr, "left out: "+filepath.Join(dir, "cut")+": ") || !strings.Contains(stderr, "no run that is finished") {
			t.Errorf("%s: exit %d: %s", args[0], code, stderr)
		}
	}
}

// TestARunThatIsGoneMeanwhileIsLeftOutOfAReport names a folder that was found and is no more.
func TestARunThatIsGoneMeanwhileIsLeftOutOfAReport(t *testing.T) {
	dir, _ := withDamage(t, nil)
	paths, err := summary.Find([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(paths[1]); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	line := reportLine{folders: []string{dir}}
	if err := line.reportGroup(&stdout, &stderr, paths); err != nil {
		t.Fatal(err)
	}
	if want := "uma-load: left out: " + paths[1] + ": it is no folder of a run"; !strings.HasPrefix(stderr.String(), want) || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("%q", stderr.String())
	}
	if !strings.Contains(stdout.String(), fmt.Sprintf("All %d runs are valid.", len(paths)-1)) {
		t.Errorf("%s", stdout.String())
	}
}
