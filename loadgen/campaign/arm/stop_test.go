package arm

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

func TestAProcessThatIgnoresItsSignalIsKilled(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		cut     bool // the context of Down is done
	}{
		"when its time is up":                     {timeout: 200 * time.Millisecond},
		"at once, if there is no patience for it": {timeout: time.Hour, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := doing("engine", "deaf")
			p.Stop.Timeout = c.timeout
			r := upIn(t, t.TempDir(), armOf(p))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.cut {
				cancel()
			}
			begun := time.Now()
			if err := r.Down(ctx); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); !c.cut && took < c.timeout {
				t.Errorf("after %v", took)
			}
			expectGone(t, []int{r.State().Processes[0].Leader.PID})
		})
	}
}

func TestWhatAProcessHasStartedEndsWithIt(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(map[bool]string{false: "it lives", true: "it was lost before"}[lost], func(t *testing.T) {
			dir, diary, leave := t.TempDir(), in(t, "diary"), in(t, "leave")
			p := doing("engine", "family", "DIARY", diary, "LEAVE", leave)
			p.Stop.Timeout = time.Nanosecond
			r := upIn(t, dir, armOf(p))
			if lost {
				appendTo(leave, "")
				<-r.Context().Done()
			}
			children := pidsIn(t, diary)
			if len(children) != 2 || !lives(children[0]) || !lives(children[1]) {
				t.Fatalf("%v", children)
			}
			if err := r.Down(t.Context()); err != nil {
				t.Fatal(err)
			}
			expectGone(t, append(children, r.State().Processes[0].Leader.PID))
		})
	}
}

func TestAChildWithoutAMarkThatOutlivesItsParentEndsToo(t *testing.T) {
	diary := in(t, "diary")
	p := doing("engine", "wait", "DIARY", os.DevNull, "CHILD", diary)
	p.Argv = []string{"sh", "-c", `env -i setsid sh -c 'trap "" TERM; echo $$ >"$0"; exec sleep 3600' "$CHILD" & until [ -s "$CHILD" ]; do :; done; exec "$0"`, os.Args[0]}
	p.Stop.Timeout = time.Second
	r := upIn(t, t.TempDir(), armOf(p))
	child := pidsIn(t, diary)[0]
	if sid, err := unix.Getsid(child); err != nil || sid != child {
		t.Fatalf("the child does not lead a session: %d, %v", sid, err)
	}
	if err := r.Down(t.Context()); err != nil || lives(child) {
		t.Errorf("%v, %d lives %t", err, child, lives(child))
	}
}

func TestAProcessIsStoppedByItsCommandElseByTheSignal(t *testing.T) {
	for name, c := range map[string]struct {
		stop plan.Stop
		want string // in the diary
	}{
		"a command in its own place": {plan.Stop{Argv: []string{"sh", "-c", `echo "stop of $ME" >>"$DIARY"; kill -USR1 $(cat pid)`}, Signal: "SIGKILL"}, "stop of engine\nengine SIGUSR1\n"},
		"a command that fails":       {plan.Stop{Argv: []string{"sh", "-c", "exit 1"}}, "engine SIGTERM\n"},
	} {
		t.Run(name, func(t *testing.T) {
			diary := in(t, "diary")
			p := doing("engine", "wait", "DIARY", diary)
			p.Stop, p.Cwd = c.stop, t.TempDir()
			r := upIn(t, t.TempDir(), armOf(p))
			appendTo(filepath.Join(p.Cwd, "pid"), strconv.Itoa(r.State().Processes[0].Leader.PID))
			if err := r.Down(t.Context()); err != nil || read(t, diary) != c.want {
				t.Errorf("%v, %q", err, read(t, diary))
			}
		})
	}
}

