package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/rundir"
)

// pty is a pseudo-terminal with what a program has written to it.
type pty struct {
	master, program *os.File

	mutex  sync.Mutex
	output bytes.Buffer
}

// newPTY opens a terminal of so many columns.
func newPTY(t *testing.T, columns uint16) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: columns})
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	s := &pty{master: master, program: program}
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			s.mutex.Lock()
			s.output.Write(buffer[:n])
			s.mutex.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *pty) text() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.output.String()
}

func (s *pty) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.text(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in %q", text, s.text())
		}
	}
}

// modes are the settings of the terminal.
func (s *pty) modes(t *testing.T) unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *modes
}

// start starts a run of many requests on the terminal, and returns when its screen shows requests.
func (s *pty) start(t *testing.T, more ...string) *exec.Cmd {
	t.Helper()
	c := command(t, "run", "--url", engine(t, 20*time.Millisecond), "--out=runs", "--run-id=r1", "--requests=5000", "--warmup=0", "--output-tokens=8", "--web.listen-address=127.0.0.1:0")
	c.Stdin, c.Stdout, c.Stderr = s.program, s.program, s.program
	c.Env = append(append(os.Environ(), "TERM=xterm"), more...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() })
	s.await(t, " of 5000 ended")
	return c
}

// TestCtrlCOnTheScreenReachesTheRun types Ctrl-C: the run ends as interrupted, its folder is complete, and the terminal is
// as it was.
func TestCtrlCOnTheScreenReachesTheRun(t *testing.T) {
	s := newPTY(t, 80)
	before := s.modes(t)
	c := s.start(t)
	if s.modes(t) != before {
		t.Error("the screen changes the modes of the terminal")
	}
	if _, err := s.master.Write([]byte{3}); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); c.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: %s", err, s.text())
	}
	text, err := os.ReadFile(filepath.Join(c.Dir, "runs", "r1", rundir.ManifestFile))
	var manifest rundir.Manifest
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil || manifest.State != rundir.StateInterrupted {
		t.Errorf("%q, %v", manifest.State, err)
	}
	s.await(t, "run folder: ")
	if output := s.text(); strings.Contains(output, "\x1b[?") || s.modes(t) != before {
		t.Errorf("the terminal is left in another mode: %q", output)
	}
	// After the screen is erased nothing moves the cursor.
	if output := s.text(); strings.Contains(output[strings.LastIndex(output, "run folder: "):], "\x1b") {
		t.Errorf("%q", output)
	}
}

func TestAKilledProgramLeavesASaneTerminal(t *testing.T) {
	s := newPTY(t, 80)
	before := s.modes(t)
	c := s.start(t, "NO_COLOR=1")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if output := s.text(); s.modes(t) != before || strings.Contains(output, "\x1b[?") || strings.Contains(output, "m\x1b") || strings.Contains(output, "\x1b[1m") {
		t.Errorf("%q", output)
	}
}

func TestADumbTerminalHasNoScreen(t *testing.T) {
	s := newPTY(t, 80)
	c := command(t, "run", "--url", engine(t, time.Millisecond), "--out=runs", "--run-id=r1", "--requests=2", "--warmup=0", "--output-tokens=4", "--web.listen-address=127.0.0.1:0")
	c.Stdout, c.Stderr, c.Env = s.program, s.program, append(os.Environ(), "TERM=dumb")
	_ = c.Run() // the machine of the tests may be late, and the run invalid
	s.await(t, "run folder: ")
	if strings.Contains(s.text(), "\x1b") {
		t.Errorf("%q", s.text())
	}
}
