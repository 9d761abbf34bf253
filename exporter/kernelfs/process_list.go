package kernelfs

import (
	"io/fs"
	"strconv"
)

// CgroupProcesses lists the processes in a cgroup itself, not in those below it, from cgroup.procs, in the
// numbers of the reader's PID namespace. Those of other namespaces, which the kernel lists as 0, are left
// out. Of a threaded cgroup the file cannot be read.
//
//	6330
func CgroupProcesses(cgroups fs.FS, cgroup string) ([]uint32, error) {
	return parseFile(cgroups, inCgroup(cgroup, "cgroup.procs"), parsePIDs)
}

// parsePIDs reads one PID a line. A process that moves while the file is read can stand there twice
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
