package runner

import (
	"context"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// gitTimeout is the longest that one git command may take. In a large tree it takes git seconds to find out whether
// files are modified.
const gitTimeout = 5 * time.Second

// gitState returns the state of the repository that contains a folder, most often the folder of the user's scripts and
// plans. It is nil without git or a repository. The revision of uma-load itself comes from its build information.
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

// git runs git in a folder and returns its output. It takes no locks there, and does not start the programs that a
// repository may configure to watch its files.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	command := subprocess.Limited(ctx, append([]string{"git", "-C", dir, "-c", "core.fsmonitor=false"}, args...)...)
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	printed, err := command.Output()
	return strings.TrimSpace(string(printed)), err
}
