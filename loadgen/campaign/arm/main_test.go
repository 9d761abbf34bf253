package arm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// The test binary is every process of the arms too, when this variable says what it shall do.
const act = "ARM_TEST_ACT"

// guardianAct is the argument of one that is a guardian.
const guardianAct = "guardian"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guardianAct { // its environment is that of the owner
		if err := Guard(context.Background(), os.Stdin); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	switch os.Getenv(act) {
	case "":
		// The race detector lets every program that ends wait for a second.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	case "wait": // writes down what ends it
		heard := make(chan os.Signal, 1)
		signal.Notify(heard, unix.SIGTERM, unix.SIGUSR1)
		fmt.Println("it is ready")
		s := <-heard
		appendTo(os.Getenv("DIARY"), os.Getenv("ME")+" "+unix.SignalName(s.(syscall.Signal))+"\n")
	case "deaf":
		signal.Ignore(unix.SIGTERM)
		fmt.Println("it is ready")
		time.Sleep(time.Hour)
	case "serve":
		serve(os.Getenv("ADDRESS"))
	case "family": // one child in its group, one that has left group and session, both deaf
		child(nil)
		child(&syscall.SysProcAttr{Setsid: true})
		fmt.Println("it is ready")
		for leave := os.Getenv("LEAVE"); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(leave); err == nil {
				break
			}
		}
	case "owner":
		own()
	case "client":
		os.Exit(client(os.Getenv("FAKES"), os.Args[1:]))
	}
	os.Exit(0)
}

func appendTo(path, text string) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		panic(err)
	}
}

// child starts a deaf one and waits until it is deaf.
func child(how *syscall.SysProcAttr) {
	c := exec.Command(os.Args[0])
	c.Env, c.SysProcAttr = append(os.Environ(), act+"=deaf"), how
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		panic(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		panic(err)
	}
	appendTo(os.Getenv("DIARY"), fmt.Sprintln(c.Process.Pid))
}

// serve is a server that has a model once there is a file of that name, and ends by /die.
func serve(address string) {
	http.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		if _, err := os.Stat(os.Getenv("MODELS")); err != nil {
			io.WriteString(w, `{"data":[]}`)
			return
		}
		io.WriteString(w, `{"data":[{"id":"m"}]}`)
	})
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { fmt.Println("\x1b[31mout of memory\x1b[0m"); os.Exit(3) })
	http.HandleFunc("/away", func(w http.ResponseWriter, _ *http.Request) { http.Redirect(w, &http.Request{}, "/", http.StatusFound) })
	if err := http.ListenAndServe(address, nil); err != nil {
		panic(err)
	}
}

// own brings an arm up, with a guardian if GUARDIAN is set, and is then killed. It ends its arm and itself by SIGTERM.
func own() {
	p := plan.Process{Name: "family", Argv: []string{os.Args[0]}, Env: map[string]string{act: "family"}, Ready: logged(os.Getenv("READY")), Stop: plan.Stop{Timeout: time.Nanosecond}}
	if command := os.Getenv("STOP"); command != "" {
		p.Stop.Argv = []string{"sh", "-c", command}
	}
	spec := armOf(p)
	spec.Files = []plan.File{{Path: os.Getenv("FILE"), Text: "x", Mode: "0640"}}
	var o Options
	if os.Getenv("GUARDIAN") != "" {
		o.Guardian = []string{os.Args[0], guardianAct}
	}
	if root := os.Getenv("CGROUPS"); root != "" {
		err := writeCgroup(os.Getenv("DELEGATED"), "cgroup.procs", strconv.Itoa(os.Getpid()))
		if err == nil {
			o.Cgroups, err = takeDelegated(root, os.Getenv("SCOPE") != "")
		}
		if err != nil {
			panic(err)
		}
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, unix.SIGTERM)
	r, err := Up(context.Background(), spec, os.Getenv("DIR"), o)
	if err != nil {
		panic(err)
	}
	<-term
	if err := r.Down(context.Background()); err != nil {
		panic(err)
	}
}

// doing is a process that acts.
func doing(name, what string, env ...string) plan.Process {
	p := plan.Process{Name: name, Argv: []string{os.Args[0]}, Env: map[string]string{act: what, "ME": name}}
	for i := 0; i < len(env); i += 2 {
		p.Env[env[i]] = env[i+1]
	}
	if what != "serve" {
		p.Ready = logged("it is ready")
	}
	return p
}

func logged(pattern string) *plan.Probe {
	return &plan.Probe{Log: pattern, Every: time.Millisecond, Timeout: 20 * time.Second}
}

// armOf returns an arm with the defaults that a plan sets.
func armOf(processes ...plan.Process) plan.Arm {
	for i := range processes {
		p := &processes[i]
		p.Stop.Signal, p.Stop.Timeout = cmp.Or(p.Stop.Signal, "SIGTERM"), cmp.Or(p.Stop.Timeout, 30*time.Second)
		for _, probe := range []*plan.Probe{p.Ready, p.Alive} {
			if probe != nil {
				probe.Every, probe.Timeout, probe.Consecutive = cmp.Or(probe.Every, time.Second), cmp.Or(probe.Timeout, time.Minute), cmp.Or(probe.Consecutive, 2)
			}
		}
	}
	return plan.Arm{Name: "a", Processes: processes}
}

// upIn brings an arm up and down again at the end of the test.
func upIn(t *testing.T, dir string, spec plan.Arm) *Running {
	t.Helper()
	r, err := Up(t.Context(), spec, dir, Options{Log: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return r
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// address is one that nobody listens on.
func address(t *testing.T) string {
	t.Helper()
	// Below the ports that the kernel hands out by itself: one of those may be another's a moment later.
	for range 100 {
		port := strconv.Itoa(10000 + rand.IntN(20000))
		listener, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err == nil {
			listener.Close()
			return "127.0.0.1:" + port
		}
	}
	t.Fatal("no port is free")
	return ""
}

// until waits until something holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// lives says whether a process runs, and is no zombie.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return false
	}
	return !strings.Contains(string(text), ") Z ")
}

// expectGone checks that none of the processes runs.
func expectGone(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if lives(pid) {
			t.Errorf("%d lives on", pid)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// pidsIn are the numbers that children wrote down.
func pidsIn(t *testing.T, diary string) []int {
	t.Helper()
	var pids []int
	for _, word := range strings.Fields(read(t, diary)) {
		var pid int
		if _, err := fmt.Sscan(word, &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func in(t *testing.T, names ...string) string {
	return filepath.Join(append([]string{t.TempDir()}, names...)...)
}
