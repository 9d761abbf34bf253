package arm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// Where the processes of an arm are placed, as manifests and journals record it. Placement of Cgroups adds the
// controllers.
const (
	PlacedInGroups  = "process groups"
	placedInCgroups = "a cgroup of each arm"
)

// CgroupRoot is where the unified hierarchy of cgroups is mounted.
const CgroupRoot = "/sys/fs/cgroup"

// Names of cgroups below a delegated one. The prefixes keep names of a plan from being names of the kernel's files.
const (
	ownCgroup     = "uma-load" // DelegateSubgroup= of the units that campaign install writes
	armPrefix     = "arm-"
	processPrefix = "process-"
)

// Cgroups is a delegated cgroup (v2), below which each arm has a cgroup, and each process of an arm one below that.
// Memory and I/O are charged to the arm's, which has the controllers; the one of a process is for cgroup.kill.
//
// github.com/containerd/cgroups creates cgroups too, but enables their controllers from the root of the hierarchy down,
// and the cgroups above a delegated one are systemd's to change. Its links to eBPF and D-Bus are not needed either.
type Cgroups struct {
	dir         string
	controllers []string
}

// Placement describes where arms are placed: arms with other controllers are not charged for the same.
func (c *Cgroups) Placement() string {
	switch {
	case c == nil:
		return PlacedInGroups
	case len(c.controllers) == 0:
		return placedInCgroups
	}
	return placedInCgroups + ", with " + strings.Join(c.controllers, ", ")
}

// String returns the folder of the delegated cgroup.
func (c *Cgroups) String() string { return c.dir }

// TakeDelegated returns the cgroup that systemd has delegated to this process, and moves this process to a cgroup below
// it: a cgroup whose controllers are enabled for those below it may hold no processes. Its error is why arms cannot
// have cgroups here. A process that was started by systemd-run with Delegate=yes sets ownScope: the manager of a user
// marks nothing, since all its cgroups are that user's.
func TakeDelegated(ownScope bool) (*Cgroups, error) { return takeDelegated(CgroupRoot, ownScope) }

func takeDelegated(root string, ownScope bool) (*Cgroups, error) {
	if !isCgroup2(root) {
		return nil, fmt.Errorf("no cgroup v2 is mounted at %s", root)
	}
	path, err := cgroupOfThisProcess()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, path)
	if filepath.Base(dir) == ownCgroup { // by DelegateSubgroup=
		dir = filepath.Dir(dir)
	}
	if !delegated(dir) && !(ownScope && ownedByThisUser(dir)) {
		return nil, fmt.Errorf("cgroup %s is not delegated", path)
	}
	c := &Cgroups{dir: dir}
	return c, c.prepare()
}

// cgroupOfThisProcess returns its path in the unified hierarchy.
func cgroupOfThisProcess() (string, error) {
	self, err := procfs.Self()
	if err != nil {
		return "", err
	}
	groups, err := self.Cgroups()
	at := slices.IndexFunc(groups, func(g procfs.Cgroup) bool { return g.HierarchyID == 0 })
	if err == nil && at < 0 {
		err = errors.New("this process is in no cgroup v2")
	}
	if err != nil {
		return "", err
	}
	return groups[at].Path, nil
}

// delegated reports whether systemd has marked a cgroup as delegated. Every user reads the first mark, which systemd
// has set since version 251.
func delegated(dir string) bool {
	return slices.ContainsFunc([]string{"user.delegate", "trusted.delegate"}, func(mark string) bool {
		value := make([]byte, 1)
		n, err := unix.Getxattr(dir, mark, value)
		return err == nil && string(value[:n]) == "1"
	})
}

func ownedByThisUser(dir string) bool {
	var stat unix.Stat_t
	return unix.Stat(dir, &stat) == nil && int(stat.Uid) == os.Geteuid()
}

