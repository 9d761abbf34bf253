package arm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

func TestProcessesStartInOrderAndAreStoppedInReverse(t *testing.T) {
	dir, diary := t.TempDir(), in(t, "diary")
	spec := armOf(doing("one", "wait", "DIARY", diary), doing("two", "wait", "DIARY", diary), doing("three", "wait", "DIARY", diary))
	spec.Processes[1].Stop.Signal = "SIGUSR1"
	r := upIn(t, dir, spec)
	s := r.State()
	for i, name := range []string{"one", "two", "three"} {
		p := s.Processes[i]
		if p.Name != name || p.Leader.PID < 2 || p.ReadyAt == nil || i > 0 && p.StartedAt.Before(*s.Processes[i-1].ReadyAt) {
			t.Errorf("%+v", p)
		}
	}
	if err := r.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, diary); got != "three SIGTERM\ntwo SIGUSR1\none SIGTERM\n" {
		t.Errorf("%q", got)
	}
	if left, err := Leftovers(t.Context(), spec, dir); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	if err := context.Cause(r.Context()); !errors.Is(err, errGone) {
		t.Errorf("what was ended is taken for lost: %v", err)
	}
	if err := r.Down(t.Context()); err != nil {
		t.Errorf("down twice: %v", err)
	}
}

func TestAProcessIsReadyByPageByPortByLogAndByCommand(t *testing.T) {
	at, models := address(t), in(t, "models")
	quick := func(p plan.Probe) *plan.Probe { p.Every, p.Timeout = time.Millisecond, 20*time.Second; return &p }
	server := doing("server", "serve", "ADDRESS", at, "MODELS", models)
	var port int
	if _, err := fmt.Sscanf(at, "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	for name, probe := range map[string]*plan.Probe{
		"port":    quick(plan.Probe{Port: port}),
		"command": quick(plan.Probe{Argv: []string{"sh", "-c", `test "$ME" = server`}}),
		"page":    quick(plan.Probe{URL: "http://" + at + "/v1/models"}),
	} {
		t.Run(name, func(t *testing.T) {
			server.Ready = probe
			if name == "page" {
				server.Ready.Timeout, server.Ready.Every = 500*time.Millisecond, time.Millisecond
				_, err := Up(t.Context(), armOf(server), t.TempDir(), Options{Log: testLog(t)})
				if err == nil || !strings.Contains(err.Error(), "not ready within 500ms: http://"+at+"/v1/models: lists no model") {
					t.Fatalf("%v", err)
				}
				if err := os.WriteFile(models, nil, 0o644); err != nil {
					t.Fatal(err)
				}
				server.Ready.Timeout = 20 * time.Second
			}
			upIn(t, t.TempDir(), armOf(server))
		})
	}
}

