package arm

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// owner is a process that has an arm with a guardian.
type owner struct {
	*exec.Cmd
	t                *testing.T
	dir, diary, file string
}

// startOwner starts a process that brings an arm up. ready is the text of the log by which its process is ready.
func startOwner(t *testing.T, ready string, env ...string) owner {
	t.Helper()
	o := owner{exec.Command(os.Args[0]), t, t.TempDir(), in(t, "diary"), in(t, "file")}
	o.Env = append(os.Environ(), act+"=owner", "GUARDIAN=1", "DIR="+o.dir, "DIARY="+o.diary, "FILE="+o.file, "READY="+ready)
	o.Env = append(o.Env, env...)
	if err := o.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = o.Process.Kill()
		_ = o.Wait()
		_ = Down(context.Background(), plan.Arm{}, o.dir, nil) // of a test that failed
	})
	return o
}

// started waits until the arm's process and its two children run, and is ready or not; it returns all three.
func (o owner) started(ready bool) (pids []int) {
	o.t.Helper()
	until(o.t, "the process of the arm has two children", func() bool {
		state, err := readState(o.dir)
		if err != nil || state == nil || len(state.Processes) == 0 || (state.Processes[0].ReadyAt != nil) != ready {
			return false
		}
		pids = append(pidsIn(o.t, o.diary), state.Processes[0].Leader.PID)
		return len(pids) == 3 && pids[2] != 0
	})
	return pids
}

