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

// unit is one device while the library is open. At most one goroutine, and so one thread, is inside its calls: a call
// that does not return holds only that thread, and no other is started.
type unit struct {
	index  int
	driver Driver
	table  table
	now    func() time.Time
	skip   []Call

	mu      sync.Mutex
	base    draft         // values kept from pass to pass
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

func newUnit(index int, driver Driver, calls table, options ReaderOptions) *unit {
	return &unit{index: index, driver: driver, table: calls, now: options.Now, skip: options.Skip, base: newDraft(index, options),
		known: map[Call]bool{}, kept: map[Call]keptValue{}, refused: map[Call]refusal{}}
}

// succeed takes from the unit of the same index in the last opening of the library the values that a lost device can no
// longer report: its identity and the errors that give the reason.
func (u *unit) succeed(before *unit) {
	before.mu.Lock()
	defer before.mu.Unlock()
	u.base.UUID, u.xids = before.base.UUID, before.xids
}

// start starts a read, joins the one in progress, or returns at once why there is none: the thread is still inside a
// call that a caller has given up waiting for. For a lost device only values that do not need its handle are read. lose
// is called when the device is lost.
func (u *unit) start(lose func(Return)) *read {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.current; r != nil && r.overdue == r.number {
		r.giveUp()
	}
	switch {
	case u.current != nil && !u.current.over:
		return u.current
	case u.current != nil:
		r := u.newRead()
		r.call, r.since = u.current.call, u.current.since
		r.giveUp()
		return r
	}
	u.current = u.newRead()
	if u.current.draft.Return = u.lost; u.lost != Success {
		go u.runLost(u.current)
	} else {
		go u.run(u.current, lose)
	}
	return u.current
}

func (u *unit) newRead() *read {
	return &read{unit: u, listed: make(chan struct{}), done: make(chan struct{}),
		draft: u.base, call: CallUUID, since: u.now(), overdue: -1}
}

// runLost reads what a lost device still gives: why it was lost.
func (u *unit) runLost(r *read) {
	u.ask(r, u.table.events)
	u.end(r)
}

func (u *unit) run(r *read, lose func(Return)) {
	// The driver keeps state by thread, and a call that hangs takes its thread along.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	whole := u.ask(r, u.table.vital)
	u.publishLists(r)
	switch {
	case whole:
		u.ask(r, u.table.values)
	case u.isLost():
		u.ask(r, u.table.events)
	}
	if code := u.end(r); code != Success {
		lose(code)
	}
}

func (u *unit) isLost() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lost != Success
}

// ask makes the calls in turn; false when further calls are useless.
func (u *unit) ask(r *read, readings []reading) bool {
	for _, c := range readings {
		if !u.begin(r, c) {
			continue
		}
		value, code := u.driver.Do(u.index, c.call)
		if !u.settle(r, c, value, code) {
			return false
		}
	}
	return true
}

// begin reports whether to make the call, and records it as in progress.
func (u *unit) begin(r *read, c reading) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.needless(r, c) {
		return false
	}
	r.call, r.since = c.call, u.now()
	r.number++
	return true
}

// needless reports that the call need not be made, and applies the value already read in its place.
func (u *unit) needless(r *read, c reading) bool {
	now := u.now()
	kept, hasKept := u.kept[c.call]
	refused, isRefused := u.refused[c.call]
	switch {
	case slices.Contains(u.skip, c.call):
		if c.list {
			r.draft.lists++
		}
	case c.once && u.known[c.call], c.needless != nil && c.needless(&r.draft):
	case hasKept && now.Sub(kept.at) < c.every:
		u.note(r, c, kept.value, Success)
	case isRefused && now.Sub(refused.at) < reprobeAfter:
		u.note(r, c, Value{}, refused.code)
	default:
		return false
	}
	return true
}

// settle applies the answer; false when the read has been given up or the device is lost.
func (u *unit) settle(r *read, c reading, value Value, code Return) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.over {
		return false
	}
	if lost := lostBy(c, value, code); lost != Success {
		u.lost, r.draft.Return = lost, lost
		return false
	}
	delete(u.refused, c.call)
	delete(u.kept, c.call)
	switch {
	case code.unsupported():
		u.refused[c.call] = refusal{code, u.now()}
	case code == Success && c.every > 0:
		u.kept[c.call] = keptValue{value, u.now()}
	}
	u.note(r, c, value, code)
	return true
}

// lostBy returns the code that reports the device as lost: that of the call or of one of its parts.
func lostBy(c reading, value Value, code Return) Return {
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

// note applies an answer to the draft, and to the base if it is valid for later passes.
func (u *unit) note(r *read, c reading, value Value, code Return) {
	if c.call == CallMemory {
		r.draft.evidence.Memory = code
	}
	if c.list && (code == Success || code.unsupported()) {
		r.draft.lists++
	}
	if code != Success {
		u.noteRefusal(r, c.call, code)
		return
	}
	c.apply(&r.draft, value)
	u.support(r, c.call, true)
	if c.fields {
		u.noteFields(r, c.call, value)
	}
	if c.once {
		c.apply(&u.base, value)
		u.known[c.call] = true
	}
}

// noteFields notes the fields of a call, which are supported or fail singly.
func (u *unit) noteFields(r *read, call Call, value Value) {
	for name := range value.Numbers {
		u.support(r, call+"_"+Call(name), true)
	}
	for name, code := range value.Refused {
		u.noteRefusal(r, call+"_"+Call(name), code)
	}
}

// noteRefusal classifies a refusal: not supported, a lack of privilege, or a failure. On a partitioned GPU a process
// without the privilege to monitor it is refused the values of all instances together; that is its rule, no failure.
func (u *unit) noteRefusal(r *read, call Call, code Return) {
	switch {
	case code == NotRecorded:
		// Whether the device supports it is unknown.
	case code.unsupported():
		u.support(r, call, false)
	case code == NoPermission && r.draft.evidence.MIG:
		r.draft.Denied = true
	default:
		errors := map[Call]Return{call: code}
		maps.Copy(errors, r.draft.Errors)
		r.draft.Errors = errors
	}
}

// support records in draft and base, which share the map, whether a call is supported.
func (u *unit) support(r *read, call Call, supported bool) {
	if before, known := u.base.Supported[call]; known && before == supported {
		return
	}
	changed := maps.Clone(u.base.Supported)
	changed[call] = supported
	u.base.Supported, r.draft.Supported = changed, changed
}

// publishLists releases the callers that wait only for process lists and identity.
func (u *unit) publishLists(r *read) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.over {
		return
	}
	r.draft.decideArchitecture()
	u.base.Architecture = r.draft.Architecture
	r.closeListed()
}

// end frees the device for the next read and returns the code with which it was lost, if it was.
func (u *unit) end(r *read) Return {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current = nil
	u.base.seenEvents = r.draft.seenEvents
	switch {
	case r.draft.XIDErrors != nil:
		u.xids = r.draft.XIDErrors
	case u.lost != Success:
		r.draft.XIDErrors = u.xids
	}
	r.finish()
	return r.draft.Return
}

// busy reports whether a thread is inside a call.
func (u *unit) busy() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.current != nil
}

// idle waits until no thread is inside a call; false if the timer ends first or the call hangs.
func (u *unit) idle(timer <-chan time.Time) bool {
	u.mu.Lock()
	r := u.current
	u.mu.Unlock()
	if r == nil {
		return true
	}
	select {
	case <-r.done:
		return !u.busy()
	case <-timer:
		return false
	}
}
