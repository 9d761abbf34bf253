package nvml

import "time"

// read is one pass over one device. Everything except the channels is guarded by the mutex of the device.
type read struct {
	of     *device
	listed chan struct{} // closed when process lists and identity are in, or will not come
	done   chan struct{} // closed when no more will come

	reading reading
	call    Call // the call that the thread is in, or was last in
	since   time.Time
	// number counts the calls; overdue is the number of the call for which a caller's wait timed out.
	number, overdue int
	listedClosed    bool
	whole           bool // the costly calls are made too
	over            bool // done is closed: later answers are dropped
}

// device is what has been read so far.
func (r *read) device() Device {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	return r.reading.device()
}

// waitedInVain returns the device to a caller that stops waiting for its lists. Other callers may still get them, but a
// read that is in the same call at the next pass counts as hung.
func (r *read) waitedInVain() Device {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.overdue = r.number
	device := r.reading.device()
	if !device.ProcessesRead {
		device.Hung, device.Since = r.call, r.since
	}
	return device
}

// abandon ends the read with what was read: the pass has run out of time.
func (r *read) abandon() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.giveUp()
}

func (r *read) giveUp() {
	if !r.over {
		r.reading.Hung, r.reading.Since = r.call, r.since
		r.finish()
	}
}

func (r *read) finish() {
	if !r.over {
		r.over = true
		r.closeListed()
		close(r.done)
	}
}

func (r *read) closeListed() {
	if !r.listedClosed {
		r.listedClosed = true
		close(r.listed)
	}
}
