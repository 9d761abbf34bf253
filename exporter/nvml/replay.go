package nvml

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLineBytes is the maximum length of one line of a recording; a process list of the 950 entries that the driver
// keeps takes about 60 KiB.
const maxLineBytes = 1 << 20

// Replay returns a Driver that gives the answers of a recording, read to its end now. A call that was recorded several
// times is answered in that order, and the last answer repeats. A call that was never recorded answers NotRecorded.
//
// Errors name the line. The parts of a recording that could do harm are checked: its size, call names, device numbers
// and the number of devices.
func Replay(r io.Reader) (Driver, error) {
	scanner := bufio.NewScanner(io.LimitReader(r, maxRecordingBytes+1))
	scanner.Buffer(nil, maxLineBytes)
	p := &player{answers: map[question][]entry{}}
	size, number := 0, 0
	for scanner.Scan() {
		number++
		if size += len(scanner.Bytes()) + 1; size > maxRecordingBytes {
			return nil, fmt.Errorf("line %d: a recording may have %d bytes at most", number, maxRecordingBytes)
		}
		if err := p.read(number, scanner.Bytes()); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", number+1, err)
	}
	if len(p.answers[question{System, CallInit}]) == 0 {
		return nil, fmt.Errorf("line %d: the recording ends before %s is answered", max(number, 1), CallInit)
	}
	return p, nil
}

// question is the key of an answer.
type question struct {
	device int
	call   Call
}

// player answers from a recording.
type player struct {
	mu      sync.Mutex
	answers map[question][]entry
}

func (p *player) read(number int, line []byte) error {
	if number == 1 {
		return checkHeader(line)
	}
	e, err := parseEntry(line)
	if err != nil {
		return err
	}
	key := question{e.Device, e.Call}
	p.answers[key] = append(p.answers[key], e)
	return nil
}

func checkHeader(line []byte) error {
	var h header
	if err := strictJSON(line, &h); err != nil {
		return err
	}
	if h.Format != formatName {
		return fmt.Errorf("not a recording: format %.40q, not %q", h.Format, formatName)
	}
	if h.Version != formatVersion {
		return fmt.Errorf("recording format %d, this program reads %d", h.Version, formatVersion)
	}
	return nil
}

func parseEntry(line []byte) (entry, error) {
	e := entry{Device: System - 1}
	if err := strictJSON(line, &e); err != nil {
		return entry{}, err
	}
	switch {
	case e.Call == "" || len(e.Call) > 200:
		return entry{}, errors.New("no call name, or one that is too long")
	case e.Device < System || e.Device >= maxDevices:
		return entry{}, fmt.Errorf("device %d", e.Device)
	case e.Return < NotRecorded:
		return entry{}, fmt.Errorf("return code %d", int32(e.Return))
	case e.Call == CallDeviceCount && e.Value != nil && e.Value.Number > maxDevices:
		return entry{}, fmt.Errorf("%d devices", e.Value.Number)
	case e.Value != nil && (len(e.Value.Instances) > maxInstances || len(e.Value.Links) > maxLinks):
		return entry{}, fmt.Errorf("%d instances, %d links", len(e.Value.Instances), len(e.Value.Links))
	}
	return e, nil
}

// strictJSON decodes exactly one JSON object.
func strictJSON(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("not a JSON object of a recording: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON object")
	}
	return nil
}

// next returns the next answer to a question; the last one repeats.
func (p *player) next(device int, call Call) (Value, Return) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := question{device, call}
	answers := p.answers[key]
	if len(answers) == 0 {
		return Value{}, NotRecorded
	}
	if len(answers) > 1 {
		p.answers[key] = answers[1:]
	}
	answer := answers[0]
	if answer.Return != Success || answer.Value == nil {
		return Value{}, answer.Return
	}
	return *answer.Value, Success
}

// Init gives the recorded answer.
func (p *player) Init() Return {
	_, code := p.next(System, CallInit)
	return code
}

// Shutdown gives the recorded answer; without one it answers Success.
func (p *player) Shutdown() Return {
	_, code := p.next(System, CallShutdown)
	if code == NotRecorded {
		return Success
	}
	return code
}

// DeviceCount gives the recorded answer.
func (p *player) DeviceCount() (int, Return) {
	value, code := p.next(System, CallDeviceCount)
	return int(value.Number), code
}

// Do gives the recorded answer.
func (p *player) Do(device int, call Call) (Value, Return) { return p.next(device, call) }
