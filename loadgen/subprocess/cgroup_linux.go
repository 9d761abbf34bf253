package subprocess

import (
	"os"
	"syscall"
)

// startIn makes a process start in a cgroup.
func startIn(cgroup *os.File, a *syscall.SysProcAttr) error {
	a.UseCgroupFD, a.CgroupFD = true, int(cgroup.Fd())
	return nil
}
