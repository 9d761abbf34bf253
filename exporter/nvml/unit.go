package nvml

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// reprobeAfter is how long an answer "not supported" is believed: long, since it changes with a
// driver at most, but not for ever, since a device that is in trouble gives it too.
const reprobeAfter = 10 * time.Minute

// unit is one device while the library is open. At most one goroutine, and so one thread, is
// inside its calls: a call that does not return holds that one and no other is started.
type unit struct {
	index  int
	driver Driver
	now    func() time.Time
	skip   []Call

	mu      sync.Mutex
	base    draft         // what holds from pass to pass
	known   map[Call]bool // calls made once that have been answered
	kept    map[Call]keptValue
	refused map[Call]refusal
	current *read // nil while nobody is inside the driver
	lost    Return
}

type refusal struct {
	code Return
	at   time.Time
}

// keptValue is an answer that is good for more than one pass.
type keptValue struct {
	value Value
	at    time.Time
}

func newUnit(index int, driver Driver, options ReaderOptions) *unit {
	return &unit{index: index, driver: driver, now: options.Now, skip: options.Skip, base: newDraft(index, options),
		known: map[Call]bool{}, kept: map[Call]keptValue{}, refused: map[Call]refusal{}}
}

// start begins a read, joins the one under way, or says at once why there is none: the thread
// is still inside a call that somebody has given up waiting for, or the device is lost.
// lose is called when the device is lost.
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
	case u.lost != Success:
		r := u.newRead()
		r.draft.Return = u.lost
		r.finish()
		return r
	}
	u.current = u.newRead()
	go u.run(u.current, lose)
	return u.current
}

func (u *unit) newRead() *read {
	return &read{unit: u, listed: make(chan struct{}), done: make(chan struct{}),
		draft: u.base.clone(), call: CallUUID, since: u.now(), overdue: -1}
}

func (u *unit) run(r *read, lose func(Return)) {
	// The driver keeps state by thread, and a call that hangs takes its thread along.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	whole := u.ask(r, vitalReadings())
	u.publishLists(r)
	if whole {
		u.ask(r, valueReadings())
	}
	if code := u.end(r); code != Success {
		lose(code)
	}
}

// ask makes the calls in turn; false when there is no point in going on.
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

// begin says whether the call is to be made, and notes it as under way.
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

// needless says that the call need not be made, and takes in what is known in its place.
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

// settle takes the answer in; false when the read has been given up or the device is lost.
func (u *unit) settle(r *read, c reading, value Value, code Return) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.over {
		return false
	}
	if code.lost() {
		u.lost, r.draft.Return = code, code
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

// note puts an answer into the draft, and into the base what will hold for later passes.
func (u *unit) note(r *read, c reading, value Value, code Return) {
	if c.call == CallMemory {
		r.draft.evidence.Memory = code
	}
	if c.list && (code == Success || code.unsupported()) {
		r.draft.lists++
	}
	switch {
	case code == Success:
		c.apply(&r.draft, value)
		u.noteSupport(r, c, value)
		if c.once {
			c.apply(&u.base, value)
			u.known[c.call] = true
		}
	case code.unsupported():
		u.support(r, c.call, false)
	default:
		if r.draft.Errors == nil {
			r.draft.Errors = map[Call]Return{}
		}
		r.draft.Errors[c.call] = code
	}
}

func (u *unit) noteSupport(r *read, c reading, value Value) {
	u.support(r, c.call, true)
	if !c.fields {
		return
	}
	for name := range value.Numbers {
		u.support(r, c.call+"_"+Call(name), true)
	}
	for name, code := range value.Refused {
		if code.unsupported() {
			u.support(r, c.call+"_"+Call(name), false)
		}
	}
}

func (u *unit) support(r *read, call Call, supported bool) {
	r.draft.Supported[call] = supported
	u.base.Supported[call] = supported
}

// publishLists lets those go on who wait for process lists and identity only.
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
	r.finish()
	return r.draft.Return
}

// busy says whether a thread is inside a call.
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
