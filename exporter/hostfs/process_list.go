package hostfs

import (
	"fmt"
	"strconv"
)

// CgroupProcesses lists the processes in a cgroup itself, not in those below it, from cgroup.procs, in the numbers of
// the reader's PID namespace. Those of other namespaces, which the kernel lists as 0, are left out. The file of a
// threaded cgroup cannot be read.
func CgroupProcesses(cgroups Dir, cgroup string) ([]uint32, error) {
	return parseFile(cgroups, inCgroup(cgroup, "cgroup.procs"), parsePIDs)
}

// parsePIDs reads one PID a line. A process that moves while the file is read can occur twice
// (Documentation/admin-guide/cgroup-v2.rst, cgroup.procs).
func parsePIDs(text string) ([]uint32, error) {
	var pids []uint32
	err := parseLines(text, func(line string) error {
		pid, err := strconv.ParseUint(line, 10, 32)
		if err != nil {
			return errMalformed
		}
		if pid != 0 {
			pids = append(pids, uint32(pid))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pids, nil
}

// maxProcesses is the maximum number of processes listed of a machine.
const maxProcesses = 1 << 16

// ListProcesses lists the processes that the reader can see, in no order: those with a directory in /proc. Beyond the
// limit the first are returned, with ErrTooLong. procfs lists all, however many.
func ListProcesses(proc Dir) ([]uint32, error) {
	names, more, err := proc.Names(".", maxProcesses)
	if err != nil {
		return nil, err
	}
	var pids []uint32
	for _, name := range names {
		if pid, err := strconv.ParseUint(name, 10, 32); err == nil {
			pids = append(pids, uint32(pid))
		}
	}
	if more {
		return pids, fmt.Errorf("%s: %w: %d processes", proc.shown("."), ErrTooLong, maxProcesses)
	}
	return pids, nil
}

// ProcessExists reports whether a process has a directory in /proc, readable or not.
func ProcessExists(proc Dir, pid uint32) bool {
	_, err := proc.Stat(strconv.FormatUint(uint64(pid), 10))
	return err == nil
}
