package collector

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

// statOf is the /proc/<pid>/stat of a process that started at a tick.
func statOf(pid, start int) *fstest.MapFile {
	return &fstest.MapFile{Data: fmt.Appendf(nil, "%d (engine) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n", pid, start)}
}

func TestProcessesAreLookedIntoAgainOnlyWhenTheyMayHaveChanged(t *testing.T) {
	now := time.Unix(1000, 0)
	proc := onDisk(t, fstest.MapFS{"7/stat": statOf(7, 100), "8/stat": statOf(8, 100)})
	var looked []uint32
	l := newProcessLooks(Host{Proc: proc, Now: func() time.Time { return now }},
		func(pid uint32) uint32 { looked = append(looked, pid); return pid })
	into := func(want ...uint32) {
		t.Helper()
		looked = nil
		if got, hidden, err := l.into(t.Context(), []uint32{7, 8}); err != nil || !slices.Equal(got, []uint32{7, 8}) || hidden != nil {
			t.Fatalf("%v, hidden %v, %v", got, hidden, err)
		}
		if !slices.Equal(looked, want) {
			t.Errorf("looked into %v, want %v", looked, want)
		}
	}
	into(7, 8)
	now = now.Add(processLookAge - time.Millisecond)
	into()
	overwrite(t, proc, "8/stat", string(statOf(8, 200).Data)) // another process with its PID
	into(8)
	now = now.Add(time.Millisecond)
	into(7)
	now = now.Add(-time.Hour) // the clock was set
	into(7, 8)
}

func TestProcessThatEndedIsLeftOutAndOneThatHidesIsSaidToBeThere(t *testing.T) {
	proc := onDisk(t, fstest.MapFS{"7/stat": statOf(7, 100), "9/comm": {Data: []byte("hidden\n")}})
	l := newProcessLooks(Host{Proc: proc, Now: time.Now}, func(pid uint32) uint32 {
		if err := os.RemoveAll(filepath.Join(proc.Path, "7")); err != nil { // it ends while it is looked at
			t.Error(err)
		}
		return pid
	})
	got, hidden, err := l.into(t.Context(), []uint32{7, 8, 9})
	if err != nil || len(got) != 0 || !slices.Equal(hidden, []uint32{9}) {
		t.Errorf("%v, hidden %v, %v", got, hidden, err)
	}
}
