package rundir

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var now = time.Now()

// put writes files below a folder, by their paths.
func put(t *testing.T, dir string, files ...string) string {
	t.Helper()
	for _, path := range files {
		full := filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte("content of "+path), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// age sets back when everything below a folder was written.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, now.Add(-by), now.Add(-by)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// entry is a finished run of some days ago.
func entry(t *testing.T, root, name string, days int, state EntryState, more ...string) Entry {
	t.Helper()
	dir := put(t, filepath.Join(root, name), append([]string{ManifestFile, SummaryFile, LogsFolder + "/engine.log"}, more...)...)
	age(t, dir, time.Duration(days)*24*time.Hour)
	start := now.Add(-time.Duration(days) * 24 * time.Hour)
	e := Entry{Run: filepath.Base(name), Path: dir, StartedAt: &start, State: state}
	if err := e.Measure(root, now); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTheNewestAndWhatMustStayAreKept(t *testing.T) {
	root := t.TempDir()
	all := []Entry{
		entry(t, root, "new", 1, EntryFinished), entry(t, root, "second", 2, EntryFinished), entry(t, root, "third", 3, EntryFinished), entry(t, root, "old", 40, EntryFinished),
		entry(t, root, "killed", 50, EntryUnfinished), entry(t, root, "going", 0, EntryUnfinished), entry(t, root, "pinned", 60, EntryFinished, PinFile),
		entry(t, root, "notes", 60, EntryFinished, "notes.txt"), entry(t, root, "deep", 60, EntryFinished, "logs/deep/x.log"), entry(t, root, "sweep/point", 60, EntryFinished),
		entry(t, root, "damaged", 60, EntryUnreadable),
	}
	link := filepath.Join(root, "linked")
	put(t, link, ManifestFile)
	if err := os.Symlink("/etc/hostname", filepath.Join(link, SummaryFile)); err != nil {
		t.Fatal(err)
	}
	all = append(all, entry(t, root, "linked", 0, EntryFinished))
	goes := func(r RetentionRule) string {
		var names []string
		for _, c := range r.Choose(all, now) {
			if c.Goes {
				names = append(names, c.Run)
			}
			if c.Why == "" {
				t.Errorf("%s: no reason", c.Run)
			}
		}
		return strings.Join(names, " ")
	}
	for _, c := range []struct {
		rule RetentionRule
		want string
	}{
		{RetentionRule{Keep: 2}, "third old killed"}, {RetentionRule{Keep: 0}, "new second third old killed"}, {RetentionRule{Keep: -1, OlderThan: 30 * 24 * time.Hour}, "old killed"},
		{RetentionRule{Keep: 4, OlderThan: 24 * time.Hour}, "killed"}, {RetentionRule{Keep: -1}, ""}, {RetentionRule{Keep: 100}, ""},
	} {
		if got := goes(c.rule); got != c.want {
			t.Errorf("%+v: %s", c.rule, got)
		}
	}
}

func TestARunOfASweepIsKeptWhereverItIsLookedFor(t *testing.T) {
	root := t.TempDir()
	put(t, root, CampaignFile)
	if e := entry(t, root, "point", 60, EntryFinished); e.Group == "" {
		t.Error("a run in the folder of a sweep is of no group")
	}
}

func TestWhatWasWrittenIntoSinceIsNotRemoved(t *testing.T) {
	root := t.TempDir()
	choose := func(e Entry) RetentionChoice { return RetentionRule{Keep: 0}.Choose([]Entry{e}, now)[0] }
	c := choose(entry(t, root, "a", 60, EntryFinished))
	put(t, c.Path, "notes.txt")
	if err := c.Remove(now); err == nil || !strings.Contains(err.Error(), "just now") {
		t.Errorf("error %v", err)
	}
	c = choose(entry(t, root, "b", 60, EntryFinished))
	if err := Pin(c.Path); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(now); err == nil {
		t.Error("a run that was pinned meanwhile is gone")
	}
	c = choose(entry(t, root, "c", 60, EntryFinished))
	if err := c.Remove(now); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 2 {
		t.Errorf("left: %v %v", entries, err)
	}
}

func TestAPinIsPutInAndTakenOut(t *testing.T) {
	root := t.TempDir()
	e := entry(t, root, "a", 1, EntryFinished)
	if err := errors.Join(Pin(e.Path), Pin(e.Path)); err != nil {
		t.Fatal(err)
	}
	if e.Measure(root, now); !e.Pinned || len(e.Foreign) > 0 {
		t.Errorf("%+v", e)
	}
	if err := errors.Join(Unpin(e.Path), Unpin(e.Path)); err != nil {
		t.Fatal(err)
	}
}

func TestAnArchiveGivesEverythingBack(t *testing.T) {
	root := t.TempDir()
	a, b := entry(t, root, "a", 1, EntryFinished, "notes of mine.txt"), entry(t, root, "b", 2, EntryFinished)
	to := filepath.Join(t.TempDir(), "old.tar.gz")
	n, err := ArchiveRuns(t.Context(), []string{a.Path, b.Path}, to)
	if err != nil || n != 11 {
		t.Fatalf("%d files, %v", n, err)
	}
	if err := RemoveArchived(t.Context(), []string{a.Path, b.Path}, to); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 0 {
		t.Fatalf("left: %v %v", entries, err)
	}
	file, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || header.Uname != "" || header.Uid != 0 {
			t.Fatalf("%+v %v", header, err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		found[header.Name] = string(text)
		if header.Typeflag == tar.TypeReg && (header.Mode != 0o640 || header.ModTime.After(now.Add(-time.Hour))) {
			t.Errorf("%s: mode %o, %s", header.Name, header.Mode, header.ModTime)
		}
	}
	if len(found) != n || found["a/notes of mine.txt"] != "content of notes of mine.txt" || found["b/logs/engine.log"] == "" {
		t.Errorf("%v", found)
	}
}

func TestAnArchiveThatCannotBeTrustedRemovesNothing(t *testing.T) {
	root := t.TempDir()
	a := entry(t, root, "a", 1, EntryFinished)
	to := filepath.Join(t.TempDir(), "old.tar.gz")
	if _, err := ArchiveRuns(t.Context(), []string{a.Path}, to); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(){
		"a file that changed": func() { put(t, a.Path, SummaryFile+".new") },
		"a file that went":    func() { os.Remove(filepath.Join(a.Path, SummaryFile)) },
		"a damaged archive":   func() { os.WriteFile(to, append([]byte{}, whole[:len(whole)/2]...), 0o644) },
		"no archive":          func() { os.Remove(to) },
		"other content": func() {
			os.WriteFile(filepath.Join(a.Path, SummaryFile), []byte("content of summary.jsoN"), 0o644)
		},
	} {
		put(t, a.Path, ManifestFile, SummaryFile)
		os.Remove(filepath.Join(a.Path, SummaryFile+".new"))
		if err := os.WriteFile(to, whole, 0o644); err != nil {
			t.Fatal(err)
		}
		spoil()
		if err := RemoveArchived(t.Context(), []string{a.Path}, to); err == nil {
			t.Errorf("%s: it was removed", what)
		}
		if _, err := os.Stat(filepath.Join(a.Path, ManifestFile)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func TestAnArchiveIsWholeOrNotThere(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	a := entry(t, root, "a", 1, EntryFinished)
	other := put(t, filepath.Join(t.TempDir(), "a"), ManifestFile)
	linked := put(t, filepath.Join(root, "linked"), ManifestFile)
	if err := os.Symlink("/etc/hostname", filepath.Join(linked, "link")); err != nil {
		t.Fatal(err)
	}
	there := filepath.Join(out, "there.tar.gz")
	put(t, out, "there.tar.gz")
	ended, end := context.WithCancel(t.Context())
	end()
	for what, c := range map[string]struct {
		ctx     context.Context
		folders []string
		to      string
		says    string
	}{
		"one that is there":  {t.Context(), []string{a.Path}, there, there},
		"two of a name":      {t.Context(), []string{a.Path, other}, filepath.Join(out, "x"), "both are called a"},
		"a link":             {t.Context(), []string{linked}, filepath.Join(out, "x"), "link"},
		"no folder for it":   {t.Context(), []string{a.Path}, filepath.Join(out, "none", "x"), "none"},
		"an interrupt":       {ended, []string{a.Path}, filepath.Join(out, "x"), "canceled"},
		"a folder that went": {t.Context(), []string{filepath.Join(root, "gone")}, filepath.Join(out, "x"), "gone"},
	} {
		if _, err := ArchiveRuns(c.ctx, c.folders, c.to); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if text, err := os.ReadFile(there); err != nil || string(text) != "content of there.tar.gz" {
		t.Error("an archive was replaced")
	}
}
