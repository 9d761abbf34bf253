// Package subprocess runs a program as the load of a run. The program has a process group of its own, so that a signal
// reaches the program and its children only. Its output is passed on as it comes, and kept.
package subprocess

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Options describe the program to run.
type Options struct {
	// Args are the program and its arguments. No shell reads them.
	Args []string
	// Stdout and Stderr receive what the program writes; one goroutine writes to each. If it is a file, the program
	// gets the file itself and goes on writing into it after this process has ended.
	Stdout, Stderr io.Writer
	// Stdin is what the program reads; nil means no input. A measured program that reads from a terminal would be
	// stopped by it.
	Stdin *os.File
	// Env is its environment (nil: the environment of this process) and Dir its working directory (empty: that of this
	// process).
	Env []string
	Dir string
	// Session starts the program in a session of its own, so that it outlives this process and its terminal.
	Session bool
	// Cgroup is the folder of a cgroup (v2) in which the program starts; nil means that of this process.
	Cgroup *os.File
}

// Command is a running program.
type Command struct {
	process *exec.Cmd
	ended   chan struct{}
	exit    Exit
}

// Exit is how a program ended.
type Exit struct {
	// Code is the exit code, or 128 plus the signal that ended the program, as in shells.
	Code int
	// Signal is the name of that signal, or empty.
	Signal string
	// OutputLeft is true if a child of the program still held its output open after it had ended.
	OutputLeft bool
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("ended with exit code %d", e.Code)
}

// outputWait is how long to wait for output after the program has ended: a child may hold it open for ever.
const outputWait = 2 * time.Second

// Find returns an error unless there is a program of that name. It does not run it.
func Find(name string) error {
	_, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrDot) {
		err = fmt.Errorf("%s is found in the current folder only: call it ./%s", name, name)
	}
	return err
}

// Start runs the program.
func Start(o Options) (*Command, error) {
	c := &Command{process: exec.Command(o.Args[0], o.Args[1:]...), ended: make(chan struct{})}
	c.process.Stdout, c.process.Stderr, c.process.WaitDelay = o.Stdout, o.Stderr, outputWait
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: !o.Session, Setsid: o.Session} // a session is also a process group
	if o.Cgroup != nil {
		if err := startIn(o.Cgroup, c.process.SysProcAttr); err != nil {
			return nil, err
		}
	}
	c.process.Env, c.process.Dir = environment(o.Env), o.Dir
	if o.Stdin != nil { // a nil *os.File is not a nil io.Reader
		c.process.Stdin = o.Stdin
	}
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	go c.wait()
	return c, nil
}

// environment returns env, or the environment of this process. It switches off the buffer of Python, which otherwise
// writes to a pipe or a file in blocks, so that phases would begin only when a block is full.
func environment(env []string) []string {
	const unbuffered = "PYTHONUNBUFFERED"
	if env == nil {
		env = Inherited()
	}
	for _, one := range env {
		if strings.HasPrefix(one, unbuffered+"=") {
			return env
		}
	}
	return append(slices.Clip(env), unbuffered+"=1")
}

// NotifyVariable is the environment variable with the notification URL, which contains a secret.
const NotifyVariable = "UMA_LOAD_NOTIFY_URL"

// Inherited returns this process's environment without the variables that are only for this process: a program may
// print its environment, and its output is kept.
func Inherited() []string {
	return slices.DeleteFunc(os.Environ(), func(one string) bool { return strings.HasPrefix(one, NotifyVariable+"=") })
}

func (c *Command) wait() {
	err := c.process.Wait()
	c.exit.OutputLeft = errors.Is(err, exec.ErrWaitDelay)
	c.exit.Code = c.process.ProcessState.ExitCode()
	if status, ok := c.process.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		c.exit.Code, c.exit.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	close(c.ended)
}

// Ended is closed once the program has ended and its output has been passed on.
func (c *Command) Ended() <-chan struct{} { return c.ended }

// Exit returns how the program ended. Call it only after Ended.
func (c *Command) Exit() Exit { return c.exit }

// PID is the process ID of the program, and the ID of its group.
func (c *Command) PID() int { return c.process.Process.Pid }

// Interrupt sends SIGINT to the program and its children, as Ctrl-C does.
func (c *Command) Interrupt() { c.signal(unix.SIGINT) }

// Kill ends the program and its children.
func (c *Command) Kill() { c.signal(unix.SIGKILL) }

// signal sends a signal to the group. An empty group is not an error.
func (c *Command) signal(s unix.Signal) { _ = unix.Kill(-c.process.Process.Pid, s) }