// TestTheStateIsReadWhileAnArmIsEndedAgain fails under the race detector: what hears the end of a process reads the state,
// and a second Down reads it from the folder.
func TestTheStateIsReadWhileAnArmIsEndedAgain(t *testing.T) {
	r := upIn(t, t.TempDir(), armOf(doing("engine", "wait")))
	if err := r.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended, begun := make(chan error), make(chan struct{})
	go func() {
		<-begun
		ended <- r.Down(t.Context())
	}()
	for i := range 1000 {
		if state := r.State(); state.DownAt == nil {
			t.Fatalf("%+v", state)
		}
		if i == 0 {
			close(begun)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// stranger is a process of no arm, in a session of its own.
func stranger(t *testing.T) Identity {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env, c.SysProcAttr = append(os.Environ(), act+"=deaf"), &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	id, err := identify(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// leave makes the state of an arm whose owner has gone.
func leave(t *testing.T, dir string, one Started, boot string) {
	t.Helper()
	state, err := newState(plan.Arm{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if one.Name, one.Signal, one.StopSeconds = "engine", "SIGTERM", 0.01; boot != "" {
		state.BootID = boot
	}
	state.Processes = []Started{one}
	writeState(t, dir, state)
}

func writeState(t *testing.T, dir string, state *State) {
	t.Helper()
	text, err := json.Marshal(state)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, StateFile), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestANumberThatIsUsedAgainIsNotTheArmsProcess(t *testing.T) {
	other := stranger(t)
	for name, given := range map[string]struct {
		id   Identity
		boot string
	}{
		"another start": {Identity{other.PID, other.Start - 1}, ""},
		"another boot":  {other, "00000000-0000-0000-0000-000000000000"},
		"no number":     {Identity{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			leave(t, dir, Started{Leader: given.id}, given.boot)
			if left, err := Leftovers(t.Context(), plan.Arm{}, dir); len(left) > 0 || err != nil {
				t.Errorf("%v, %v", left, err)
			}
			if err := Down(t.Context(), plan.Arm{}, dir, testLog(t)); err != nil || !lives(other.PID) {
				t.Errorf("%v, lives %t", err, lives(other.PID))
			}
		})
	}
	dir := t.TempDir()
	leave(t, dir, Started{Leader: other}, "")
	if err := Down(t.Context(), plan.Arm{}, dir, testLog(t)); err != nil || lives(other.PID) {
		t.Errorf("that of the state itself lives on: %v", err)
	}
}

func TestASignalReachesNoProcessThatReusesTheNumber(t *testing.T) {
	other := stranger(t)
	if err := (Identity{other.PID, other.Start - 1}).signal(unix.SIGKILL); err != nil || !lives(other.PID) {
		t.Error(err)
	}
}

// orphaned returns the owner of an arm without a guardian, which was killed, and the processes of the arm.
func orphaned(t *testing.T) (o owner, pids []int) {
	t.Helper()
	o = startOwner(t, "it is ready", "GUARDIAN=")
	pids = o.started(true)
	o.kill()
	return o, pids
}

func TestWhatAnOwnerThatWasKilledLeftIsNamedAndEnded(t *testing.T) {
	o, pids := orphaned(t)
	dir, file := o.dir, o.file
	spec := armOf(plan.Process{Name: "family"})
	left, err := Leftovers(t.Context(), spec, dir)
	if err != nil || len(left) != 2 || left[0].Kind != KindProcess || left[0].Process != "family" || left[1] != (Leftover{KindFile, "", file}) {
		t.Fatalf("%v, %v", left, err)
	}
	if numbers := strings.Split(left[0].What, ", "); len(numbers) != 3 {
		t.Errorf("%v: the process and its two children", left[0])
	}
	rows, err := Look(t.Context(), spec, dir)
	if err != nil || len(rows) != 1 || rows[0].State != StateAlive || rows[0].ReadyAt == nil {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := Down(t.Context(), plan.Arm{}, dir, testLog(t)); err != nil {
		t.Fatal(err)
	}
	expectGone(t, pids)
	if _, err := os.Stat(file); err == nil {
		t.Error("its file is there")
	}
	if left, err := Leftovers(t.Context(), spec, dir); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	if rows, err := Look(t.Context(), spec, dir); err != nil || rows[0].State != StateStopped {
		t.Errorf("%+v, %v", rows, err)
	}
}

func TestOneThatWasKilledBeforeItsNumberWasKnownIsFoundByItsMark(t *testing.T) {
	o, pids := orphaned(t)
	state, err := readState(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	state.Processes[0].Leader = Identity{}
	writeState(t, o.dir, state)
	if err := Down(t.Context(), plan.Arm{}, o.dir, testLog(t)); err != nil {
		t.Fatal(err)
	}
	expectGone(t, pids)
}

func TestAPanicWhileTheArmComesUpEndsItToo(t *testing.T) {
	dir := t.TempDir()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = Up(t.Context(), armOf(doing("engine", "wait", "DIARY", os.DevNull)), dir, Options{Log: slog.New(panicky{slog.DiscardHandler})})
	}()
	if pids := pidsOf(dir); len(pids) == 0 || lives(pids[0]) {
		t.Errorf("%v", pids)
	}
}

// panicky is a log that fails when a process is up.
type panicky struct{ slog.Handler }

func (panicky) Enabled(context.Context, slog.Level) bool { return true }

func (panicky) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "process is up" {
		panic("in the middle")
	}
	return nil
}

func TestTheStateOfNoArmEndsNothing(t *testing.T) {
	if err := Down(t.Context(), plan.Arm{}, in(t, "none"), nil); err != nil {
		t.Error(err)
	}
	if rows, err := Look(t.Context(), plan.Arm{}, in(t, "none")); rows != nil || err != nil {
		t.Errorf("%v, %v", rows, err)
	}
	for _, text := range []string{"", "{}", `{"schema":"umascope.arm/2"}`, `{"schema":"umascope.arm/1","token":"t","boot_id":"b","cgroup":"/sys/fs/cgroup/user.slice"}`,
		`{"schema":"umascope.arm/1","token":"t","boot_id":"b","cgroup":"/sys/fs/cgroup/../arm-a"}`, `{"schema":"umascope.arm/1","token":"t","boot_id":"b","cgroup":"arm-a"}`, `{"schema":"umascope.arm/1","token":"t","boot_id":"b","processes":[{"name":"p","leader":{"pid":1,"start_ticks":1}}]}`,
		`{"schema":"umascope.arm/1","token":"t","boot_id":"b","processes":[{"name":"p","leader":{"pid":9}}]}`, `{"schema":"umascope.arm/1","token":"t","boot_id":"b","processes":[{"name":"p","host":"-oProxyCommand=x"}]}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, StateFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Down(t.Context(), plan.Arm{}, dir, nil); err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzAStateNamesNoProcessByItsNumberAlone(f *testing.F) {
	f.Add([]byte(`{"schema":"umascope.arm/1","token":"t","boot_id":"b","processes":[{"name":"p","leader":{"pid":7,"start_ticks":1}}]}`))
	f.Add([]byte(`{"schema":"umascope.arm/1","token":"t","boot_id":"b","processes":[{"name":"p","container":"c","tool":"docker"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		state, err := parseState(text)
		if err != nil {
			return
		}
		for _, one := range state.Processes {
			if one.Leader.PID != 0 && (one.Leader.PID < 2 || one.Leader.Start == 0) || strings.HasPrefix(one.Host, "-") || strings.HasPrefix(one.Container, "-") || strings.ContainsAny(one.Name, "/ \n") {
				t.Errorf("%+v", one)
			}
		}
	})
}
