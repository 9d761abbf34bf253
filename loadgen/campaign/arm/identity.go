package arm

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// markVariable is in the environment of everything that a process of an arm starts. It identifies processes that have
// left the group and the session, as daemons do.
const markVariable = "UMASCOPE_ARM"

// mark distinguishes the descendants of one process of one start from all others. The last slash keeps one name from
// being a prefix of another.
func mark(token, name string) string { return token + "/" + name + "/" }

// Identity identifies a process by its ID and its start time, since IDs are reused.
type Identity struct {
	PID int `json:"pid"`
	// Start is in clock ticks since boot, as in /proc/PID/stat.
	Start uint64 `json:"start_ticks"`
}

// identify returns the identity of the process that has the ID now.
func identify(pid int) (Identity, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Identity{}, err
	}
	stat, err := p.Stat()
	return Identity{pid, stat.Starttime}, err
}

// ended reports whether the process is a zombie, or does not exist.
func (i Identity) ended() bool {
	p, err := procfs.NewProc(i.PID)
	if err != nil {
		return true
	}
	stat, err := p.Stat()
	return err != nil || over(stat)
}

// over reports whether a process is a zombie: it has ended, and its parent has not waited for it yet.
func over(stat procfs.ProcStat) bool { return stat.State == "Z" || stat.State == "X" }

// family is everything that belongs to a process that leads a session: its group, its session, its cgroup, its
// descendants and the processes with its mark.
type family struct {
	leader Identity // PID 0 if it is unknown
	mark   string
	cgroup string // the folder of its cgroup, or empty
	// seen are members that were found earlier. Without it, a root process that left its session could not be
	// attributed once its parent has ended.
	seen map[Identity]bool
}

// family returns the family of a process of the arm.
func (s *State) family(one Started) family {
	return family{one.Leader, mark(s.Token, one.Name), s.processCgroup(one.Name), map[Identity]bool{}}
}

// member is a process of a family that has not ended.
type member struct {
	Identity
	grouped bool // is in the leader's process group
	state   string
}

// relative is a process that may belong to a family.
type relative struct {
	proc procfs.Proc
	stat procfs.ProcStat
}

// members returns the members that are running.
func (f family) members() ([]member, error) {
	all, err := f.relatives()
	if err != nil {
		return nil, err
	}
	inside, err := cgroupMembers(f.cgroup)
	if err != nil {
		return nil, err
	}
	known := f.leader.PID != 0 && !all.reused(f.leader)
	found := map[int]bool{}
	for pid, one := range all {
		grouped := known && (one.stat.PGRP == f.leader.PID || one.stat.Session == f.leader.PID)
		if grouped || slices.Contains(inside, pid) || f.seen[Identity{pid, one.stat.Starttime}] || f.marked(one.proc) {
			found[pid] = true
		}
	}
	all.addChildren(found)
	var members []member
	for pid := range found {
		stat := all[pid].stat
		if !over(stat) {
			f.seen[Identity{pid, stat.Starttime}] = true
			members = append(members, member{Identity{pid, stat.Starttime}, known && stat.PGRP == f.leader.PID, stat.State})
		}
	}
	return members, nil
}

// relatives maps process IDs to processes.
type relatives map[int]relative

// relatives returns all processes but this one and those older than the leader.
func (f family) relatives() (relatives, error) {
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	all := relatives{}
	for _, p := range procs {
		stat, err := p.Stat()
		if err != nil || stat.Starttime < f.leader.Start || p.PID == os.Getpid() {
			continue // it has ended meanwhile, or does not belong to the family
		}
		all[p.PID] = relative{p, stat}
	}
	return all, nil
}

// reused reports whether the leader's ID belongs to another process now. The kernel does not reuse an ID while a group
// or session has it, so then the groups of that ID belong to the other process too. If no process has the ID, its
// group is the leader's, which ended before its children.
func (r relatives) reused(leader Identity) bool {
	one, there := r[leader.PID]
	return there && one.stat.Starttime != leader.Start
}

// addChildren adds the descendants of the processes in found.
func (r relatives) addChildren(found map[int]bool) {
	for grown := true; grown; {
		grown = false
		for pid, one := range r {
			if !found[pid] && found[one.stat.PPID] {
				found[pid], grown = true, true
			}
		}
	}
}

// marked reports whether the environment contains the mark. It is false if the environment cannot be read.
func (f family) marked(p procfs.Proc) bool {
	env, err := p.Environ()
	if err != nil {
		return false
	}
	for _, one := range env {
		if value, ok := strings.CutPrefix(one, markVariable+"="); ok {
			return value == f.mark
		}
	}
	return false
}

// signal signals this process, and never another process that reused its ID. It is not an error if the process has
// ended.
func (i Identity) signal(s unix.Signal) error {
	p, err := os.FindProcess(i.PID) // a pidfd, if the kernel supports it
	if err != nil {
		return err
	}
	defer p.Release()
	now, err := identify(i.PID)
	if err != nil || now != i {
		return nil
	}
	if err := p.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
