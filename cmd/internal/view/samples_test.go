package view

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// block writes a block of ten samples of the series "kept" that begin at a time, and returns its folder.
func block(t *testing.T, dir string, at time.Time) string {
	t.Helper()
	series := storage.NewListSeries(labels.FromStrings("__name__", "kept"), chunks.GenerateSamples(int(at.UnixMilli()), 10))
	path, err := tsdb.CreateBlock([]storage.Series{series}, dir, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestADamagedBlockIsSetAsideAndTheOthersAreShown(t *testing.T) {
	write := func(file, content string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(filepath.Join(path, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(t *testing.T, path string){
		"an empty meta.json":     write("meta.json", ""),
		"an index of zeroes":     write("index", strings.Repeat("\x00", 4096)),
		"an empty index":         write("index", ""),
		"an empty file of chunk": write("chunks/000001", ""),
		"no meta.json": func(t *testing.T, path string) {
			if err := os.Remove(filepath.Join(path, "meta.json")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, early, late := t.TempDir(), time.Now().Add(-5*time.Hour), time.Now().Add(-3*time.Hour)
			damaged := block(t, dir, early)
			block(t, dir, late)
			damage(t, damaged)
			before := names(t, damaged)

			var log strings.Builder
			d := openLogged(t, dir, &log)
			t.Cleanup(func() { d.close() })
			if got := ask(t, d, "query", url.Values{"query": {"count_over_time(kept[6h])"}}); !strings.Contains(got, `"10"`) {
				t.Errorf("the other block: %s", got)
			}
			if after := names(t, damaged+".damaged"); after != before {
				t.Errorf("files of the block are now %s, and were %s", after, before)
			}
			if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), damaged+".damaged") {
				t.Errorf("%d lines: %s", lines, &log)
			}
		})
	}
}

// names returns the paths and sizes of the files of a folder.
func names(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		all += fmt.Sprintf("%s %d; ", strings.TrimPrefix(path, dir), info.Size())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAFolderThatCannotBeUsedIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		file:                          "it is a file, or below one",
		filepath.Join(file, "folder"): "it is a file, or below one",
		"/sys/umascope":               "this user may not write there", // the kernel makes no folder there, of root either
	} {
		_, err := lockFolder(path)
		if !errors.As(err, &inputError{}) || !strings.Contains(err.Error(), "--data "+path+": ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "something else" {
		t.Errorf("the file is %q, %v", text, err)
	}
}
