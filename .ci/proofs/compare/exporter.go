package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// exporter is a program that is compared.
type exporter struct {
	name, address string
	command       []string

	process *exec.Cmd
	client  http.Client
	counted bool          // a scrape has been counted: cpu at the next one belongs to it
	before  time.Duration // CPU time at the last scrape

	walls, cpus             []time.Duration // one for every scrape counted
	series, bytes           int             // of the last page
	residentKiB, highestKiB int
}

// start starts the program and waits until it answers.
func (e *exporter) start(ctx context.Context) error {
	e.process = exec.CommandContext(ctx, e.command[0], e.command[1:]...)
	e.process.Stderr = os.Stderr
	// The request sets the header for compression itself: otherwise the client would decompress within the measured
	// time.
	e.client = http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableCompression: true}}
	if err := e.process.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := e.page(ctx); err == nil || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (e *exporter) stop() {
	if e.process == nil || e.process.Process == nil {
		return
	}
	e.process.Process.Signal(os.Interrupt)
	e.process.Wait()
}

// scrape makes one scrape and records it if it counts.
func (e *exporter) scrape(ctx context.Context, counts bool) error {
	if err := e.noteCPU(); err != nil {
		return err
	}
	began := time.Now()
	answer, err := e.page(ctx)
	took := time.Since(began)
	if err != nil {
		return err
	}
	e.counted = counts
	if counts {
		e.walls = append(e.walls, took)
		e.bytes = len(answer.body)
		e.series, err = answer.series()
	}
	return err
}

// noteCPU ends the period that is charged to the last scrape.
func (e *exporter) noteCPU() error {
	now, err := cpuTime(e.process.Process.Pid)
	if err != nil {
		return err
	}
	if e.counted {
		e.cpus = append(e.cpus, now-e.before)
	}
	e.before = now
	return nil
}

func (e *exporter) finish() error {
	if err := e.noteCPU(); err != nil {
		return err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.process.Process.Pid))
	if err != nil {
		return err
	}
	e.residentKiB, e.highestKiB = field(status, "VmRSS:"), field(status, "VmHWM:")
	return nil
}

// field is a number of /proc/<pid>/status.
func field(status []byte, key string) int {
	for line := range strings.Lines(string(status)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == key {
			number, _ := strconv.Atoi(words[1])
			return number
		}
	}
	return 0
}

// answer is a page as it came.
type answer struct {
	body   []byte
	packed bool
}

func (e *exporter) page(ctx context.Context) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.address, nil)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := e.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", response.Status, body)
	}
	return answer{body, response.Header.Get("Content-Encoding") == "gzip"}, err
}

// series counts the lines that are no comments.
func (a answer) series() (int, error) {
	text := a.body
	if a.packed {
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return 0, err
		}
		if text, err = io.ReadAll(unpacked); err != nil {
			return 0, err
		}
	}
	count := 0
	for line := range bytes.Lines(text) {
		if len(line) > 1 && line[0] != '#' {
			count++
		}
	}
	return count, nil
}

// cpuTime is the CPU time of a process, threads that have ended included, in nanoseconds and not in the
// hundredths of a second of /proc/<pid>/stat: the clock that clock_getcpuclockid(3) gives for it.
func cpuTime(pid int) (time.Duration, error) {
	const perProcess = 2 // CPUCLOCK_SCHED of linux/posix-timers.h
	clock := int32(^pid<<3 | perProcess)
	var spent syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(clock), uintptr(unsafe.Pointer(&spent)), 0); errno != 0 {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, errno)
	}
	return time.Duration(spent.Nano()), nil
}
