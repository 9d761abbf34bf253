package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that this one has started, and ends only that program.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{}
}

// launch starts a program that ends with this one, even if this one is killed. Its output goes to the log; its standard
// output goes to lines instead, if that is given.
func launch(log string, lines func(string) bool, command ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := exec.Command(command[0], command[1:]...)
	c.Stdout, c.Stderr = file, file
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var out *bufio.Scanner
	if lines != nil {
		c.Stdout = nil
		pipe, err := c.StdoutPipe()
		if err != nil {
			return nil, err
		}
		out = bufio.NewScanner(pipe)
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{command: c, log: log, ended: make(chan struct{})}
	for out != nil && out.Scan() && lines(out.Text()) {
	}
	go func() {
		_ = c.Wait() // callers use ended and the log
		close(p.ended)
	}()
	return p, nil
}

// stop signals the program to end, and kills it if it does not.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(30 * time.Second): // Prometheus writes down what it holds
		_ = p.command.Process.Kill()
		<-p.ended
	}
}

// usage is what a process has used so far.
type usage struct {
	cpu           time.Duration
	resident, top int64 // bytes
}

// used reads it. The clock tick of Linux is 100 to the second on every architecture that Go has.
func (p *process) used() (usage, error) {
	dir := fmt.Sprintf("/proc/%d/", p.command.Process.Pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return usage{}, fmt.Errorf("%s has ended: %w: %s", p.command.Path, err, tail(p.log))
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("%sstat: %q", dir, stat)
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, err
		}
		ticks += n
	}
	u := usage{cpu: time.Duration(ticks) * 10 * time.Millisecond}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return usage{}, err
	}
	u.resident, u.top = kilobytes(string(status), "VmRSS:"), kilobytes(string(status), "VmHWM:")
	return u, nil
}

func kilobytes(status, name string) int64 {
	_, rest, _ := strings.Cut(status, name)
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n << 10
}

// busy is the time that all CPUs together have worked, from a line such as
//
//	cpu  74608 2520 24433 1117073 6176 4054 0 0 0 0
func busy() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	var ticks int64
	for i, field := range strings.Fields(line)[1:] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		if i != 3 && i != 4 && i < 8 { // idle, waiting for disks; guests are counted before
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// tail is the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1500):])
}
