package subprocess

import (
	"context"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// leftOverWait is how long to wait for the output of processes that a limited command leaves running.
const leftOverWait = time.Second

// Limited returns a short command that is not started yet. When the context is done, the command is killed with all
// processes that it started.
func Limited(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, args[0], args[1:]...)
	// Killing the program alone would leave its children running.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return unix.Kill(-c.Process.Pid, unix.SIGKILL) }
	c.WaitDelay = leftOverWait
	return c
}
