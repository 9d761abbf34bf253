package hostfs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
)

// Comm reads the kernel's short name of a process, at most 15 bytes that the process chose, from
// /proc/<pid>/comm. A process that has ended gives fs.ErrNotExist. procfs cuts off blanks around the name, which would
// then differ from that in <pid>/stat.
//
//	VLLM::EngineCor
func Comm(proc Dir, pid uint32) (string, error) {
	content, err := proc.ReadFile(processFile(pid, "comm"))
	return strings.TrimSuffix(string(content), "\n"), err
}

// ProcessCgroup reads the cgroup v2 path of a process from /proc/<pid>/cgroup: relative to the root of the reader's
// cgroup namespace. Where cgroup v2 is mounted next to v1 it is / for all processes; without cgroup v2 it is an error.
//
//	0::/system.slice/docker-4f5b3a.scope
//
// A process whose cgroup has been removed keeps its path with a suffix.
func ProcessCgroup(proc Dir, pid uint32) (string, error) {
	return readProcess(proc, pid, "cgroup", func(process procfs.Proc) (string, error) {
		cgroups, err := process.Cgroups()
		if err != nil {
			return "", err
		}
		for _, cgroup := range cgroups {
			if cgroup.HierarchyID == 0 && strings.HasPrefix(cgroup.Path, "/") {
				return strings.TrimSuffix(cgroup.Path, " (deleted)"), nil
			}
		}
		return "", fmt.Errorf("%w: no cgroup v2 path", errMalformed)
	})
}

func processFile(pid uint32, file string) string {
	return strconv.FormatUint(uint64(pid), 10) + "/" + file
}

// hostPIDNamespace is the link target of ns/pid of a process in the namespace that the machine was booted with. The
// kernel gives this namespace a fixed number (PID_NS_INIT_INO in linux/nsfs.h, 0xEFFFFFFC, since 3.8); all others get
// numbers above 0xF0000000.
const hostPIDNamespace = "pid:[4026531836]"

// HostPIDNamespace reports whether the reading process sees all processes of the machine. The driver leaves processes
// outside the caller's PID namespace out of its lists, without an error, so elsewhere an empty list is no evidence.
//
// The rule is the target of /proc/self/ns/pid: it asks the kernel about the very process that will call the driver.
// Names of processes 1 and 2 would be a guess, and with the host's procfs mounted in a container a wrong one: it shows
// the host's processes while the driver still goes by the namespace of the caller. A procfs that does not show the
// reader has no self and is an error. procfs reads all namespaces for that, and fails with any of them.
func HostPIDNamespace(proc Dir) (bool, error) {
	link, err := proc.ReadLink("self/ns/pid")
	if err != nil {
		return false, fmt.Errorf("PID namespace: %w", err)
	}
	return link == hostPIDNamespace, nil
}
