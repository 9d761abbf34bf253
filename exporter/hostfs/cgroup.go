package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// ErrNotHostCgroups is wrapped when a directory is not the root of the host's cgroup v2 tree: the host runs cgroup v1,
// or a cgroup namespace hides all but a container's own part.
var ErrNotHostCgroups = errors.New("not the host's cgroup v2 tree")

// MemoryStat holds the memory.stat of a cgroup, its descendants included, by the kernel's names:
// amounts in bytes, and counts of events since the cgroup was made.
type MemoryStat map[string]uint64

// ReadMemoryStat reads the memory.stat of a cgroup such as /system.slice.
//
//	sec_pagetables 1052672
func ReadMemoryStat(cgroups Dir, cgroup string) (MemoryStat, error) {
	return parseFile(cgroups, inCgroup(cgroup, "memory.stat"), func(text string) (MemoryStat, error) { return parseKeyed(text) })
}

// namedKernelMemory are the parts of kernel that memory.stat names. The compressed pool of zswap is one
// of them: it is charged as kernel memory too (obj_cgroup_charge_zswap in mm/memcontrol.c).
func namedKernelMemory() []string {
	return []string{"slab", "kernel_stack", "pagetables", "sec_pagetables", "percpu", "vmalloc", "zswap"}
}

// KernelOther returns the kernel memory charged to the cgroup beyond the kinds that memory.stat lists, in bytes: on a
// machine with an NVIDIA driver, memory of cudaMallocManaged and the page tables that go with it. It is signed, because
// the kernel updates the parts in batches and not at once. It is unknown before kernel 5.18, which has no total; a
// missing part is included in the rest.
func (s MemoryStat) KernelOther() (bytes int64, known bool) {
	kernel, known := s["kernel"]
	if !known {
		return 0, false
	}
	bytes = int64(kernel)
	for _, part := range namedKernelMemory() {
		bytes -= int64(s[part])
	}
	return bytes, true
}

// MemoryStatAmounts are the lines of memory.stat that are amounts (memory_stats in mm/memcontrol.c of Linux 6.12, less
// those that count events). A line of a later kernel is not in the list: it may be an amount or a count.
func MemoryStatAmounts() []string {
	return []string{
		"anon", "file", "kernel", "kernel_stack", "pagetables", "sec_pagetables", "percpu", "sock", "vmalloc", "shmem",
		"zswap", "zswapped", "file_mapped", "file_dirty", "file_writeback", "swapcached", "anon_thp", "file_thp", "shmem_thp",
		"inactive_anon", "active_anon", "inactive_file", "active_file", "unevictable",
		"slab_reclaimable", "slab_unreclaimable", "slab", "hugetlb",
	}
}

// ReadMemoryCurrent reads the charge of a cgroup and its descendants, in bytes.
func ReadMemoryCurrent(cgroups Dir, cgroup string) (uint64, error) {
	return readUint(cgroups, inCgroup(cgroup, "memory.current"))
}

// ReadMemoryEvents reads memory.events of a cgroup, which counts those of all cgroups below it too: low, high, max, oom,
// oom_kill and so on.
func ReadMemoryEvents(cgroups Dir, cgroup string) (map[string]uint64, error) {
	return parseFile(cgroups, inCgroup(cgroup, "memory.events"), parseKeyed)
}

// CheckHostCgroups returns ErrNotHostCgroups, with a description of what is mounted, unless cgroups is the root of the
// host's cgroup v2 tree. Of all cgroups only that one has no memory.current; of cgroup v1 no hierarchy has
// cgroup.controllers.
func CheckHostCgroups(cgroups Dir) error {
	root := cgroups.shown(".")
	if _, err := cgroups.Stat("cgroup.controllers"); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s at %s, which has no cgroup.controllers", ErrNotHostCgroups, insteadOfCgroup2(cgroups), root)
		}
		return err
	}
	if _, err := cgroups.Stat("memory.current"); err == nil {
		return fmt.Errorf("%w: %s is the cgroup of a container", ErrNotHostCgroups, root)
	}
	return nil
}

// insteadOfCgroup2 describes what is mounted where cgroup v2 is expected. With cgroup v1 there is a directory for each
// controller; a v2 tree next to them, without controllers, is called unified.
func insteadOfCgroup2(cgroups Dir) string {
	for _, name := range []string{"memory", "cpuset", "unified"} {
		if _, err := cgroups.Stat(name); err == nil {
			return "cgroup v1"
		}
	}
	return "cgroup v1, or no cgroups at all,"
}

// ListTopCgroups lists the cgroups directly below the root, such as /system.slice. Every charge is part of the charge
// of one of them.
func ListTopCgroups(cgroups Dir) ([]string, error) {
	if err := CheckHostCgroups(cgroups); err != nil {
		return nil, err
	}
	names, err := subdirectories(cgroups, ".")
	for i, name := range names {
		names[i] = "/" + name
	}
	return names, err
}

// ReadTopMemoryStats reads the memory.stat of all cgroups directly below the root, by path. A cgroup that was removed
// since it was listed is left out: its charges are gone. If one cannot be read, the others are returned with the error.
func ReadTopMemoryStats(cgroups Dir) (map[string]MemoryStat, error) {
	names, err := ListTopCgroups(cgroups)
	if err != nil {
		return nil, err
	}
	stats := make(map[string]MemoryStat, len(names))
	var errs []error
	for _, name := range names {
		stat, err := ReadMemoryStat(cgroups, name)
		switch {
		case err == nil:
			stats[name] = stat
		case !isGone(cgroups, name):
			errs = append(errs, fmt.Errorf("the memory controller may be off: %w", err))
		}
	}
	return stats, errors.Join(errs...)
}

// isGone reports whether a cgroup has been removed.
func isGone(cgroups Dir, cgroup string) bool {
	_, err := cgroups.Stat(inCgroup(cgroup, "."))
	return errors.Is(err, fs.ErrNotExist)
}

// inCgroup returns the name of a file of a cgroup below the root.
func inCgroup(cgroup, file string) string { return path.Join(strings.TrimPrefix(cgroup, "/"), file) }

// hostCgroupNamespace is the link target of ns/cgroup of a process in the first cgroup namespace (CGROUP_NS_INIT_INO in
// linux/nsfs.h, 0xEFFFFFFB).
const hostCgroupNamespace = "cgroup:[4026531835]"

// HostCgroupNamespace reports whether /proc/<pid>/cgroup shows the reader whole paths. In its own cgroup namespace it
// sees the paths of other processes relative to its own cgroup, as /../docker-4f5b3a.scope, whatever tree is mounted.
func HostCgroupNamespace(proc Dir) (bool, error) {
	link, err := proc.ReadLink("self/ns/cgroup")
	if err != nil {
		return false, fmt.Errorf("cgroup namespace: %w", err)
	}
	return link == hostCgroupNamespace, nil
}
