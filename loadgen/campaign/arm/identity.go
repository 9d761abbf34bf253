package arm

import (
	"errors"
	"os"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// markVariable is in the environment of everything that a process of an arm starts: what has left its
// group and session, as daemons do, is still found by it.
const markVariable = "UMASCOPE_ARM"

// mark tells the descendants of one process of one start from all others. The last stroke keeps one
// name from being the beginning of another.
func mark(token, name string) string { return token + "/" + name + "/" }

// Identity is a process: its number, and when it started, since numbers are used again.
type Identity struct {
	PID int `json:"pid"`
	// Start is in clock ticks since the boot, as the kernel counts it.
	Start uint64 `json:"start_ticks"`
}

// identify is the process that has the number now.
func identify(pid int) (Identity, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return Identity{}, err
	}
	stat, err := p.Stat()
	return Identity{pid, stat.Starttime}, err
}

// ended says whether the process is a zombie, or not there.
func (i Identity) ended() bool {
	p, err := procfs.NewProc(i.PID)
	if err != nil {
		return true
	}
	stat, err := p.Stat()
	return err != nil || over(stat)
}

// over is of zombies: they have ended, and wait only for their parent to hear of it.
func over(stat procfs.ProcStat) bool { return stat.State == "Z" || stat.State == "X" }

// family is what belongs to a process that led a session of its own: its group, its session, those
// that descend from it and those that carry its mark.
type family struct {
	leader Identity // PID 0 if it is not known
	mark   string
	// seen are members of earlier looks. Of one of root's that has left its session, nothing else tells
	// us to whom it belongs once its parent has ended.
	seen map[Identity]bool
}

func newFamily(leader Identity, mark string) family { return family{leader, mark, map[Identity]bool{}} }

// member is a process of a family that has not ended.
type member struct {
	Identity
	grouped bool // is in the group of the leader
	state   string
}

// relative is a process that may belong to a family.
type relative struct {
	proc procfs.Proc
	stat procfs.ProcStat
}

// members are those that live.
func (f family) members() ([]member, error) {
	all, err := f.relatives()
	if err != nil {
		return nil, err
	}
	known := f.leader.PID != 0 && !all.reused(f.leader)
	found := map[int]bool{}
	for pid, one := range all {
		grouped := known && (one.stat.PGRP == f.leader.PID || one.stat.Session == f.leader.PID)
		if grouped || f.seen[Identity{pid, one.stat.Starttime}] || f.marked(one.proc) {
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

// relatives are the processes by their number.
type relatives map[int]relative

// relatives leaves out what is older than the leader, and us.
func (f family) relatives() (relatives, error) {
	procs, err := procfs.AllProcs()
	if err != nil {
		return nil, err
	}
	all := relatives{}
	for _, p := range procs {
		stat, err := p.Stat()
		if err != nil || stat.Starttime < f.leader.Start || p.PID == os.Getpid() {
			continue // has ended meanwhile, or is none of it
		}
		all[p.PID] = relative{p, stat}
	}
	return all, nil
}

// reused says whether the number of the leader is another's by now. The kernel gives no number away
// while a group or session has it, so that the groups of that number are the other's too. One without a
// process of its number is the leader's, which has ended before those that it started.
func (r relatives) reused(leader Identity) bool {
	one, there := r[leader.PID]
	return there && one.stat.Starttime != leader.Start
}

// addChildren adds what descends from those that were found.
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

// marked looks for nothing but the mark. Of what we may not read there is nothing to see.
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

// signal reaches the process and no other that has its number by now; that it has ended is no error.
func (i Identity) signal(s unix.Signal) error {
	p, err := os.FindProcess(i.PID) // holds on to it, where the kernel can
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
