package loadgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
)

// scopeVariable is in the environment of a program that has restarted itself in a scope of systemd.
const scopeVariable = "UMA_LOAD_SCOPE"

// scopeTimeout is how long systemd may take to start a scope.
const scopeTimeout = 10 * time.Second

// placeArms returns where the arms of the campaign in dir get cgroups, or nil if their processes are process groups
// only: because the campaign began so, or because this machine does not delegate a cgroup, with the reason in the log.
// If systemd delegates one to a scope, this process restarts itself in a scope. executable is as in Program.
func placeArms(ctx context.Context, dir, executable string, log *slog.Logger) *arm.Cgroups {
	restarted := os.Getenv(scopeVariable) != ""
	_ = os.Unsetenv(scopeVariable) // arms do not inherit it; a valid name is always unset
	if look, err := campaign.LookAt(dir); err == nil && !look.InCgroups() {
		log.Info("the arms of this campaign are in process groups, as at its first start")
		return nil
	}
	if executable == "" {
		return nil
	}
	cgroups, err := arm.TakeDelegated(restarted)
	if err != nil && !restarted {
		err = fmt.Errorf("%w, and %w", err, restartInScope(ctx))
	}
	if err != nil {
		log.Info("the arms are in process groups", "why", err)
		return nil
	}
	log.Info("each arm gets a cgroup of its own", "below", cgroups.String(), "placement", cgroups.Placement())
	return cgroups
}

// restartInScope replaces this process by the same program in a scope of systemd, which has the same process ID. It
// returns only if that is not possible.
func restartInScope(ctx context.Context) error {
	if _, err := os.Stat("/run/systemd/system"); err != nil {
		return errors.New("systemd does not run here")
	}
	path, err := exec.LookPath("systemd-run")
	if err != nil {
		return err
	}
	scope := []string{path, "--scope", "--quiet", "--collect", "--no-ask-password", "--property=Delegate=yes"}
	if os.Geteuid() != 0 {
		scope = append(scope, "--user")
	}
	// A scope of its own first, since a replaced process could not go on without one.
	ctx, cancel := context.WithTimeout(ctx, scopeTimeout)
	defer cancel()
	if printed, err := exec.CommandContext(ctx, scope[0], append(scope[1:len(scope):len(scope)], "true")...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(scope, " "), err, printable(string(printed)))
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	return unix.Exec(path, append(append(scope, program), os.Args[1:]...), append(os.Environ(), scopeVariable+"=1"))
}
