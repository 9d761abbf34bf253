//go:build cgo

package nvml

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

const (
	// listenFor is the maximum length of one wait for an event: it cannot be interrupted, and shutting down has to wait
	// for it. An event ends it at once.
	listenFor = 200 * time.Millisecond
	// listenGrace is how much longer a wait may take before it counts as hung.
	listenGrace = 5 * time.Second
	// maxXIDs is the maximum number of codes counted separately; further codes count as the driver's own "unknown".
	maxXIDs = 256
	// unknownXID is the code of an event whose code the driver cannot determine (nvmlEventData_t in nvml.h).
	unknownXID = 999
)

// listeners count XID events: each device has its own event set, so that a lost device does not end the wait for the
// others, and a thread that waits on it. Reading once a scrape would not do: while the driver hangs, scrapes cannot
// ask, and that is when the event matters.
//
// The counts continue when the library is opened again. Events between the end of one opening and the registration in
// the next are lost.
type listeners struct {
	library nvml.Interface

	mu     sync.Mutex
	open   map[nvml.Device]*listener    // of this opening of the library
	counts map[string]map[uint64]uint64 // events by UUID and code
}

// listener is the event wait of one device.
type listener struct {
	uuid string
	set  nvml.EventSet
	stop chan struct{} // closed to stop the thread
	done chan struct{} // closed when its thread has ended

	// Guarded by listeners.mu: the start of the current wait, and the code of the last wait that ended the listening.
	since time.Time
	code  nvml.Return
}

func newListeners(library nvml.Interface) *listeners {
	return &listeners{library: library, open: map[nvml.Device]*listener{}, counts: map[string]map[uint64]uint64{}}
}

// read returns the counts of a device by code, as text. The first call starts to listen.
func (l *listeners) read(d nvml.Device) (Value, nvml.Return) {
	one, code := l.listener(d)
	if code != nvml.SUCCESS {
		return Value{}, code
	}
	numbers, code := l.heardOf(one)
	switch code {
	case nvml.SUCCESS:
		return Value{Numbers: numbers}, nvml.SUCCESS
	case nvml.ERROR_TIMEOUT: // it is still inside its wait
	default:
		l.drop(d, one) // the next call starts again
	}
	return Value{}, code
}

// heardOf returns the counts of a listener by code, as text, or why it does not listen.
func (l *listeners) heardOf(one *listener) (map[string]uint64, nvml.Return) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case one.code == nvml.ERROR_GPU_IS_LOST:
		// Other calls find that out too. The counts show why it is lost.
	case one.code != nvml.SUCCESS:
		return nil, one.code
	case time.Since(one.since) > listenFor+listenGrace:
		return nil, nvml.ERROR_TIMEOUT
	}
	numbers := map[string]uint64{}
	for xid, count := range l.counts[one.uuid] {
		numbers[xidName(xid)] = count
	}
	return numbers, nvml.SUCCESS
}

// drop forgets a listener whose thread has ended and frees its set, without the lock: the call may hang as well, and
// other devices need the lock.
func (l *listeners) drop(d nvml.Device, one *listener) {
	l.mu.Lock()
	delete(l.open, d)
	l.mu.Unlock()
	one.set.Free()
}

// listener returns the listener of a device. It starts one if there is none, or if the last one was stopped for a
// shutdown that did not take place. Only one thread at a time asks for a device.
func (l *listeners) listener(d nvml.Device) (*listener, nvml.Return) {
	l.mu.Lock()
	one := l.open[d]
	l.mu.Unlock()
	if one != nil && !one.isStopped() {
		return one, nvml.SUCCESS
	}
	if one != nil {
		l.drop(d, one)
	}
	one, code := l.register(d)
	if code != nvml.SUCCESS {
		return nil, code
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[d], one.since = one, time.Now()
	go l.listen(one)
	return one, nvml.SUCCESS
}

// register makes an event set and registers the XID events of the device in it.
func (l *listeners) register(d nvml.Device) (*listener, nvml.Return) {
	uuid, code := d.GetUUID()
	if code != nvml.SUCCESS {
		return nil, code
	}
	types, code := d.GetSupportedEventTypes()
	if code != nvml.SUCCESS {
		return nil, code
	}
	if types&nvml.EventTypeXidCriticalError == 0 {
		return nil, nvml.ERROR_NOT_SUPPORTED
	}
	set, code := l.library.EventSetCreate()
	if code != nvml.SUCCESS {
		return nil, code
	}
	if code := d.RegisterEvents(nvml.EventTypeXidCriticalError, set); code != nvml.SUCCESS {
		set.Free()
		return nil, code
	}
	return &listener{uuid: uuid, set: set, stop: make(chan struct{}), done: make(chan struct{})}, nvml.SUCCESS
}

// listen counts events until it is stopped or a wait fails.
func (l *listeners) listen(one *listener) {
	runtime.LockOSThread() // a wait that hangs keeps its thread
	defer runtime.UnlockOSThread()
	defer close(one.done)
	for l.goesOn(one) {
		event, code := one.set.Wait(uint32(listenFor.Milliseconds()))
		l.heard(one, event, code)
	}
}

func (l *listeners) goesOn(one *listener) bool {
	select {
	case <-one.stop:
		return false
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one.since = time.Now()
	return one.code == nvml.SUCCESS
}

// heard handles the result of a wait.
func (l *listeners) heard(one *listener, event nvml.EventData, code nvml.Return) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case code == nvml.ERROR_TIMEOUT:
		// The wait timed out.
	case code != nvml.SUCCESS:
		one.code = code
	case event.EventType&nvml.EventTypeXidCriticalError != 0:
		l.count(one.uuid, event.EventData)
	}
}

func (l *listeners) count(uuid string, xid uint64) {
	counts := l.counts[uuid]
	if counts == nil {
		counts = map[uint64]uint64{}
		l.counts[uuid] = counts
	}
	if _, known := counts[xid]; !known && len(counts) >= maxXIDs {
		xid = unknownXID
	}
	counts[xid]++
}

// end ends all listening and frees the sets; false if a wait does not return. Then its set is not freed: the set and
// the library must stay.
func (l *listeners) end() bool {
	l.mu.Lock()
	ending := maps.Clone(l.open)
	l.mu.Unlock()
	for _, one := range ending {
		one.tellToStop()
	}
	patience, cancel := context.WithTimeout(context.Background(), 2*listenFor)
	defer cancel()
	all := true
	for d, one := range ending {
		if arrived(patience, one.done) == nil {
			l.drop(d, one)
		} else {
			all = false
		}
	}
	return all
}

// tellToStop may be called again after a shutdown that did not take place.
func (one *listener) tellToStop() {
	select {
	case <-one.stop:
	default:
		close(one.stop)
	}
}

// isStopped reports whether the thread has ended because it was stopped.
func (one *listener) isStopped() bool {
	select {
	case <-one.stop:
	default:
		return false
	}
	select {
	case <-one.done:
		return true
	default:
		return false
	}
}
