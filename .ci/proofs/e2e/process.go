package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a program that this one has started, and ends only that program.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
	err     error // once ended is closed
}

// launch starts a program with its output in a file. It ends with this one, even if this one is killed: the kernel then
// sends it the signal. The kernel does so at the end of the starting thread, so only the main goroutine may call
// launch.
func launch(log string, command ...string) (*process, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = output, output
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{command: c, log: log, ended: make(chan struct{})}
	go func() {
		p.err = c.Wait()
		close(p.ended)
	}()
	return p, nil
}

// wait waits for the end; the given exit codes are no failure.
func (p *process) wait(ctx context.Context, fine ...int) error {
	select {
	case <-ctx.Done():
		p.stop()
		return ctx.Err()
	case <-p.ended:
	}
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		for _, code := range fine {
			if exit.ExitCode() == code {
				return nil
			}
		}
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w: %s", p.command.Path, p.err, tail(p.log))
	}
	return nil
}

// running returns an error if the program has ended.
func (p *process) running() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %v: %s", p.command.Path, p.err, tail(p.log))
	default:
		return nil
	}
}

// stop signals the program to end, and kills it if it does not.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// tail is the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1500):])
}
