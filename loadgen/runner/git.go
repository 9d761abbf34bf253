package runner

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// gitTimeout bounds one question to git: whether a large tree is modified takes it seconds.
const gitTimeout = 5 * time.Second

// gitState says which state of a repository a folder is in: the user's scripts and plans, most
// often. Nil where there is no git or no repository. What the program itself was built from, its
// build says.
func gitState(ctx context.Context, dir string) *rundir.Git {
	commit, err := git(ctx, dir, "rev-parse", "--verify", "HEAD")
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{40,64}$`).MatchString(commit) {
		return nil
	}
	state := &rundir.Git{Commit: commit}
	if changes, err := git(ctx, dir, "status", "--porcelain", "--untracked-files=no"); err == nil {
		state.Modified = new(changes != "")
	}
	return state
}

// git runs git in a folder and returns what it printed. It takes no locks there, and starts none of
// the programs that a repository may name to watch its files.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, args...)...)
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	command.WaitDelay = time.Second
	printed, err := command.Output()
	return strings.TrimSpace(string(printed)), err
}
