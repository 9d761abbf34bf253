package nvml

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Errors of a pass, for errors.Is. Values that were read are returned with them.
var (
	// ErrUnavailable is wrapped when there is no library, driver or cgo; the message names which and the remedy.
	ErrUnavailable = errors.New("no GPU driver")
	// ErrHung is wrapped when a call has not returned in time.
	ErrHung = errors.New("GPU driver hangs")
	// ErrLost is wrapped when a device is gone; the library is opened again with back-off.
	ErrLost = errors.New("GPU lost")
)

// Snapshot is all that one pass has read. Devices are by index; for a device that could not be read, Hung, Errors and
// Return give the reason.
type Snapshot struct {
	Devices                    []Device
	DriverVersion, CUDAVersion string
	DeviceCount                int
	// Return is the answer to the last attempt to open the library.
	Return Return
}

// Pass is one reading of all devices, in progress. Its methods may be called by several goroutines.
type Pass struct {
	reader    *Reader
	beginning *beginning
}

// Processes waits only until identity, architecture and process lists of every device have been read. Devices whose
// lists are missing are among the devices, with ProcessesRead false, and in the error (ErrHung, ErrLost). Without a
// driver it returns only ErrUnavailable.
func (p *Pass) Processes(ctx context.Context) ([]Device, error) {
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	var devices []Device
	var errs []error
	for _, r := range p.beginning.reads {
		err := arrived(ctx, r.listed)
		device := r.device()
		if errors.Is(err, context.DeadlineExceeded) {
			device, err = r.waitedInVain(), nil
		}
		if err == nil && !device.ProcessesRead {
			err = device.trouble()
		}
		devices, errs = append(devices, device), append(errs, err)
	}
	return devices, errors.Join(errs...)
}

// Snapshot waits until all has been read. When ctx ends first, it returns what has been read: the unfinished devices
// count as hung and are left alone until their call returns.
func (p *Pass) Snapshot(ctx context.Context) (Snapshot, error) {
	if err := p.wait(ctx); err != nil {
		return Snapshot{Return: p.beginning.returned(p.reader)}, err
	}
	b := p.beginning
	snapshot := Snapshot{DriverVersion: b.library.driverVersion, CUDAVersion: b.library.cudaVersion,
		DeviceCount: len(b.library.devices)}
	var errs []error
	for _, r := range b.reads {
		err := arrived(ctx, r.done)
		if errors.Is(err, context.DeadlineExceeded) {
			r.abandon()
			err = nil
		}
		device := r.device()
		if err == nil {
			err = device.trouble()
		}
		snapshot.Devices, errs = append(snapshot.Devices, device), append(errs, err)
	}
	return snapshot, errors.Join(errs...)
}

// wait waits for the library to open and starts the reads unless they have started.
func (p *Pass) wait(ctx context.Context) error {
	b := p.beginning
	err := arrived(ctx, b.done)
	if err == nil {
		return p.reader.startLate(b)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	p.reader.mu.Lock()
	defer p.reader.mu.Unlock()
	b.hung = true
	return hungOpening(b.since)
}

func (b *beginning) returned(r *Reader) Return {
	r.mu.Lock()
	defer r.mu.Unlock()
	return b.code
}

func hungOpening(since time.Time) error {
	return fmt.Errorf("%w: opening the library (%s) has not returned since %s", ErrHung, CallInit, since.UTC().Format(time.RFC3339))
}

// arrived waits for the channel; the error is that of ctx if that ends first.
func arrived(ctx context.Context, channel <-chan struct{}) error {
	select {
	case <-channel:
		return nil
	default:
	}
	select {
	case <-channel:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// trouble returns why the device could not be read to the end, nil if it could.
func (d Device) trouble() error {
	switch {
	case d.Hung != "":
		return fmt.Errorf("%w: GPU %d: %s has not returned since %s", ErrHung, d.Index, d.Hung, d.Since.UTC().Format(time.RFC3339))
	case d.Return != Success:
		return fmt.Errorf("%w: GPU %d: %v", ErrLost, d.Index, d.Return)
	}
	if len(d.Errors) == 0 {
		return nil
	}
	first := slices.Min(slices.Collect(maps.Keys(d.Errors)))
	more := ""
	if n := len(d.Errors) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d calls more)", n)
	}
	return fmt.Errorf("GPU %d: %s: %v%s", d.Index, first, d.Errors[first], more)
}
