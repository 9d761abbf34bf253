package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// TestWhatUmascopeItselfUsesIsCountedByProgram holds that a process that began in between counts from 0, that another with
// the PID of one that ended is another process, and that a program without a process used 0.
func TestWhatUmascopeItselfUsesIsCountedByProgram(t *testing.T) {
	proc := t.TempDir()
	process := func(pid int, comm string, ticks, start int) {
		dir := filepath.Join(proc, fmt.Sprint(pid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"comm": comm + "\n",
			"stat": fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 18 0 %d 0 %d 0", pid, comm, ticks, start, 1<<20/os.Getpagesize()) + strings.Repeat(" 0", 30) + "\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Unix(1000, 0)
	process(10, "uma-exporter", 300, 1)
	process(20, "uma-load", 5000, 2)
	process(30, "python3", 100, 3)
	earlier := readOwn(proc, began)
	process(10, "uma-exporter", 400, 1)
	process(20, "uma-load", 500, 9)
	process(40, "uma-load", 500, 8)
	process(30, "python3", 900, 3)
	got := readOwn(proc, began.Add(100*time.Second)).since(earlier)
	want := []rundir.OwnProgram{
		{Program: "uma-exporter", Processes: 1, CPURatio: .01, ResidentBytes: 1 << 20},
		{Program: "uma-load", Processes: 2, CPURatio: .1, ResidentBytes: 2 << 20},
		{Program: "uma-view"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWithoutProcTheOwnUseIsUnknown(t *testing.T) {
	if got := readOwn(filepath.Join(t.TempDir(), "none"), time.Now()).since(&ownUse{}); got != nil {
		t.Errorf("%+v", got)
	}
}
