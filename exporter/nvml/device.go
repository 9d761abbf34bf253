package nvml

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
)

// reprobeAfter is how long an answer "not supported" is valid: long, since it changes at most with the driver, but not
// for ever, since a device in trouble gives it too.
const reprobeAfter = 10 * time.Minute

// device is one device while the library is open. At most one goroutine, and so one thread, is inside its calls: a call
// that does not return holds only that thread, and no other is started.
type device struct {
	index  int
	driver Driver
	table  table
	now    func() time.Time
	skip   []Call

	mu      sync.Mutex
	base    reading       // values kept from pass to pass
	known   map[Call]bool // calls made once that have been answered
	kept    map[Call]keptValue
	refused map[Call]refusal
	current *read // nil while no thread is inside the driver
	lost    Return
	xids    map[uint64]uint64 // as last reported: a lost device may no longer answer
}

type refusal struct {
	code Return
	at   time.Time
}

// keptValue is an answer that is valid for more than one pass.
type keptValue struct {
	value Value
	at    time.Time
}

func newDevice(index int, driver Driver, calls table, options ReaderOptions) *device {
	return &device{index: index, driver: driver, table: calls, now: options.Now, skip: options.Skip, base: newReading(index, options),
		known: map[Call]bool{}, kept: map[Call]keptValue{}, refused: map[Call]refusal{}}
}

// succeed takes from the device of the same index in the last opening of the library the values that a lost device can no
// longer report: its identity and the errors that give the reason.
func (d *device) succeed(before *device) {
	before.mu.Lock()
	defer before.mu.Unlock()
	d.base.UUID, d.xids = before.base.UUID, before.xids
}

// start starts a read, joins the one in progress, or returns at once why there is none: the thread is still inside a
// call that a caller has given up waiting for. For a lost device only values that do not need its handle are read. lose
// is called when the device is lost. A read that is not whole leaves out the costly calls, until a caller that wants all joins it.
func (d *device) start(whole bool, lose func(Return)) *read {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.current; r != nil && r.overdue == r.number {
		r.giveUp()
	}
	switch {
	case d.current != nil && !d.current.over:
		d.current.whole = d.current.whole || whole
		return d.current
	case d.current != nil:
		r := d.newRead()
		r.call, r.since = d.current.call, d.current.since
		r.giveUp()
		return r
	}
	d.current = d.newRead()
	d.current.whole = whole
	if d.current.reading.Return = d.lost; d.lost != Success {
		go d.runLost(d.current)
	} else {
		go d.run(d.current, lose)
	}
	return d.current
}

func (d *device) newRead() *read {
	return &read{of: d, listed: make(chan struct{}), done: make(chan struct{}),
		reading: d.base, call: CallUUID, since: d.now(), overdue: -1}
}

// runLost reads what a lost device still gives: why it was lost.
func (d *device) runLost(r *read) {
	d.ask(r, d.table.events)
	d.end(r, false)
}

func (d *device) run(r *read, lose func(Return)) {
	// The driver keeps state by thread, and a call that hangs takes its thread along.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	useful := d.ask(r, d.table.vital)
	d.publishLists(r)
	switch {
	case useful:
		useful = d.ask(r, d.table.values)
	case d.isLost():
		d.ask(r, d.table.events)
	}
	code, more := d.end(r, useful)
	if more {
		d.ask(r, d.table.costly)
		code, _ = d.end(r, false)
	}
	if code != Success {
		lose(code)
	}
}

func (d *device) isLost() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost != Success
}

// ask makes the calls in turn; false when further calls are useless.
func (d *device) ask(r *read, calls []deviceCall) bool {
	for _, c := range calls {
		if !d.begin(r, c) {
			continue
		}
		value, code := d.driver.Do(d.index, c.call)
		if !d.settle(r, c, value, code) {
			return false
		}
	}
	return true
}

// begin reports whether to make the call, and records it as in progress.
func (d *device) begin(r *read, c deviceCall) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.needless(r, c) {
		return false
	}
	r.call, r.since = c.call, d.now()
	r.number++
	return true
}

// needless reports that the call need not be made, and applies the value already read in its place.
func (d *device) needless(r *read, c deviceCall) bool {
	now := d.now()
	kept, hasKept := d.kept[c.call]
	refused, isRefused := d.refused[c.call]
	switch {
	case slices.Contains(d.skip, c.call):
		if c.list {
			r.reading.lists++
		}
	case c.once && d.known[c.call], c.needless != nil && c.needless(&r.reading):
	case hasKept && now.Sub(kept.at) < c.every:
		d.note(r, c, kept.value, Success)
	case isRefused && now.Sub(refused.at) < reprobeAfter:
		d.note(r, c, Value{}, refused.code)
	default:
		return false
	}
	return true
}