// guardians are the process ids of the guardians of the arm.
func (o owner) guardians() (pids []int) {
	o.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		o.t.Fatal(err)
	}
	for _, path := range paths {
		if text, _ := os.ReadFile(path); bytes.HasSuffix(text, []byte("\x00"+guardianAct+"\x00"+o.dir+"\x00")) { // else it has ended meanwhile
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				o.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func (o owner) guardian() int {
	o.t.Helper()
	pids := o.guardians()
	if len(pids) != 1 {
		o.t.Fatalf("guardians %v", pids)
	}
	return pids[0]
}

func (o owner) kill() {
	o.t.Helper()
	if err := o.Process.Kill(); err != nil {
		o.t.Fatal(err)
	}
	_ = o.Wait() // it was killed
}

// gone waits until nothing of the arm is left, and its guardian neither.
func (o owner) gone(pids []int) {
	o.t.Helper()
	until(o.t, "the guardian has ended", func() bool { return len(o.guardians()) == 0 })
	expectGone(o.t, pids)
	if state, err := readState(o.dir); err != nil || state.DownAt == nil {
		o.t.Errorf("the arm is not down: %+v (%v)", state, err)
	}
	if _, err := os.Stat(o.file); err == nil {
		o.t.Error("its file is there")
	}
}

// log is what guardians wrote.
func (o owner) log() string { return read(o.t, filepath.Join(o.dir, LogsFolder, guardianLog)) }

func TestAGuardianStopsTheArmOfAnOwnerThatIsKilled(t *testing.T) {
	t.Parallel()
	for name, ready := range map[string]bool{"while the arm is up": true, "while the arm comes up": false} {
		t.Run(name, func(t *testing.T) {
			text := "it is ready"
			if !ready {
				text = "never written"
			}
			o := startOwner(t, text)
			pids := o.started(ready)
			o.guardian()
			o.kill()
			o.gone(pids)
			if log := o.log(); !strings.Contains(log, `level=WARN msg="uma-load was killed: its guardian stopped the arm" folder=`+o.dir) {
				t.Errorf("%q", log)
			}
		})
	}
}

func TestAGuardianStopsByTheCommandOfThePlan(t *testing.T) {
	t.Parallel()
	o := startOwner(t, "it is ready", `STOP=echo "stopped" >"$DIARY.stop"`)
	pids := o.started(true)
	o.kill()
	o.gone(pids)
	if got := read(t, o.diary+".stop"); got != "stopped\n" {
		t.Errorf("%q", got)
	}
	if found, err := exec.Command("grep", "-rl", "echo", o.dir).Output(); len(found) > 0 {
		t.Errorf("the command stands in %s (%v)", found, err)
	}
}

func TestAGuardianLeavesWhenItsArmIsDown(t *testing.T) {
	t.Parallel()
	o := startOwner(t, "it is ready")
	pids := o.started(true)
	o.guardian()
	if err := o.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := o.Wait(); err != nil {
		t.Fatal(err)
	}
	o.gone(pids)
	if log := o.log(); log != "" {
		t.Errorf("it stopped something: %q", log)
	}
}

func TestAnArmWhoseGuardianIsKilledGoesOnAndIsStoppedByItsOwner(t *testing.T) {
	t.Parallel()
	o := startOwner(t, "it is ready")
	pids := o.started(true)
	if err := unix.Kill(o.guardian(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "the guardian has ended", func() bool { return len(o.guardians()) == 0 })
	for _, pid := range pids {
		if !lives(pid) {
			t.Errorf("%d went with the guardian", pid)
		}
	}
	if err := o.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := o.Wait(); err != nil {
		t.Fatal(err)
	}
	o.gone(pids)
}

// TestNoProcessOfAnArmHasThePipeOfItsGuardian: one that had its write end would keep the guardian from the end of the file.
func TestNoProcessOfAnArmHasThePipeOfItsGuardian(t *testing.T) {
	t.Parallel()
	o := startOwner(t, "it is ready")
	pids := o.started(true)
	guardian := o.guardian()
	if sid, err := unix.Getsid(guardian); err != nil || sid != guardian {
		t.Errorf("the guardian does not lead a session: %d, %v", sid, err)
	}
	pipe := filesOf(t, guardian)[0]
	if !regexp.MustCompile(`^pipe:\[\d+\]$`).MatchString(pipe) {
		t.Fatalf("the guardian reads %q", pipe)
	}
	for fd, path := range filesOf(t, guardian) {
		if fd > 0 && strings.HasPrefix(path, "/") && path != os.DevNull && !strings.HasPrefix(path, "/sys/fs/cgroup/") { // which the runtime of Go reads
			t.Errorf("the guardian has %s open", path)
		}
	}
	for _, pid := range pids {
		for _, path := range filesOf(t, pid) {
			if path == pipe {
				t.Errorf("process %d of the arm has %s", pid, pipe)
			}
		}
	}
	o.kill()
	o.gone(pids)
}

// filesOf are the open files of a process by their descriptors.
func filesOf(t *testing.T, pid int) map[int]string {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[int]string{}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		files[fd], _ = os.Readlink(filepath.Join(dir, entry.Name())) // empty if it was closed meanwhile
	}
	return files
}

// message is what an owner writes to its guardian.
func message(t *testing.T, dir, token string) *bytes.Reader {
	t.Helper()
	text, err := json.Marshal(guarded{Dir: dir, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

func TestAGuardianStopsNoOtherStartOfItsArm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := doing("engine", "deaf")
	p.Stop.Timeout = time.Nanosecond
	r := upIn(t, dir, armOf(p))
	r.Leave() // so that the lock is free
	if err := Guard(t.Context(), message(t, dir, "another")); err != nil || !lives(r.State().Processes[0].Leader.PID) {
		t.Errorf("of another start: %v, lives %t", err, lives(r.State().Processes[0].Leader.PID))
	}
	if err := Guard(t.Context(), message(t, dir, r.State().Token)); err != nil || lives(r.State().Processes[0].Leader.PID) {
		t.Errorf("of this one: %v, lives %t", err, lives(r.State().Processes[0].Leader.PID))
	}
	if err := Guard(t.Context(), strings.NewReader("")); err == nil {
		t.Error("it guards without being asked to")
	}
}

// waited hears that an arm waits for a guardian.
type waited struct {
	slog.Handler
	heard chan struct{}
}

func (waited) Enabled(context.Context, slog.Level) bool { return true }

func (w waited) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "its guardian stops the arm: waiting") {
		close(w.heard)
	}
	return nil
}

func TestAnArmThatItsGuardianStopsIsWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	leave(t, dir, Started{}, "")
	guardian := newKeeper(dir, nil)
	guardian.role = guardianRole
	if err := guardian.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{})
	down := make(chan error)
	go func() {
		down <- Down(t.Context(), plan.Arm{}, dir, slog.New(waited{slog.DiscardHandler, heard}))
	}()
	select {
	case err := <-down:
		t.Fatalf("it does not wait: %v", err)
	case <-heard:
	}
	guardian.close()
	if err := <-down; err != nil {
		t.Error(err)
	}
}

func TestAnArmThatAnotherProcessHasIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	upIn(t, dir, armOf(doing("engine", "wait", "DIARY", os.DevNull)))
	if err := Down(t.Context(), plan.Arm{}, dir, nil); err == nil || !strings.Contains(err.Error(), "in use by process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("%v", err)
	}
}
