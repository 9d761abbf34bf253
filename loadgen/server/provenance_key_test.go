package server

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestTheKeyOfAFolderIsMadeOnceAndItsOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			key, err := OpenProvenanceKey(dir)
			if err != nil {
				t.Error(err)
			}
			ids[i] = key.ID()
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || len(id) != 2*hashBytes {
			t.Errorf("%q", ids)
		}
	}
	info, err := os.Stat(filepath.Join(dir, ProvenanceKeyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%v (%v)", entries, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, ProvenanceKeyFile))
	if err != nil || strings.Contains(string(text), ids[0]) {
		t.Errorf("the key tells its name, or the name the key (%v)", err)
	}
	other, err := OpenProvenanceKey(t.TempDir())
	if err != nil || other.ID() == ids[0] {
		t.Errorf("two folders have one key (%v)", err)
	}
}

func TestWhatIsNoKeyIsRefused(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "short": "ab\n", "no hex": strings.Repeat("x", 64) + "\n"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ProvenanceKeyFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenProvenanceKey(dir); err == nil || !strings.Contains(err.Error(), "it is no key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenProvenanceKey(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a folder that is not there has a key")
	}
}
