package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsInAFileAreOverwrittenInPlace(t *testing.T) {
	const key = "sk-plan-0123456789"
	r := NewRedactor([]string{key})
	for _, before := range []int{0, 1, overwritten - len(key)/2, overwritten - 1, overwritten, 2*overwritten - longestForm - 3, 3 * overwritten} {
		path := filepath.Join(t.TempDir(), "log")
		text := strings.Repeat("\n", before) + key + " and " + strings.ToUpper(key) + strings.Repeat("z", 9)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Overwrite(file, 0); err != nil {
			t.Fatal(err)
		}
		_ = file.Close()
		got, err := os.ReadFile(path)
		want := strings.Repeat("\n", before) + strings.Repeat("*", len(key)) + " and " + strings.Repeat("*", len(key)) + strings.Repeat("z", 9)
		if err != nil || !bytes.Equal(got, []byte(want)) {
			t.Errorf("after %d bytes: %q", before, got[max(0, len(got)-80):])
		}
	}
}
