package hostfs

import (
	"fmt"
	"strings"
)

// ReadArguments reads the arguments of a process from /proc/<pid>/cmdline, the program first; none for a kernel thread.
// A process can overwrite them, as engines do to name their workers. They can hold keys: keep and show none of them.
func ReadArguments(proc Dir, pid uint32) ([]string, error) {
	content, err := proc.ReadFile(processFile(pid, "cmdline"))
	if err != nil || len(content) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(string(content), "\x00"), "\x00"), nil
}

// HoldsSocket reports whether a descriptor of a process is the socket with this inode number.
func HoldsSocket(proc Dir, pid uint32, descriptor int, inode uint64) bool {
	target, err := proc.ReadLink(processFile(pid, fmt.Sprintf("fd/%d", descriptor)))
	return err == nil && target == fmt.Sprintf("socket:[%d]", inode)
}
