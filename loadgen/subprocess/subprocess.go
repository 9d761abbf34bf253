// Package subprocess runs a program as the load of a run: in a process group of its own, so that a signal
// reaches all of it and only it, with its output passed on as it comes and kept.
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

// Options say what to run.
type Options struct {
	// Args are the program and its arguments. No shell reads them.
	Args []string
	// Stdout and Stderr get what the program writes; each is written to by one goroutine. A file is
	// given to the program itself, which goes on writing into it when we have ended.
	Stdout, Stderr io.Writer
	// Stdin is what the program reads: nothing, if nil. A measured program that waits for a terminal
	// would be stopped for it.
	Stdin *os.File
	// Env is its environment, ours if nil; Dir the folder that it runs in, ours if empty.
	Env []string
	Dir string
	// Session starts it in a session of its own, so that it outlives us and our terminal.
	Session bool
}

// Command is a program that runs.
type Command struct {
	process *exec.Cmd
	ended   chan struct{}
	exit    Exit
}

// Exit is how a program ended.
type Exit struct {
	// Code is what it returned, or 128 and the signal that ended it, as shells have it.
	Code int
	// Signal is the name of that signal; empty without one.
	Signal string
	// OutputLeft says that something it started still held its output when it had ended.
	OutputLeft bool
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("ended with exit code %d", e.Code)
}

// outputWait is how long output is waited for after the program has ended: what it left running may
// hold it for ever.
const outputWait = 2 * time.Second

// Find says whether there is a program of that name, without running it.
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
	c.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: !o.Session, Setsid: o.Session} // a session is a group too
	c.process.Env, c.process.Dir = environment(o.Env), o.Dir
	if o.Stdin != nil { // a nil file is no nil reader
		c.process.Stdin = o.Stdin
	}
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	go c.wait()
	return c, nil
}

// environment is what was given, or ours. Python writes into a pipe or a file by blocks unless it is
// told not to, and phases would begin when a block is full.
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

// NotifyVariable names the environment variable with the address of notices, which has a secret in it.
const NotifyVariable = "UMA_LOAD_NOTIFY_URL"

// Inherited is our environment without what is meant for us alone: a program that we start may print all
// that it has, and be kept for it.
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

// Ended is closed once the program has ended and its output has been handed on.
func (c *Command) Ended() <-chan struct{} { return c.ended }

// Exit is how the program ended; only after Ended.
func (c *Command) Exit() Exit { return c.exit }

// PID is the number of the program's process, and of its group.
func (c *Command) PID() int { return c.process.Process.Pid }

// Interrupt asks the program and what it has started to end, as Ctrl-C does.
func (c *Command) Interrupt() { c.signal(unix.SIGINT) }

// Kill ends the program and what it has started.
func (c *Command) Kill() { c.signal(unix.SIGKILL) }

// signal reaches whatever is left of the group; that nothing is left is no error.
func (c *Command) signal(s unix.Signal) { _ = unix.Kill(-c.process.Process.Pid, s) }
