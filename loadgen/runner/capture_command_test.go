package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// alive says whether a process is there and is more than an entry that nobody has collected.
func alive(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestACommandThatIsCutOffLeavesNothingRunning(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, rundir.CapturesFolder, "x-"+beforeLoad+".txt")
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for range 1000 {
			if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), "\n") {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		stop()
	}()
	facts, err := captureCommand{"x", "sleep 300 & echo $!; wait"}.run(ctx, rundir.Folder(dir), beforeLoad, nil)
	if err != nil || facts.ExitCode == 0 {
		t.Fatalf("%+v (%v)", facts, err)
	}
	text, err := os.ReadFile(path)
	pid, _, found := strings.Cut(string(text), "\n")
	if err != nil || !found {
		t.Fatalf("%q (%v)", text, err)
	}
	for range 200 {
		if !alive(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %s is still there", pid)
}
