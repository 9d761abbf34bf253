package runfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestRegularFilesAloneAreOpened(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Symlink(at("file"), at("link")), os.Symlink(at("nothing"), at("dangling")), os.Mkdir(at("folder"), 0o700), syscall.Mkfifo(at("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, says := range map[string]string{"link": "link is a link", "dangling": "dangling is a link", "folder": "no regular file", "pipe": "no regular file"} {
		file, err := Open(at(name))
		if file != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
	if _, err := Open(at("nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
	file, err := Open(at("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if content, err := io.ReadAll(file); string(content) != "text" || err != nil {
		t.Errorf("%q, %v", content, err)
	}
}