// prepare moves this process out of the way and enables the controllers that are available for arms.
func (c *Cgroups) prepare() error {
	own := filepath.Join(c.dir, ownCgroup)
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := writeCgroup(own, "cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
		return err
	}
	available, err := os.ReadFile(filepath.Join(c.dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	c.controllers = nil
	for _, name := range strings.Fields(string(available)) {
		if slices.Contains([]string{"cpu", "io", "memory", "pids"}, name) {
			c.controllers = append(c.controllers, name)
		}
	}
	slices.Sort(c.controllers)
	if len(c.controllers) == 0 {
		return nil
	}
	err = writeCgroup(c.dir, "cgroup.subtree_control", "+"+strings.Join(c.controllers, " +"))
	if errors.Is(err, unix.EBUSY) {
		err = fmt.Errorf("%w: the delegated cgroup holds other processes than uma-load", err)
	}
	return err
}

func writeCgroup(dir, file, text string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(text), 0)
}

// makeCgroup creates the cgroup of the arm, if arms have cgroups of their own. It first writes the state, so that Down
// in any process removes it. An empty one of an earlier start is replaced, so that its counters begin at 0.
func (k *keeper) makeCgroup(arm string) error {
	if k.cgroups == nil {
		return nil
	}
	dir := filepath.Join(k.cgroups.dir, armPrefix+arm)
	if err := removeCgroup(dir); err != nil {
		return err
	}
	if err := k.note(func(s *State) { s.Cgroup = dir }); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cgroup of the arm: %w", err)
	}
	return nil
}

// processCgroup returns the cgroup of a process, or "" if the arm has none.
func (s *State) processCgroup(name string) string {
	if s.Cgroup == "" {
		return ""
	}
	return filepath.Join(s.Cgroup, processPrefix+name)
}

// openCgroup creates the cgroup of a process and opens its folder. It returns nil if the arm has none.
func (k *keeper) openCgroup(name string) (*os.File, error) {
	dir := k.state.processCgroup(name)
	if dir == "" {
		return nil, nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("cgroup of the process: %w", err)
	}
	return os.Open(dir)
}

// removeCgroupOfArm removes the cgroup of the arm. A reboot removes it too.
func (k *keeper) removeCgroupOfArm() error {
	state := k.seen()
	if state.Cgroup == "" || state.BootID != k.boot() {
		return nil
	}
	return removeCgroup(state.Cgroup)
}

// cgroupRemovalTimeout is how long the kernel may need after the end of the last process of a cgroup.
const cgroupRemovalTimeout = time.Second

// removeCgroup removes a cgroup and those below it, which hold no processes. None is no error.
func removeCgroup(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return ignoreMissing(err)
	})
	for _, path := range slices.Backward(dirs) {
		for began := time.Now(); err == nil; time.Sleep(goneEvery) {
			removed := ignoreMissing(unix.Rmdir(path))
			if removed == nil {
				break
			}
			if !errors.Is(removed, unix.EBUSY) || time.Since(began) > cgroupRemovalTimeout {
				pids, _ := cgroupMembers(path) // named as far as they can be read
				err = fmt.Errorf("cgroup %s is not removed, with processes %v: %w", path, pids, removed)
			}
		}
	}
	return err
}

// cgroupMembers returns the processes in a cgroup and those below it. A cgroup that is not there has none.
func cgroupMembers(dir string) (pids []int, err error) {
	if dir == "" {
		return nil, nil
	}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return ignoreMissing(err)
		}
		text, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 { // 0 is a process of another PID namespace
				pids = append(pids, pid)
			}
		}
		return ignoreMissing(err)
	})
	return pids, err
}

// killCgroup kills all processes in a cgroup and those below it at once, so that none starts another meanwhile. It
// reaches processes of root too.
func killCgroup(dir string) error {
	if dir == "" {
		return nil
	}
	return ignoreMissing(writeCgroup(dir, "cgroup.kill", "1"))
}

// ignoreMissing drops the errors of a cgroup that is gone: ENODEV if it was removed while a file was open.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}