// settle applies the answer; false when the read has been given up or the device is lost.
func (d *device) settle(r *read, c deviceCall, value Value, code Return) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.over {
		return false
	}
	if lost := lostBy(c, value, code); lost != Success {
		d.lost, r.reading.Return = lost, lost
		return false
	}
	delete(d.refused, c.call)
	delete(d.kept, c.call)
	switch {
	case code.unsupported():
		d.refused[c.call] = refusal{code, d.now()}
	case code == Success && c.every > 0:
		d.kept[c.call] = keptValue{value, d.now()}
	}
	d.note(r, c, value, code)
	return true
}

// lostBy returns the code that reports the device as lost: that of the call or of one of its parts.
func lostBy(c deviceCall, value Value, code Return) Return {
	if code.lost() {
		return code
	}
	if c.fields {
		for _, refused := range value.Refused {
			if refused.lost() {
				return refused
			}
		}
	}
	return Success
}

// note applies an answer to the reading, and to the base if it is valid for later passes.
func (d *device) note(r *read, c deviceCall, value Value, code Return) {
	if c.call == CallMemory {
		r.reading.evidence.Memory = code
	}
	if c.list && (code == Success || code.unsupported()) {
		r.reading.lists++
	}
	if code != Success {
		d.noteRefusal(r, c.call, code)
		return
	}
	value, known := c.withoutAllOnes(value)
	if !known {
		return
	}
	c.apply(&r.reading, value)
	d.support(r, c.call, true)
	if c.fields {
		d.noteFields(r, c.call, value)
	}
	if c.once {
		c.apply(&d.base, value)
		d.known[c.call] = true
	}
}

// noteFields notes the fields of a call, which are supported or fail singly.
func (d *device) noteFields(r *read, call Call, value Value) {
	for name := range value.Numbers {
		d.support(r, call+"_"+Call(name), true)
	}
	for name, code := range value.Refused {
		d.noteRefusal(r, call+"_"+Call(name), code)
	}
}

// noteRefusal classifies a refusal: not supported, a lack of privilege, or a failure. On a partitioned GPU a process
// without the privilege to monitor it is refused the values of all instances together; that is its rule, no failure.
func (d *device) noteRefusal(r *read, call Call, code Return) {
	switch {
	case code == NotRecorded:
		// Whether the device supports it is unknown.
	case code.unsupported():
		d.support(r, call, false)
	case code == NoPermission && r.reading.evidence.MIG:
		r.reading.Denied = true
	default:
		errors := map[Call]Return{call: code}
		maps.Copy(errors, r.reading.Errors)
		r.reading.Errors = errors
	}
}

// support records in reading and base, which share the map, whether a call is supported.
func (d *device) support(r *read, call Call, supported bool) {
	if before, known := d.base.Supported[call]; known && before == supported {
		return
	}
	changed := maps.Clone(d.base.Supported)
	changed[call] = supported
	d.base.Supported, r.reading.Supported = changed, changed
}

// publishLists releases the callers that wait only for process lists and identity.
func (d *device) publishLists(r *read) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.over {
		return
	}
	r.reading.decideArchitecture()
	d.base.Architecture = r.reading.Architecture
	r.closeListed()
}

// end frees the device for the next read and returns the code with which it was lost, if it was. It does not end a read of
// which the costly calls are left and wanted: more is true then.
func (d *device) end(r *read, left bool) (code Return, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if left && r.whole && !r.over {
		return Success, true
	}
	d.current = nil
	d.base.seenEvents = r.reading.seenEvents
	switch {
	case r.reading.XIDErrors != nil:
		d.xids = r.reading.XIDErrors
	case d.lost != Success:
		r.reading.XIDErrors = d.xids
	}
	r.finish()
	return r.reading.Return, false
}

// busy reports whether a thread is inside a call.
func (d *device) busy() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current != nil
}

// idle waits until no thread is inside a call; false if the timer ends first or the call hangs.
func (d *device) idle(timer <-chan time.Time) bool {
	d.mu.Lock()
	r := d.current
	d.mu.Unlock()
	if r == nil {
		return true
	}
	select {
	case <-r.done:
		return !d.busy()
	case <-timer:
		return false
	}
}
