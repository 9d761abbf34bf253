package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheStateOfARepositoryIsItsCommitAndWhetherFilesDiffer(t *testing.T) {
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
		if text, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, text)
		}
	}
	if got := gitState(t.Context(), dir); got != nil {
		t.Errorf("no repository: %+v", got)
	}
	run("init", "-q")
	if got := gitState(t.Context(), dir); got != nil {
		t.Errorf("no commit: %+v", got)
	}
	plan := filepath.Join(dir, "plan")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(plan, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	run("add", "plan")
	run("commit", "-q", "-m", "a")
	if got := gitState(t.Context(), dir); got == nil || len(got.Commit) != 40 || got.Modified == nil || *got.Modified {
		t.Errorf("clean: %+v", got)
	}
	write("b")
	if got := gitState(t.Context(), dir); got == nil || got.Modified == nil || !*got.Modified {
		t.Errorf("modified: %+v", got)
	}
}
