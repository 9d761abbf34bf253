package arm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// mountedCgroups returns the root of the unified hierarchy: of this machine, or a mount of it for the test, which needs
// root. For others .ci/proofs/cgroups has the whole of it.
func mountedCgroups(t *testing.T) string {
	t.Helper()
	var mounted unix.Statfs_t
	if err := unix.Statfs(CgroupRoot, &mounted); err == nil && mounted.Type == unix.CGROUP2_SUPER_MAGIC && unix.Access(CgroupRoot, unix.W_OK) == nil {
		return CgroupRoot
	}
	root := t.TempDir()
	if err := unix.Mount("none", root, "cgroup2", 0, ""); err != nil {
		t.Skipf("needs to mount cgroup v2: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return root
}

// delegatedCgroup creates a cgroup with the mark of systemd.
func delegatedCgroup(t *testing.T) (root, dir string) {
	t.Helper()
	root, dir = ownCgroupWithoutMark(t)
	if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	return root, dir
}

// ownCgroupWithoutMark creates a cgroup as the manager of a user does.
func ownCgroupWithoutMark(t *testing.T) (root, dir string) {
	t.Helper()
	root = mountedCgroups(t)
	dir, err := os.MkdirTemp(root, "umascope-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = killCgroup(dir) // what a failed test has left
		if err := removeCgroup(dir); err != nil {
			t.Error(err)
		}
	})
	return root, dir
}

func membersOf(t *testing.T, dir string) []int {
	t.Helper()
	pids, err := cgroupMembers(dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(pids)
	return pids
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestAnArmHasACgroupUntilItsOwnerOrItsGuardianStopsIt(t *testing.T) {
	for name, killed := range map[string]bool{"the owner stops it": false, "the owner is killed": true} {
		t.Run(name, func(t *testing.T) {
			root, dir := delegatedCgroup(t)
			o := startOwner(t, "it is ready", "CGROUPS="+root, "DELEGATED="+dir)
			pids := o.started(true)
			slices.Sort(pids)
			if got := membersOf(t, filepath.Join(dir, "arm-a", "process-family")); !slices.Equal(got, pids) {
				t.Errorf("in the cgroup of the process: %v, want %v", got, pids)
			}
			owners := []int{o.Process.Pid, o.guardian()}
			slices.Sort(owners)
			if got := membersOf(t, filepath.Join(dir, ownCgroup)); !slices.Equal(got, owners) {
				t.Errorf("in the cgroup of uma-load: %v, want %v", got, owners)
			}
			if killed {
				o.kill()
			} else if err := o.Process.Signal(unix.SIGTERM); err != nil {
				t.Fatal(err)
			}
			o.gone(pids)
			if isThere(filepath.Join(dir, "arm-a")) {
				t.Error("the cgroup of the arm is there")
			}
		})
	}
}

// TestAScopeOfAUserIsDelegatedWithoutAMark: systemd 252 marks cgroups of the system's manager only.
func TestAScopeOfAUserIsDelegatedWithoutAMark(t *testing.T) {
	root, dir := ownCgroupWithoutMark(t)
	o := startOwner(t, "it is ready", "CGROUPS="+root, "DELEGATED="+dir, "SCOPE=yes")
	pids := o.started(true)
	slices.Sort(pids)
	if got := membersOf(t, filepath.Join(dir, "arm-a", "process-family")); !slices.Equal(got, pids) {
		t.Errorf("in the cgroup of the process: %v, want %v", got, pids)
	}
	if err := o.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	o.gone(pids)
	if err := os.Chown(dir, 1, 1); err != nil {
		t.Fatal(err)
	}
	if ownedByThisUser(dir) {
		t.Error("the cgroup of another user is taken as this user's")
	}
}

// TestADaemonIsFoundByItsCgroup: it has left group and session, its environment has no mark and its parent has ended.
func TestADaemonIsFoundByItsCgroup(t *testing.T) {
	_, dir := delegatedCgroup(t)
	daemon := in(t, "daemon")
	engine := doing("engine", "wait", "DIARY", os.DevNull, "DAEMON", daemon)
	engine.Argv = []string{"sh", "-c", `(env -i setsid sh -c 'trap "" TERM; echo $$ >"$0"; exec sleep 3600' "$DAEMON" &); until [ -s "$DAEMON" ]; do :; done; exec "$0"`, os.Args[0]}
	engine.Stop.Timeout = 100 * time.Millisecond
	folder := t.TempDir()
	r, err := Up(t.Context(), armOf(engine, doing("agent", "wait", "DIARY", os.DevNull)), folder, Options{Cgroups: &Cgroups{dir: dir}, Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	state := r.State()
	pid, agent := pidsIn(t, daemon)[0], state.Processes[1].Leader
	if state.Cgroup != filepath.Join(dir, "arm-a") || !slices.Contains(membersOf(t, state.processCgroup("engine")), pid) {
		t.Errorf("%s: %d is not in it", state.Cgroup, pid)
	}
	r.Leave()
	if err := unix.Kill(state.Processes[0].Leader.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-r.processes[0].client.Ended()
	if left, err := Leftovers(t.Context(), plan.Arm{}, folder); err != nil || len(left) != 2 || left[0].What != fmt.Sprint(pid) {
		t.Errorf("%v (%v)", left, err)
	}
	if err := Down(t.Context(), plan.Arm{}, folder, testLog(t)); err != nil || lives(pid) || lives(agent.PID) || isThere(state.Cgroup) {
		t.Errorf("%v; the daemon lives: %t, the agent: %t, the cgroup is there: %t", err, lives(pid), lives(agent.PID), isThere(state.Cgroup))
	}
}

func TestACgroupIsKilledOnlyAfterTheSignalWasInVain(t *testing.T) {
	for what, want := range map[string]string{"wait": "", "deaf": "1"} {
		p := doing("engine", what, "DIARY", os.DevNull)
		if what == "deaf" {
			p.Stop.Timeout = 50 * time.Millisecond
		}
		r := upIn(t, t.TempDir(), armOf(p))
		group := in(t, "arm-a")
		if err := os.MkdirAll(filepath.Join(group, "process-engine"), 0o755); err != nil {
			t.Fatal(err)
		}
		r.keeper.state.Cgroup = group // a folder: a kernel would not show what was written
		err := r.Down(t.Context())
		written := filepath.Join(group, "process-engine", "cgroup.kill")
		if got := read(t, written); got != want || (err != nil) != (want != "") {
			t.Errorf("%s: %q written (%v)", what, got, err)
		}
		_ = os.Remove(written) // a kernel's file would not keep the folder
	}
}

func TestACgroupWithAProcessIsNamedAndAnEmptyOneIsReplaced(t *testing.T) {
	_, dir := delegatedCgroup(t)
	old := filepath.Join(dir, "arm-a", "process-old")
	if err := os.MkdirAll(old, 0o755); err != nil {
		t.Fatal(err)
	}
	group, err := os.Open(old)
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	stranger := exec.Command("sleep", "3600")
	stranger.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	o := Options{Cgroups: &Cgroups{dir: dir}, Log: testLog(t)}
	spec := armOf(doing("engine", "wait", "DIARY", os.DevNull))
	_, err = Up(t.Context(), spec, t.TempDir(), o)
	if want := fmt.Sprintf("cgroup %s is not removed, with processes [%d]", old, stranger.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	_ = stranger.Process.Kill()
	_ = stranger.Wait() // it was killed
	r, err := Up(t.Context(), spec, t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	if isThere(old) {
		t.Error("the cgroup of an earlier start is there")
	}
	if err := r.Down(t.Context()); err != nil || isThere(filepath.Dir(old)) {
		t.Error(err)
	}
}

func TestCgroupsAreTakenOnlyWhereTheyAreDelegated(t *testing.T) {
	empty := t.TempDir()
	if c, err := takeDelegated(empty, true); err == nil || err.Error() != "no cgroup v2 is mounted at "+empty {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := takeDelegated(mountedCgroups(t), false); err == nil || !strings.HasSuffix(err.Error(), " is not delegated") {
		t.Errorf("%v, %v", c, err)
	}
}

func TestPlacementNamesTheControllers(t *testing.T) {
	for want, c := range map[string]*Cgroups{
		"process groups":                         nil,
		"a cgroup of each arm":                   {},
		"a cgroup of each arm, with cpu, memory": {controllers: []string{"cpu", "memory"}},
	} {
		if got := c.Placement(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
