package nvml

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// formatVersion is the version of the recording format, in line 1.
const formatVersion = 1

// maxRecordingBytes is the maximum size of a recording, written or read: a longer one comes from a program that was
// left recording, not from a machine.
const maxRecordingBytes = 64 << 20

// ErrRecordingFull is the error of a Recorder that has reached its limit and records no more.
var ErrRecordingFull = errors.New("the recording is full")

// header is line 1 of a recording.
type header struct {
	Format        string `json:"format"`
	Version       int    `json:"version"`
	DriverVersion string `json:"driver_version,omitempty"`
}

const formatName = "umascope nvml recording"

// entry is every other line: one call and its answer.
type entry struct {
	Device          int    `json:"device"`
	Call            Call   `json:"call"`
	Return          Return `json:"return"`
	Value           *Value `json:"value,omitempty"`
	DurationNanosec int64  `json:"duration_ns"`
}

// Recorder is a Driver that passes calls on and writes each answer as a line of JSON when it comes; a call that never
// returns is not in the recording.
type Recorder struct {
	driver Driver
	writer io.Writer

	mu      sync.Mutex
	headed  bool
	written int
	err     error
}

// Record returns a Driver that records the answers of driver. Line 1 is the header; it is
// written when the first call has been answered, since the driver version is in it.
func Record(driver Driver, w io.Writer) *Recorder { return &Recorder{driver: driver, writer: w} }

// Err is why recording stopped, nil if it has not. The driver continues to work.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Init passes Init on and, on success, reads the driver version for the header.
func (r *Recorder) Init() Return {
	began := time.Now()
	code := r.driver.Init()
	took := time.Since(began)
	version := ""
	if code == Success {
		if v, answer := r.driver.Do(System, CallDriverVersion); answer == Success {
			version = v.Text
		}
	}
	r.head(version)
	r.entry(entry{Device: System, Call: CallInit, Return: code, DurationNanosec: took.Nanoseconds()})
	return code
}

// DeviceCount passes the call on; the count is the number of the recorded value.
func (r *Recorder) DeviceCount() (int, Return) {
	began := time.Now()
	count, code := r.driver.DeviceCount()
	r.answer(System, CallDeviceCount, Value{Number: uint64(max(count, 0))}, code, began)
	return count, code
}

// Do passes the call on.
func (r *Recorder) Do(device int, call Call) (Value, Return) {
	began := time.Now()
	value, code := r.driver.Do(device, call)
	r.answer(device, call, value, code, began)
	return value, code
}

// Shutdown passes the call on.
func (r *Recorder) Shutdown() Return {
	began := time.Now()
	code := r.driver.Shutdown()
	r.entry(entry{Device: System, Call: CallShutdown, Return: code, DurationNanosec: time.Since(began).Nanoseconds()})
	return code
}

func (r *Recorder) answer(device int, call Call, value Value, code Return, began time.Time) {
	e := entry{Device: device, Call: call, Return: code, DurationNanosec: time.Since(began).Nanoseconds()}
	if code == Success {
		e.Value = &value
	}
	r.entry(e)
}

func (r *Recorder) head(driverVersion string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headLocked(driverVersion)
}

func (r *Recorder) headLocked(driverVersion string) {
	if !r.headed {
		r.headed = true
		r.line(header{Format: formatName, Version: formatVersion, DriverVersion: driverVersion})
	}
}

func (r *Recorder) entry(e entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headLocked("")
	r.line(e)
}

func (r *Recorder) line(content any) {
	if r.err != nil {
		return
	}
	line, err := json.Marshal(content)
	if err != nil {
		r.err = fmt.Errorf("recording: %w", err)
		return
	}
	line = append(line, '\n')
	if r.written += len(line); r.written > maxRecordingBytes {
		r.err = ErrRecordingFull
		return
	}
	if _, err := r.writer.Write(line); err != nil {
		r.err = fmt.Errorf("recording: %w", err)
	}
}
