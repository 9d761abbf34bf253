package runfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// written makes a file that holds its own name.
func written(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRenameNewReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	one, other := written(t, dir, "one"), written(t, dir, "other")
	if err := RenameNew(one, other); !errors.Is(err, fs.ErrExist) || content(t, other) != "other" {
		t.Errorf("%v, and %s is %q", err, other, content(t, other))
	}
	if err := RenameNew(one, filepath.Join(dir, "new")); err != nil || content(t, filepath.Join(dir, "new")) != "one" {
		t.Errorf("a new name: %v", err)
	}
}

func TestExchangeSwapsNames(t *testing.T) {
	dir := t.TempDir()
	one, other := written(t, dir, "one"), written(t, dir, "other")
	if err := Exchange(one, other); err != nil || content(t, one) != "other" || content(t, other) != "one" {
		t.Errorf("%v", err)
	}
	if err := Exchange(one, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || content(t, one) != "other" {
		t.Errorf("with a name that does not exist: %v", err)
	}
}
