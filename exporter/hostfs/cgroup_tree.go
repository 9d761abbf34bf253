package hostfs

import (
	"errors"
	"fmt"
	"syscall"
)

// Limits of a walk over cgroups. Hosts have hundreds; a runaway program can make as many as memory allows, and must not
// take the exporter with it.
const (
	maxCgroups     = 10_000
	maxCgroupDepth = 32
)

// ErrTooManyCgroups is wrapped when a tree exceeds the limits of a walk.
var ErrTooManyCgroups = errors.New("too many cgroups")

// WalkCgroups lists the cgroups below the root of the host's cgroup v2 tree by path, such as
// /system.slice/docker.service, each after its parent. Some may be gone when they are read, and new ones may be
// missing. For a tree that is too large it returns the cgroups that it has read with ErrTooManyCgroups.
func WalkCgroups(cgroups Dir) ([]string, error) {
	if err := CheckHostCgroups(cgroups); err != nil {
		return nil, err
	}
	top, err := subdirectories(cgroups, ".")
	if err != nil {
		return nil, err
	}
	walk := cgroupWalk{cgroups: cgroups, linksCount: countsSubdirectories(cgroups, len(top))}
	walk.enter("", top, 1)
	return walk.found, errors.Join(walk.trouble...)
}

type cgroupWalk struct {
	cgroups    Dir
	linksCount bool
	found      []string
	trouble    []error // at most one of a kind
}

func (w *cgroupWalk) enter(above string, names []string, depth int) {
	for _, name := range names {
		if len(w.found) == maxCgroups {
			w.note(fmt.Errorf("%w: those after the first %d are not looked at", ErrTooManyCgroups, maxCgroups))
			return
		}
		cgroup := above + "/" + name
		w.found = append(w.found, cgroup)
		below := w.below(cgroup)
		switch {
		case len(below) == 0:
		case depth == maxCgroupDepth:
			w.note(fmt.Errorf("%w: those more than %d deep are not looked at", ErrTooManyCgroups, maxCgroupDepth))
		default:
			w.enter(cgroup, below, depth+1)
		}
	}
}

func (w *cgroupWalk) note(err error) {
	for _, known := range w.trouble {
		if known.Error() == err.Error() {
			return
		}
	}
	w.trouble = append(w.trouble, err)
}

// below lists the direct children of a cgroup. A cgroup that was removed since it was listed has none.
func (w *cgroupWalk) below(cgroup string) []string {
	if stat, known := directoryStat(w.cgroups, cgroup[1:]); w.linksCount && known && stat.Nlink == linksOfEmpty {
		return nil
	}
	names, err := subdirectories(w.cgroups, cgroup[1:])
	if err != nil && !IsMissing(err) {
		w.note(err)
	}
	return names
}

func subdirectories(dir Dir, name string) ([]string, error) {
	entries, err := dir.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// linksOfEmpty is the link count of a directory without subdirectories: its name and its dot.
const linksOfEmpty = 2

// countsSubdirectories reports whether the link count of the root fits its number of subdirectories. This is true for
// cgroup v2 (kernfs_refresh_inode in fs/kernfs/inode.c) and saves most of a walk: nearly every cgroup is a leaf, and
// listing its 60 files costs ten times as much as asking for its links.
func countsSubdirectories(cgroups Dir, subdirectories int) bool {
	stat, known := directoryStat(cgroups, ".")
	return known && uint64(stat.Nlink) == uint64(subdirectories)+linksOfEmpty
}

// CgroupInode identifies a cgroup also after another one has got its path, 0 if it is gone.
func CgroupInode(cgroups Dir, cgroup string) uint64 {
	stat, _ := directoryStat(cgroups, inCgroup(cgroup, "."))
	return stat.Ino
}

func directoryStat(dir Dir, name string) (stat syscall.Stat_t, known bool) {
	info, err := dir.Stat(name)
	if err != nil {
		return syscall.Stat_t{}, false
	}
	pointer, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return syscall.Stat_t{}, false
	}
	return *pointer, true
}
