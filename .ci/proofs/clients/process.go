package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a program with all its child processes: a process group.
type process struct {
	command *exec.Cmd
	ended   chan error
}

// start starts a program on the given cores, any if there are none, with its output in a file.
func start(ctx context.Context, cores string, command []string, log string) (*process, error) {
	output, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	if cores != "" {
		command = append([]string{"taskset", "-c", cores}, command...)
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdout, c.Stderr = output, output
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	if err := c.Start(); err != nil {
		return nil, err
	}
	p := &process{c, make(chan error, 1)}
	go func() { p.ended <- c.Wait() }()
	return p, nil
}

// wait waits for the program; the given exit codes are no failure.
func (p *process) wait(fine ...int) error {
	err := <-p.ended
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		for _, code := range fine {
			if exit.ExitCode() == code {
				return nil
			}
		}
	}
	return err
}

// spent is the cost of a process group.
type spent struct {
	cpu   time.Duration // of the processes that live
	bytes int64         // highest resident size of each, added up
}

// spent adds up all processes of the group. It misses processes that live for a moment; the clients here keep theirs.
func (p *process) spent() (spent, error) {
	var all spent
	for _, pid := range group(p.command.Process.Pid) {
		cpu, err := cpuTime(pid)
		if err != nil {
			continue // it has just ended
		}
		all.cpu += cpu
		all.bytes += highestResident(pid)
	}
	if all.cpu == 0 {
		return spent{}, fmt.Errorf("process group %d is gone", p.command.Process.Pid)
	}
	return all, nil
}

// group lists the processes of a process group by /proc/<pid>/stat, where the group is the third word
// after the command: "4711 (uma-load) S 1 4711 ...".
func group(leader int) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		after := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if len(after) > 2 && after[2] == strconv.Itoa(leader) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// highestResident is VmHWM of /proc/<pid>/status ("VmHWM:     23456 kB") in bytes, 0 if it cannot be read.
func highestResident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	words := strings.Fields(after)
	if len(words) == 0 {
		return 0
	}
	kib, _ := strconv.ParseInt(words[0], 10, 64)
	return kib << 10
}

// cpuTime is the CPU time of a process, threads that have ended included, by the clock that
// clock_getcpuclockid(3) gives for it: in nanoseconds, not in the hundredths of a second of
// /proc/<pid>/stat.
func cpuTime(pid int) (time.Duration, error) {
	const perProcess = 2 // CPUCLOCK_SCHED of linux/posix-timers.h
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|perProcess), &at); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(at.Nano()), nil
}

// endpoint is a server that was started.
type endpoint struct {
	*process
	url, truth string
}

// startServer starts this program as the server and waits until it answers.
func (l *lab) startServer(ctx context.Context, folder string, s serving) (*endpoint, error) {
	e := &endpoint{url: "http://" + l.address, truth: filepath.Join(folder, "truth.jsonl")}
	command := []string{
		l.self, "serve", "-address", l.address, "-truth", e.truth,
		"-first", s.first.String(), "-gap", s.gap.String(), "-tokens", strconv.Itoa(s.tokens),
		"-role", s.role.String(), "-end", s.end.String(), "-hang-up=" + strconv.FormatBool(s.hangUp),
	}
	var err error
	if e.process, err = start(ctx, l.serverCore, command, filepath.Join(folder, "server.log")); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if _, err = e.state(); err == nil || time.Now().After(deadline) {
			return e, err
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// stop ends the server and returns the truth.
func (e *endpoint) stop() ([]served, error) {
	if err := e.command.Process.Signal(syscall.SIGTERM); err != nil {
		return nil, err
	}
	if err := e.wait(); err != nil {
		return nil, err
	}
	return readTruth(e.truth)
}

func (e *endpoint) state() (state, error) {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get(e.url + "/state")
	if err != nil {
		return state{}, err
	}
	defer response.Body.Close()
	var s state
	return s, json.NewDecoder(response.Body).Decode(&s)
}

func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}
