package nvml

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// The back-off between attempts to open the library, doubling from the first to the second.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// closeWait is how long Close waits for calls under way and for the library to shut down.
const closeWait = 2 * time.Second

// ReaderOptions are the settings of a Reader. The zero value is ready for use.
type ReaderOptions struct {
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Architecture overrides the memory architecture of every device, "" detects it.
	Architecture Architecture
	// PoolBytes is MemTotal of the host. It is needed only to classify an integrated GPU whose memory call answers
	// although it has no memory; with 0 such a GPU is unknown.
	PoolBytes uint64
	// Skip lists calls that are never made.
	Skip []Call
	// PCIeThroughput enables reading of PCIe traffic, for which the driver keeps each device busy for 40 ms.
	PCIeThroughput bool
}

// Reader reads the devices of a driver. It opens the library on first use, keeps it open, and opens it again, with
// back-off, while it is missing or after a device was lost. Its methods may be called from several goroutines.
type Reader struct {
	driver  Driver
	options ReaderOptions
	table   table

	mu        sync.Mutex
	closed    bool
	library   *library // nil until the library has opened
	opening   *beginning
	refused   Return // why it did not open
	delay     time.Duration
	notBefore time.Time
}

// library is the state of the open library, valid until it must be opened again.
type library struct {
	driverVersion, cudaVersion string
	devices                    []*device
	opened                     time.Time
	lost                       bool
}

// beginning is the start of a pass: with the library open or with a wait for it. Everything except the channel is
// guarded by the reader's mutex until the channel is closed, reads until they are started.
type beginning struct {
	done  chan struct{}
	since time.Time
	hung  bool // a caller has given up waiting

	err     error
	code    Return
	library *library
	reads   []*read
}

// NewReader returns a reader that has not used the driver yet.
func NewReader(driver Driver, options ReaderOptions) *Reader {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Reader{driver: driver, options: options, table: newTable(options.PCIeThroughput)}
}

// Read starts a pass over all devices and returns without waiting for it. A device that an earlier pass is still
// reading is shared with it, so that it has one read at a time.
func (r *Reader) Read(ctx context.Context) *Pass { return r.read(ctx, true) }

// ReadBriefly is Read without the values that cost most: energy, the seconds of clock events, counts of faults and PCIe
// traffic are not read, unless a whole pass shares the device.
func (r *Reader) ReadBriefly(ctx context.Context) *Pass { return r.read(ctx, false) }

func (r *Reader) read(ctx context.Context, whole bool) *Pass {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return r.failed(err)
	}
	return &Pass{reader: r, beginning: r.begin(whole)}
}

func (r *Reader) begin(whole bool) *beginning {
	now := r.options.Now()
	due := !now.Before(r.notBefore)
	switch {
	case r.closed:
		return r.ended(fmt.Errorf("%w: the reader is closed", ErrUnavailable))
	case r.opening != nil && r.opening.hung:
		return r.ended(hungOpening(r.opening.since))
	case r.opening != nil:
		return r.opening
	case r.library == nil && !due:
		return r.ended(fmt.Errorf("%w: %v", ErrUnavailable, r.refused))
	case r.library == nil || r.library.lost && due && !r.library.busy():
		r.opening = &beginning{done: make(chan struct{}), since: now, code: r.refused}
		go r.open(r.opening, r.library)
		return r.opening
	}
	b := r.ended(nil)
	b.library, b.reads = r.library, r.startReads(r.library, whole)
	return b
}

// ended returns a finished start with this error, so that callers do not wait.
func (r *Reader) ended(err error) *beginning {
	done := make(chan struct{})
	close(done)
	return &beginning{done: done, err: err, code: r.refused}
}

func (r *Reader) failed(err error) *Pass { return &Pass{reader: r, beginning: r.ended(err)} }

