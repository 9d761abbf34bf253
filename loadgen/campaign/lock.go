package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/arm"
)

// lockPatience is how long to wait for a lock that a process holds for a moment: a process that calls Holder, or one
// that a killed holder was about to start, until it has executed its program.
const lockPatience = time.Second

// lock locks the folder against a second invocation.
func lock(dir string) (*os.File, error) {
	file, err := arm.TakeLock(filepath.Join(dir, lockFile), "", lockPatience)
	if held, ok := errors.AsType[*arm.LockedError](err); ok {
		return nil, fmt.Errorf("%s: a campaign runs there already, as %s; %s", dir, held.Holder, Commands(dir))
	}
	return file, err
}

// Commands returns the commands that show and stop the campaign of a folder.
func Commands(dir string) string {
	return fmt.Sprintf("uma-load campaign status %s shows it, uma-load campaign stop %s stops it", dir, dir)
}

// Stop asks the process that carries out the campaign to end: at once, as Ctrl-C does, or after the current run. It
// returns the process ID, or 0 if no process carries it out.
func Stop(dir string, afterRun bool) (pid int, err error) {
	pid, err = Holder(dir)
	if err != nil || pid == 0 {
		return 0, err
	}
	if afterRun {
		return pid, os.WriteFile(filepath.Join(dir, stopFile), nil, 0o640)
	}
	return pid, unix.Kill(pid, unix.SIGINT)
}

// Holder returns the ID of the process that carries out the campaign of a folder, or 0.
func Holder(dir string) (int, error) {
	found, err := arm.FindLockHolder(filepath.Join(dir, lockFile))
	return found.PID, err
}
