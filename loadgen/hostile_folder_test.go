package loadgen

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/publish"
	"github.com/umascope/umascope/loadgen/rundir"
)

// outside is the content of files that no folder of runs has.
const outside = "content-from-outside-1234"

// withHostileFolders adds to a folder of runs what somebody may put there: each case changes a copy of the first run,
// which has a name of its own. It returns what is left out of the runs, by the path in the folder.
func withHostileFolders(t *testing.T, runs string) []string {
	t.Helper()
	secret := filepath.Join(t.TempDir(), "secret")
	overwrite(t, secret, outside)
	instead := func(name string, with func(path string) error) func(dir string) error {
		return func(dir string) error {
			path := filepath.Join(dir, name)
			return errors.Join(os.Remove(path), with(path))
		}
	}
	link := func(to string) func(string) error { return func(path string) error { return os.Symlink(to, path) } }
	pipe := func(path string) error { return unix.Mkfifo(path, 0o600) }
	huge := func(path string) error {
		return errors.Join(os.WriteFile(path, []byte("{"), 0o600), os.Truncate(path, 1<<40)) // sparse
	}
	var bad []string
	number := 0
	for name, change := range map[string]func(string) error{
		"manifest is a pipe":          instead(rundir.ManifestFile, pipe),
		"manifest is a link":          instead(rundir.ManifestFile, link(secret)),
		"manifest is a device":        instead(rundir.ManifestFile, link("/dev/zero")),
		"manifest is a folder":        instead(rundir.ManifestFile, func(path string) error { return os.Mkdir(path, 0o700) }),
		"manifest is a terabyte":      instead(rundir.ManifestFile, huge),
		"summary is a pipe":           instead(rundir.SummaryFile, pipe),
		"summary is a link":           instead(rundir.SummaryFile, link(secret)),
		"summary is a terabyte":       instead(rundir.SummaryFile, huge),
		"odd \n\x1b[31m\xff=cmd|name": instead(rundir.SummaryFile, pipe),
	} {
		dir := filepath.Join(runs, name)
		if err := os.CopyFS(dir, os.DirFS(first(t, runs))); err != nil {
			t.Fatal(err)
		}
		number++
		alter(t, dir, rundir.ManifestFile, func(m map[string]any) { m["run"] = "hostile-" + string(rune('a'+number)) })
		if err := change(dir); err != nil {
			t.Fatal(err)
		}
		bad = append(bad, dir)
	}
	deep := filepath.Join(runs, strings.Repeat("d/", 200))
	odd := filepath.Join(first(t, runs), "a\nb\x1b[2J")
	if err := errors.Join(
		os.MkdirAll(deep, 0o700), os.CopyFS(filepath.Join(deep, "run"), os.DirFS(first(t, runs))), // too deep to be found
		os.Symlink(filepath.Dir(secret), filepath.Join(runs, "link to a folder")), os.Symlink(".", filepath.Join(runs, "circle")),
		unix.Mkfifo(filepath.Join(runs, "pipe"), 0o600),
		// In the folder of a good run: none of it is a file of a run.
		os.WriteFile(odd, []byte(outside), 0o600), unix.Mkfifo(filepath.Join(first(t, runs), "pipe"), 0o600),
		os.Symlink(secret, filepath.Join(first(t, runs), "link")), os.Symlink("/dev/zero", filepath.Join(first(t, runs), rundir.OutputsFile)),
		os.MkdirAll(filepath.Join(first(t, runs), rundir.LogsFolder, strings.Repeat("e/", 50)), 0o700),
		os.Symlink(secret, filepath.Join(first(t, runs), rundir.LogsFolder, "engine.log")),
	); err != nil {
		t.Fatal(err)
	}
	return bad
}