func TestAPageThatIsNoListOfModelsOrPointsElsewhereIsNotReady(t *testing.T) {
	server := http.NewServeMux()
	server.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	server.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/v1/models", http.StatusFound) })
	server.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = http.Serve(l, server) }()
	defer l.Close()
	for path, want := range map[string]string{"/v1/models": "is no list of models", "/away": "status 302", "/busy": "status 503"} {
		if err := askURL(t.Context(), "http://"+l.Addr().String()+path); err == nil || err.Error() != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	err = askURL(t.Context(), "http://user:hunter2@"+address(t)+"/?key=hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
	if name := probeName(plan.Probe{URL: "http://user:hunter2@h/p?key=hunter2"}); name != "http://h/p" {
		t.Error(name)
	}
}

func TestWhatNeverGetsReadyIsSaidWithTheEndsOfTheLogsAndLeavesNothing(t *testing.T) {
	dir, diary := t.TempDir(), in(t, "diary")
	stuck := doing("engine", "deaf")
	stuck.Ready = &plan.Probe{Log: "server started", Every: time.Millisecond, Timeout: 300 * time.Millisecond}
	stuck.Stop.Timeout = time.Nanosecond
	spec := armOf(doing("broker", "wait", "DIARY", diary), stuck)
	_, err := Up(t.Context(), spec, dir, Options{Log: testLog(t)})
	failure, ok := errors.AsType[*Failure](err)
	if !ok || failure.Process != "engine" || err.Error() != `arm a: engine was not ready within 300ms: log "server started": no such line yet` {
		t.Fatalf("%v", err)
	}
	var b bytes.Buffer
	if err := failure.Write(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "==> broker: ") || strings.Count(b.String(), "it is ready") != 2 {
		t.Errorf("%s", b.String())
	}
	if read(t, diary) != "broker SIGTERM\n" {
		t.Error("the other process was not ended")
	}
	if left, err := Leftovers(t.Context(), spec, dir); len(left) > 0 || err != nil {
		t.Errorf("%v, %v", left, err)
	}
}

func TestAProcessThatDiesBeforeItIsReadyIsToldAtOnce(t *testing.T) {
	p := plan.Process{Name: "engine", Argv: []string{"sh", "-c", "seq 100; echo no such device >&2; exit 7"}, Ready: &plan.Probe{Port: 1, Timeout: time.Hour}}
	_, err := Up(t.Context(), armOf(p), t.TempDir(), Options{Log: testLog(t)})
	failure, ok := errors.AsType[*Failure](err)
	if !ok || err.Error() != "arm a: engine ended with exit code 7 before the arm was up" {
		t.Fatalf("%v", err)
	}
	if lines := failure.Logs[0].Lines; len(lines) != 40 || lines[39] != "no such device" || lines[38] != "100" {
		t.Errorf("%q", lines)
	}
}

func TestAProcessThatIsOverBeforeAnybodyLooksIsToldLikeAnyOther(t *testing.T) {
	for range 100 { // most are looked at before they are over
		p := plan.Process{Name: "engine", Argv: []string{"false"}, Ready: &plan.Probe{Port: 1, Timeout: time.Hour}}
		_, err := Up(t.Context(), armOf(p), t.TempDir(), Options{Log: testLog(t)})
		if err == nil || err.Error() != "arm a: engine ended with exit code 1 before the arm was up" {
			t.Fatalf("%v", err)
		}
	}
}

func TestAProcessThatDiesDuringTheRunIsTheCauseOfTheContext(t *testing.T) {
	at := address(t)
	server := doing("engine", "serve", "ADDRESS", at)
	server.Ready = &plan.Probe{URL: "http://" + at + "/v1/models", Timeout: 20 * time.Second, Every: time.Millisecond}
	server.Env["MODELS"] = os.Args[0]
	r := upIn(t, t.TempDir(), armOf(server))
	if err := r.Context().Err(); err != nil {
		t.Fatal(err)
	}
	_, _ = http.Get("http://" + at + "/die") // it dies in the middle of the answer
	<-r.Context().Done()
	failure, ok := errors.AsType[*Failure](context.Cause(r.Context()))
	if !ok || failure.Error() != "arm a: engine ended with exit code 3" || !slices.Equal(failure.Logs[0].Lines, []string{"out of memory"}) {
		t.Errorf("%v", context.Cause(r.Context()))
	}
}

func TestAProcessThatDoesNotAnswerAnyMoreIsLost(t *testing.T) {
	alive := in(t, "alive")
	if err := os.WriteFile(alive, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	p := doing("engine", "wait", "DIARY", os.DevNull)
	p.Alive = &plan.Probe{Argv: []string{"test", "-e", alive}, Every: time.Millisecond, Consecutive: 2}
	r := upIn(t, t.TempDir(), armOf(p))
	if err := os.Remove(alive); err != nil {
		t.Fatal(err)
	}
	<-r.Context().Done()
	if err := context.Cause(r.Context()); err.Error() != "arm a: engine does not answer any more: command test: exit status 1" {
		t.Error(err)
	}
}

func TestAnInterruptWhileTheArmComesUpEndsItAndIsTheError(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	p := doing("engine", "deaf")
	p.Ready = &plan.Probe{Log: "never", Timeout: time.Hour}
	p.Stop.Timeout = time.Nanosecond
	interrupted := errors.New("interrupted")
	go func() {
		for len(pidsOf(dir)) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel(interrupted)
	}()
	if _, err := Up(ctx, armOf(p), dir, Options{Log: testLog(t)}); !errors.Is(err, interrupted) {
		t.Errorf("%v", err)
	}
	if pids := pidsOf(dir); lives(pids[0]) {
		t.Error("it lives on")
	}
}

// pidsOf are the leaders that the state knows.
func pidsOf(dir string) []int {
	var pids []int
	state, err := readState(dir)
	if err == nil && state != nil {
		for _, one := range state.Processes {
			if one.Leader.PID > 0 {
				pids = append(pids, one.Leader.PID)
			}
		}
	}
	return pids
}

func TestALogThatTakesNothingHoldsUpNoArm(t *testing.T) {
	at, models := address(t), in(t, "m")
	if err := os.WriteFile(models, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	server := doing("engine", "serve", "ADDRESS", at, "MODELS", models)
	server.Log = "/dev/full"
	server.Ready = &plan.Probe{URL: "http://" + at + "/v1/models", Timeout: 20 * time.Second, Every: time.Millisecond}
	upIn(t, t.TempDir(), armOf(server))

	reading := doing("reading", "wait", "DIARY", os.DevNull)
	reading.Log = "/dev/full"
	_, err := Up(t.Context(), armOf(reading), t.TempDir(), Options{Log: testLog(t)})
	if err == nil || !strings.Contains(err.Error(), "/dev/full is no file that can be read") {
		t.Errorf("%v", err)
	}
}

func TestAProcessThatHasEndedIsNotSaidToLiveSinceItCannotBeWrittenDown(t *testing.T) {
	dir, diary := t.TempDir(), in(t, "diary")
	r, err := Up(t.Context(), armOf(doing("engine", "wait", "DIARY", diary)), dir, Options{Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	pid := r.State().Processes[0].Leader.PID
	path := filepath.Join(dir, StateFile)
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := r.Down(t.Context()); err == nil || !strings.Contains(err.Error(), "engine has ended, which cannot be written down: ") || lives(pid) {
		t.Errorf("%v, lives: %v", err, lives(pid))
	}
}

func TestAStateThatCannotBeWrittenStartsNothing(t *testing.T) {
	dir, made := t.TempDir(), in(t, "made")
	if err := os.Mkdir(filepath.Join(dir, StateFile), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Up(t.Context(), armOf(plan.Process{Name: "p", Argv: []string{"touch", made}}), dir, Options{Log: testLog(t)})
	if _, statErr := os.Stat(made); err == nil || !errors.Is(statErr, fs.ErrNotExist) {
		t.Errorf("%v, %v", err, statErr)
	}
}

func TestWhatAnswersBeforeTheStartIsNotTakenForTheArm(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := doing("engine", "wait")
	p.Ready = &plan.Probe{Port: l.Addr().(*net.TCPAddr).Port}
	_, err = Up(t.Context(), armOf(p), t.TempDir(), Options{Log: testLog(t)})
	if err == nil || !strings.Contains(err.Error(), "engine answers at port") {
		t.Errorf("%v", err)
	}
}

func TestTwoDoNotHaveOneArm(t *testing.T) {
	dir := t.TempDir()
	spec := armOf(doing("engine", "wait", "DIARY", os.DevNull))
	r := upIn(t, dir, spec)
	if _, err := Up(t.Context(), spec, dir, Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d since ", os.Getpid())) {
		t.Errorf("%v", err)
	}
	if err := Down(t.Context(), spec, dir, nil); err == nil {
		t.Error("another one's arm was ended")
	}
	r.Leave()
	if _, err := Up(t.Context(), spec, dir, Options{}); err == nil || !strings.Contains(err.Error(), "is up already: engine (process ") {
		t.Errorf("%v", err)
	}
	if !lives(r.State().Processes[0].Leader.PID) {
		t.Error("what was left has ended")
	}
	if err := Down(t.Context(), spec, dir, testLog(t)); err != nil || lives(r.State().Processes[0].Leader.PID) {
		t.Errorf("%v", err)
	}
}

func TestTheStateHasNoValuesOfOptionsAndEnvironment(t *testing.T) {
	dir := t.TempDir()
	p := doing("engine", "wait", "DIARY", os.DevNull, "TOKEN_OF_HUB", "hunter2")
	p.Argv = append(p.Argv, "--api-key", "hunter2", "--port=80")
	p.Stop.Argv = []string{"sh", "-c", ": hunter2; exit 1"}
	r := upIn(t, dir, armOf(p))
	if text := read(t, filepath.Join(dir, StateFile)); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	one := r.State().Processes[0]
	if !slices.Equal(one.Options, []string{"--api-key", "--port"}) || one.Arguments != 3 || !slices.Contains(one.Env, "TOKEN_OF_HUB") || !one.StopCommand {
		t.Errorf("%+v", one)
	}
}
