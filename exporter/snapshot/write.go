package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// writeTimeout is the timeout of a recording whose context has no earlier end; driverTimeout is that of the driver's
// part, so that a driver that hangs leaves time for the files.
const (
	writeTimeout  = 30 * time.Second
	driverTimeout = 10 * time.Second
)

// maxRecordingBytes is the maximum size of the driver's answers in an archive.
const maxRecordingBytes = 128 << 10

// Source is a host to record.
type Source struct {
	// Proc, Sys and Cgroup are the roots of procfs, sysfs and cgroup v2.
	Proc, Sys, Cgroup hostfs.Dir
	// Driver gets every call once.
	Driver nvml.Driver
	// PageSize is that of the host's kernel in bytes.
	PageSize int
	// Description is one line on what the host was doing.
	Description string
	// RecordedWith names the program.
	RecordedWith string
}

// Write records a host: first the driver, then at once memory and cgroups, then the rest. It writes only files of the
// allow-list, masked, and only after all have been read. If the driver is missing or hangs half-way, its answers so far
// are recorded; on an error the output is empty.
func Write(ctx context.Context, w io.Writer, source Source) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	type result struct {
		text []byte
		err  error
	}
	// In a goroutine of its own, since a read of a kernel file cannot be interrupted.
	done := make(chan result, 1)
	go func() {
		text, err := record(ctx, source)
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return r.err
		}
		_, err := w.Write(r.text)
		return err
	case <-ctx.Done():
		return fmt.Errorf("the host could not be read in time: %w", ctx.Err())
	}
}

func record(ctx context.Context, source Source) ([]byte, error) {
	answers, devices, trouble := recordDriver(ctx, source.Driver)
	if answers == nil {
		return nil, trouble
	}
	mask := newMasker(hostName(source.Proc))
	answers = []byte(mask.mask(string(answers))) // first, so that GPUs are numbered as the driver does
	files := newWalker(mask)
	for _, part := range []struct {
		dir  hostfs.Dir
		root string
		rows []allowed
	}{
		{source.Proc, procRoot, allowedProc()},
		{source.Proc, procRoot, processRows(devices)},
		{source.Cgroup, cgroupRoot, cgroupRows(source, devices)},
		{source.Sys, sysRoot, allowedSys()},
	} {
		if err := files.collect(ctx, part.dir, part.root, part.rows); err != nil {
			return nil, err
		}
	}
	for _, pid := range gpuPIDs(devices) {
		files.collectDescriptors(source.Proc, pid)
	}
	if !files.seen[procRoot+"/meminfo"] {
		return nil, errors.New("proc/meminfo cannot be read: not the root of a procfs")
	}
	a := Archive{Kind: Recorded, Description: oneLine(source.Description), PageSize: source.PageSize, RecordedWith: source.RecordedWith}
	if trouble != nil {
		a.Notes = mask.mask(oneLine(trouble.Error())) + "\n"
	}
	if files.leftOut > 0 {
		a.Notes += fmt.Sprintf("%d files were left out: they did not fit into %d bytes.", files.leftOut, maxWrittenBytes)
	}
	entries := append([]txtar.File{{Name: recordingName, Data: answers}}, files.sorted()...)
	return checked(a.format(entries))
}

// checked reads an archive back: an archive that cannot be read is no recording.
func checked(text []byte) ([]byte, error) {
	if _, err := Read(text); err != nil {
		return nil, fmt.Errorf("what was recorded cannot be read back: %w", err)
	}
	return text, nil
}

// recordDriver makes one pass over all devices. The error is why the answers end.
func recordDriver(ctx context.Context, driver nvml.Driver) ([]byte, []nvml.Device, error) {
	ctx, cancel := context.WithTimeout(ctx, driverTimeout)
	defer cancel()
	var answers answerBuffer
	reader := nvml.NewReader(nvml.Record(driver, &answers), nvml.ReaderOptions{})
	defer reader.Close()
	snapshot, err := reader.Read(ctx).Snapshot(ctx)
	text := answers.text()
	if len(text) == 0 {
		return nil, nil, fmt.Errorf("the driver has answered nothing: %w", err)
	}
	return text, snapshot.Devices, err
}

// answerBuffer accepts a recording until its text is taken; a call that returns later finds it closed.
type answerBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
	closed bool
}

func (b *answerBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.buffer.Len()+len(line) > maxRecordingBytes {
		return 0, nvml.ErrRecordingFull
	}
	return b.buffer.Write(line)
}

// text ends the recording and returns it.
func (b *answerBuffer) text() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.buffer.Bytes()
}

// maxProcesses is the maximum number of GPU processes recorded with their files.
const maxProcesses = 32

func processRows(devices []nvml.Device) []allowed {
	var rows []allowed
	for _, pid := range gpuPIDs(devices) {
		rows = append(rows, allowedProcess(pid)...)
	}
	return rows
}

func gpuPIDs(devices []nvml.Device) []uint32 {
	pids := map[uint32]bool{}
	for _, d := range devices {
		for _, p := range d.Processes {
			pids[p.PID] = true
		}
	}
	sorted := slices.Sorted(maps.Keys(pids))
	return sorted[:min(len(sorted), maxProcesses)]
}

// hostName is read only to be masked.
func hostName(proc hostfs.Dir) string {
	content, err := proc.ReadFile("sys/kernel/hostname")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