func TestHostileFoldersCostThemselvesAloneAndNothingOutsideIsReadOrWritten(t *testing.T) {
	t.Parallel()
	runs := importPublished(t)
	_, want, _ := invokeVerb(t, "report", runs)
	bad := withHostileFolders(t, runs)
	code, stdout, stderr := invokeVerb(t, "report", runs)
	if code != 0 || stdout != want {
		t.Errorf("report: exit %d, another output than before: %s%s", code, stdout, stderr)
	}
	for _, dir := range bad {
		if !strings.Contains(stderr, printable(dir)) && !strings.Contains(stdout, printable(dir)) {
			t.Errorf("report does not name %q: %s", dir, stderr)
		}
	}
	if code, _, stderr := invokeVerb(t, "compare", runs, "--by=arm"); code != 0 {
		t.Errorf("compare: exit %d: %s", code, stderr)
	}
	if code, stdout, stderr := invokeVerb(t, "runs", "list", "--runs", runs); code != 0 || strings.Contains(stdout, "\x1b") {
		t.Errorf("runs list: exit %d: %q%s", code, stdout, stderr)
	}
	for _, with := range [][]string{nil, {"--with=logs,outputs"}} {
		parent := t.TempDir()
		out := filepath.Join(parent, "pack")
		code, stdout, stderr := invokeVerb(t, append([]string{"publish", runs, "--out", out}, with...)...)
		if code != 0 || strings.Contains(stdout+stderr, "\x1b") {
			t.Errorf("publish %q: exit %d: %q", with, code, stdout+stderr)
			continue
		}
		holdsOnlyItsOwn(t, parent, out)
		if code, stdout, stderr := invokeVerb(t, "publish", "--verify", out); code != 0 {
			t.Errorf("verify %q: exit %d: %s%s", with, code, stdout, stderr)
		}
	}
}

// holdsOnlyItsOwn checks that a pack is all that was written, that it has regular files only, and nothing from outside.
func holdsOnlyItsOwn(t *testing.T, parent, out string) {
	t.Helper()
	err := filepath.WalkDir(parent, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case !strings.HasPrefix(path, out+"/") || !entry.Type().IsRegular():
			t.Errorf("%s, %s", path, entry.Type())
			return nil
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), outside) {
			t.Errorf("%s has the content of a file outside", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAHostilePackIsNamedAndNeitherFollowedNorWaitedFor(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	overwrite(t, secret, outside)
	for name, c := range map[string]struct {
		change func(pack string) error
		says   string
	}{
		"a list that is a pipe": {func(pack string) error {
			return errors.Join(os.Remove(filepath.Join(pack, publish.PackFile)), unix.Mkfifo(filepath.Join(pack, publish.PackFile), 0o600))
		}, "is no regular file"},
		"a list that is a link": {func(pack string) error {
			return errors.Join(os.Remove(filepath.Join(pack, publish.PackFile)), os.Symlink(secret, filepath.Join(pack, publish.PackFile)))
		}, "is a link"},
		"a file that is a pipe": {func(pack string) error {
			return errors.Join(os.Remove(filepath.Join(pack, publish.RunsFile)), unix.Mkfifo(filepath.Join(pack, publish.RunsFile), 0o600))
		}, publish.RunsFile},
		"a file that is a link outside": {func(pack string) error {
			return errors.Join(os.Remove(filepath.Join(pack, publish.RunsFile)), os.Symlink(secret, filepath.Join(pack, publish.RunsFile)))
		}, publish.RunsFile},
		"a path out of the pack": {func(pack string) error {
			path := filepath.Join(pack, publish.PackFile)
			text, err := os.ReadFile(path)
			changed := strings.Replace(string(text), `"path": "`+publish.RunsFile+`"`, `"path": "../`+filepath.Base(secret)+`"`, 1)
			return errors.Join(err, os.WriteFile(path, []byte(changed), 0o600), os.WriteFile(filepath.Join(filepath.Dir(pack), "secret"), []byte(outside), 0o600))
		}, "../secret is missing"},
		"a file more": {func(pack string) error { return os.WriteFile(filepath.Join(pack, "x\x1b[31m\n.html"), nil, 0o600) }, "is not of the pack"},
	} {
		out := filepath.Join(t.TempDir(), "pack")
		if code, _, stderr := invokeVerb(t, "publish", importPublished(t), "--out", out); code != 0 {
			t.Fatalf("%s: %s", name, stderr)
		}
		if err := c.change(out); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := invokeVerb(t, "publish", "--verify", out)
		if code == 0 || !strings.Contains(stdout+stderr, c.says) || strings.Contains(stdout+stderr, outside) || strings.Contains(stdout+stderr, "\x1b") {
			t.Errorf("%s: exit %d: %q", name, code, stdout+stderr)
		}
	}
}
