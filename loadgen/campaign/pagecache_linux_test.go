package campaign

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

const size = 8 << 20

// models is a folder as model caches are: a blob, a link to it, one below, and what is no file.
func models(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	content := make([]byte, size)
	_, _ = rand.Read(content)
	blob, below := filepath.Join(root, "blob"), filepath.Join(root, "snapshots", "main")
	errs := []error{
		os.WriteFile(blob, content, 0o644), os.MkdirAll(below, 0o755), os.Symlink(blob, filepath.Join(below, "model.safetensors")),
		os.Link(blob, filepath.Join(below, "same")), os.WriteFile(filepath.Join(below, "config.json"), content[:100], 0o644),
		os.WriteFile(filepath.Join(below, "empty"), nil, 0o644), unix.Mkfifo(filepath.Join(root, "pipe"), 0o644), os.Symlink(root, filepath.Join(below, "loop")),
		os.Symlink("/nowhere", filepath.Join(below, "broken")),
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return root
}

// onMemoryFilesystem reports whether files of the folder are pages only, as on tmpfs: none of them can be evicted.
func onMemoryFilesystem(t *testing.T, folder string) bool {
	t.Helper()
	var stat unix.Statfs_t
	if err := unix.Statfs(folder, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Type == unix.TMPFS_MAGIC || stat.Type == unix.RAMFS_MAGIC
}

func TestEvictedFilesAreNotInMemoryAnyMore(t *testing.T) {
	root := models(t)
	for _, path := range []string{root, filepath.Join(root, "snapshots"), filepath.Join(root, "blob")} {
		whole, err := os.ReadFile(filepath.Join(root, "blob"))
		if err != nil || len(whole) != size {
			t.Fatal(err)
		}
		got, err := TreatPageCache(t.Context(), plan.PageCache{Policy: "evict", Paths: []string{path, path}})
		if err != nil || got.BeforeBytes == nil || got.AfterBytes == nil || got.Unread != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		if *got.BeforeBytes < size || got.Bytes < size || got.Bytes > size+100 {
			t.Errorf("%s: before %d, size %d", path, *got.BeforeBytes, got.Bytes)
		}
		if kept := *got.AfterBytes; onMemoryFilesystem(t, root) != (kept >= size) {
			t.Errorf("%s: after %d", path, kept)
		}
		again, err := os.ReadFile(filepath.Join(root, "blob"))
		if err != nil || string(again) != string(whole) {
			t.Errorf("the file has changed: %v", err)
		}
	}
}

func TestBothWaysOfAskingAgree(t *testing.T) {
	file, err := os.Open(filepath.Join(models(t), "blob"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	asked, err := resident(file, size)
	old, oldErr := mincore(file, size)
	if err != nil || oldErr != nil || asked != old || asked != size {
		t.Errorf("%d, %v; by mincore %d, %v", asked, err, old, oldErr)
	}
	if onMemoryFilesystem(t, filepath.Dir(file.Name())) {
		return
	}
	if err := forget(file); err != nil {
		t.Fatal(err)
	}
	if old, err := mincore(file, size); old != 0 || err != nil {
		t.Errorf("after: %d, %v", old, err)
	}
}

func TestPathsThatAreNotThereAreNamed(t *testing.T) {
	for _, p := range []plan.PageCache{{Policy: "evict", Paths: []string{"/no/such/model"}}, {Policy: "evict"}, {Policy: "wipe"}} {
		if _, err := TreatPageCache(t.Context(), p); err == nil || !strings.Contains(err.Error(), strings.Join(p.Paths, "")) || !strings.HasPrefix(err.Error(), "page_cache: ") {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestKeepDoesNothing(t *testing.T) {
	for _, policy := range []string{"", "keep"} {
		if got, err := TreatPageCache(t.Context(), plan.PageCache{Policy: policy}); err != nil || got.Policy != policy || got.BeforeBytes != nil || got.Files != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestAnInterruptEndsTheWalk(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	if _, err := TreatPageCache(ctx, plan.PageCache{Policy: "evict", Paths: []string{models(t)}}); !errors.Is(err, interrupted) {
		t.Error(err)
	}
}

// The control file of a test is not that of the machine, whose cache others need.
func TestDropIsByTheControlFileOrBySudo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "drop_caches")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := drop(t.Context(), path, true); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "3\n" {
		t.Errorf("%q, %v", text, err)
	}
	folder := t.TempDir()
	sudo := "#!/bin/sh\n[ -e " + folder + "/refused ] && { echo 'sudo: a password is required' >&2; exit 1; }\necho \"$*\" >" + folder + "/words; cat >" + folder + "/input\n"
	if err := os.WriteFile(filepath.Join(folder, "sudo"), []byte(sudo), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	if err := drop(t.Context(), control, false); err != nil {
		t.Error(err)
	}
	words, err1 := os.ReadFile(filepath.Join(folder, "words"))
	input, err2 := os.ReadFile(filepath.Join(folder, "input"))
	if string(words) != "-n "+DropCachesCommand+"\n" || string(input) != "3\n" {
		t.Errorf("%q, %q, %v, %v", words, input, err1, err2)
	}
	if err := os.WriteFile(filepath.Join(folder, "refused"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := drop(t.Context(), control, false); err == nil || !strings.Contains(err.Error(), "a password is required") {
		t.Errorf("%v", err)
	}
}