// startLate starts the reads of a pass that had to wait for the library, when the first waiter returns, since all may
// have given up by then. Meanwhile the library may have been opened again: it must not be called while it is shut down.
func (r *Reader) startLate(b *beginning) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case b.library == nil, b.reads != nil:
		return b.err
	case r.closed, r.opening != nil, r.library != b.library:
		return fmt.Errorf("%w: the library has been opened anew or closed meanwhile", ErrLost)
	}
	b.reads = r.startReads(b.library, true)
	return nil
}

func (r *Reader) startReads(l *library, whole bool) []*read {
	reads := make([]*read, len(l.devices))
	for i, d := range l.devices {
		reads[i] = d.start(whole, func(Return) { r.lose(l) })
	}
	return reads
}

// open runs in its own thread, since each of its calls may hang too. Before is the library that is opened again, nil
// the first time.
func (r *Reader) open(b *beginning, before *library) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if before != nil {
		r.driver.Shutdown()
	}
	library, code := r.load()
	if before != nil && library != nil {
		library.succeed(before)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opening, r.library, r.refused, b.code = nil, library, code, code
	switch {
	case r.closed:
		b.err = fmt.Errorf("%w: the reader is closed", ErrUnavailable)
		if library != nil {
			r.driver.Shutdown()
		}
	case library == nil:
		r.backOff()
		b.err = fmt.Errorf("%w: %v", ErrUnavailable, code)
	default:
		// A driver without devices lists devices that are added later only when it is opened again.
		if b.library = library; len(library.devices) == 0 {
			r.loseLocked(library)
		}
	}
	close(b.done)
}

// load opens the library and reads the values that belong to no device.
func (r *Reader) load() (*library, Return) {
	if code := r.driver.Init(); code != Success {
		return nil, code
	}
	count, code := r.driver.DeviceCount()
	if code != Success {
		r.driver.Shutdown()
		return nil, code
	}
	l := &library{opened: r.options.Now()}
	if v, code := r.driver.Do(System, CallDriverVersion); code == Success {
		l.driverVersion = v.Text
	}
	if v, code := r.driver.Do(System, CallCUDAVersion); code == Success {
		l.cudaVersion = fmt.Sprintf("%d.%d", v.Number/1000, v.Number%1000/10)
	}
	for index := range min(count, maxDevices) {
		l.devices = append(l.devices, newDevice(index, r.driver, r.table, r.options))
	}
	return l, Success
}

// succeed passes the devices' former identities on. If their number has changed, the devices cannot be matched.
func (l *library) succeed(before *library) {
	if len(l.devices) != len(before.devices) {
		return
	}
	for i, d := range l.devices {
		d.succeed(before.devices[i])
	}
}

// maxDevices is the maximum number of devices that a broken driver or recording can make the reader start.
const maxDevices = 256

// lose marks the library to be opened again.
func (r *Reader) lose(l *library) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loseLocked(l)
}

func (r *Reader) loseLocked(l *library) {
	if l.lost {
		return
	}
	l.lost = true
	if r.options.Now().Sub(l.opened) > lastRetry {
		r.delay = 0 // it has worked for long: this is a new fault
	}
	r.backOff()
}

func (r *Reader) backOff() {
	r.delay = min(max(firstRetry, 2*r.delay), lastRetry)
	r.notBefore = r.options.Now().Add(r.delay)
}

// busy reports whether a thread is inside a call on any device. The library is not shut down under it.
func (l *library) busy() bool {
	for _, d := range l.devices {
		if d.busy() {
			return true
		}
	}
	return false
}

// Close releases the library. It waits a moment for calls in progress; while one hangs it leaves the library as it is,
// since shutting down under a call can end the process.
func (r *Reader) Close() {
	r.mu.Lock()
	l := r.library
	skip := r.closed || r.opening != nil || l == nil
	r.closed = true
	r.mu.Unlock()
	if skip {
		return
	}
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	for _, d := range l.devices {
		if !d.idle(timer.C) {
			return
		}
	}
	done := make(chan struct{})
	go func() {
		r.driver.Shutdown()
		close(done)
	}()
	select {
	case <-done:
	case <-timer.C:
	}
}
