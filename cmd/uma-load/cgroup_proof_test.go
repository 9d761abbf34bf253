//go:build proof

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/rundir"
)

// This proof needs root on a machine with cgroup v2, whose memory controller may be enabled for cgroups of the root. It
// needs no systemd: it delegates a cgroup as systemd does.

// delegate creates a cgroup with the mark of systemd and opens its folder, in which programs start.
func delegate(t *testing.T) (dir string, folder *os.File) {
	t.Helper()
	dir, err := os.MkdirTemp(arm.CgroupRoot, "umascope-proof-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err == nil {
		err = unix.Setxattr(dir, "user.delegate", []byte("1"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0) // what a failed test has left
		_ = os.Remove(filepath.Join(dir, "uma-load"))
		_ = os.Remove(dir)
	})
	if controllers := cgroupFile(t, dir, "cgroup.controllers"); !slices.Contains(controllers, "memory") {
		t.Fatalf("%s has the controllers %v: enable memory in %s/cgroup.subtree_control", dir, controllers, arm.CgroupRoot)
	}
	if folder, err = os.Open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return dir, folder
}

// cgroupFile returns the words of a file of a cgroup.
func cgroupFile(t *testing.T, path ...string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}

// startIn begins the campaign in a cgroup.
func (d *drill) startIn(folder *os.File) invocation {
	d.t.Helper()
	return d.startWith(func(s *invocation) {
		s.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd())}
	})
}

// expectArm checks the cgroup of an arm that is up, and returns it.
func (d *drill) expectArm(dir, name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(campaign.ArmFolder(d.folder(), "simulated", name), arm.StateFile))
	var state arm.State
	if err == nil {
		err = json.Unmarshal(text, &state)
	}
	if err != nil || state.Cgroup != filepath.Join(dir, "arm-"+name) {
		d.t.Fatalf("arm %s is in %q (%v)", name, state.Cgroup, err)
	}
	if pids := cgroupFile(d.t, state.Cgroup, "process-engine", "cgroup.procs"); !slices.Contains(pids, strconv.Itoa(state.Processes[0].Leader.PID)) {
		d.t.Errorf("the engine %d is not among %v", state.Processes[0].Leader.PID, pids)
	}
	charged, err := strconv.Atoi(cgroupFile(d.t, state.Cgroup, "memory.current")[0])
	if err != nil || charged < 1<<20 {
		d.t.Errorf("%d bytes are charged to the arm (%v)", charged, err)
	}
	if stat := cgroupFile(d.t, state.Cgroup, "memory.stat"); !slices.Contains(stat, "anon") {
		d.t.Errorf("memory.stat: %v", stat)
	}
	d.t.Logf("arm %s: %s, %d bytes charged, memory.stat: %.60s", name, state.Cgroup, charged, strings.Join(cgroupFile(d.t, state.Cgroup, "memory.stat"), " "))
	return state.Cgroup
}

// TestArmsOfACampaignHaveCgroups kills a campaign in its second slot, refuses to continue it with process groups, and
// continues it in the delegated cgroup.
func TestArmsOfACampaignHaveCgroups(t *testing.T) {
	dir, folder := delegate(t)
	d := &drill{experiment: newExperiment(t, "requests: 200, concurrency: 4", 2)}
	s := d.startIn(folder)
	d.await("the first run measures", func(e campaign.Event) bool { return e.Event == "up" && e.Slot == 1 })
	d.expectArm(dir, "a")
	d.run = d.await("the second run measures", func(e campaign.Event) bool { return e.Event == "up" && e.Slot == 2 }).Run
	group := d.expectArm(dir, "b")
	if own := cgroupFile(t, dir, "uma-load", "cgroup.procs"); !slices.Contains(own, strconv.Itoa(s.Process.Pid)) || !slices.Contains(own, strconv.Itoa(d.guardian())) {
		t.Errorf("uma-load %d and its guardian are not in %v", s.Process.Pid, own)
	}
	kill(t, s.Cmd)
	t.Log(strings.TrimSpace(d.guardianLog()))
	if _, err := os.Stat(group); err == nil {
		t.Error("the guardian has left the cgroup of the arm")
	}
	if _, err := os.Stat("/run/systemd/system"); err != nil { // with systemd uma-load would restart itself in a scope
		s := d.start()
		if exit := s.end(); exit != "2" || !strings.Contains(s.output(), "this start would place them in process groups") {
			t.Errorf("exit %s: %s", exit, s.output())
		}
	}
	// The delegated cgroup has controllers for those below it now, so that it holds no process: systemd starts uma-load in
	// the cgroup that the unit names by DelegateSubgroup=.
	subgroup, err := os.Open(filepath.Join(dir, "uma-load"))
	if err != nil {
		t.Fatal(err)
	}
	defer subgroup.Close()
	s = d.startIn(subgroup)
	if exit := s.end(); exit != "0" {
		t.Fatalf("exit %s: %s", exit, s.output())
	}
	if left, err := filepath.Glob(filepath.Join(dir, "arm-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}
	facts, err := campaign.ReadFacts(d.folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, slot := range facts.Slots {
		m, err := rundir.Folder(filepath.Join(d.folder(), slot.Runs[len(slot.Runs)-1])).ReadManifest()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimPrefix(filepath.Join(dir, "arm-"+slot.Arm), arm.CgroupRoot)
		if m.Campaign.Cgroup != want || !strings.HasPrefix(m.Campaign.Placement, "a cgroup of each arm, with ") || !strings.Contains(m.Campaign.Placement, "memory") {
			t.Errorf("slot %d: %q in %q", slot.Number, m.Campaign.Placement, m.Campaign.Cgroup)
		}
	}
	compared, err := os.ReadFile(filepath.Join(d.folder(), "comparison.json"))
	if err != nil || !bytes.Contains(compared, []byte(`"processes of the arm in"`)) {
		t.Errorf("the comparison has no row of the placement (%v)", err)
	}
	fmt.Fprintln(t.Output(), s.output())
}
