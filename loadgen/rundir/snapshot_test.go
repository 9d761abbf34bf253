package rundir

import (
	"os"
	"strings"
	"testing"
)

func TestSnapshotsAreBounded(t *testing.T) {
	s, err := NewSnapshots(Folder(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostSnapshots + 3 {
		s.Add("kvbm", i, "measure", []byte("x 1\n"))
	}
	entries, err := os.ReadDir(s.folder)
	if err != nil || len(entries) != mostSnapshots {
		t.Errorf("%d files (%v)", len(entries), err)
	}
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "3 pages found no room") {
		t.Errorf("error %v", err)
	}
}
