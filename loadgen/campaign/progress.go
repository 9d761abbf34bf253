package campaign

import (
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// State is that of a campaign.
type State string

// The states of a campaign.
const (
	Running  State = "running"
	Complete State = "complete" // every slot is over
	Stopped  State = "stopped"  // from outside; it can go on
	Ended    State = "ended"    // by its plan: too many runs in a row were not valid
	Gaveup   State = "aborted"  // by its plan: a signal that it is about was not proven
	Broken   State = "failed"   // it could not go on
)

// progress is what the journal tells: which slots are over, and what the next one must know.
type progress struct {
	events   []Event
	slots    map[int]*slotProgress
	plan     string // sha256
	began    bool
	state    State
	reason   string    // why it ended
	lastEnd  time.Time // of the last thing that loaded the machine
	cooldown float64   // seconds that every run waits before anything else, by the last one
	celsius  *float64  // of the first start
	memFree  map[string]float64
	// pStates count the performance states that probes of a cell have found.
	pStates  map[cell]map[float64]int
	measured []measured
	proven   map[cell]*tally
	skipped  map[cell]string
	served   map[string]string // the model that the first run was answered as, by model of the plan
	came     map[cell]bool     // up, at least once
	decides  *Decides          // as at the first run; nil of a campaign from before this was recorded
	// nRaisedFrom is the n of the plan when the arms were first compared, if it was raised since; else 0.
	nRaisedFrom int
	added       []Event // rounds behind the slots of the plan
}

// cell is an arm with a model.
type cell struct{ model, arm string }

// tally counts the finished runs of a cell, and those of them that prove a signal.
type tally struct {
	finished int
	proven   map[string]int
}

// slotProgress is what was done in a slot.
type slotProgress struct {
	slot     plan.Slot
	attempts int // runs that began
	spent    int // runs that ended without being valid, since the slot was last taken up anew
	last     Status
	run      string // of the last one
	open     bool   // it has not ended
	problem  string
	doing    string  // what goes on in one that is open
	rested   float64 // seconds, of the last run
	runs     []string
	measured []string // runs that came to their end
	gates    []string // that did not pass, of the last run
}

// measured is how long a run took, with all that stands around it but its rest.
type measured struct {
	cell     cell
	scenario string
	seconds  float64
}

// replay makes the progress of events.
func replay(events []Event) *progress {
	p := &progress{slots: map[int]*slotProgress{}, memFree: map[string]float64{}, pStates: map[cell]map[float64]int{}, proven: map[cell]*tally{}, skipped: map[cell]string{}, served: map[string]string{}, came: map[cell]bool{}}
	for _, e := range events {
		p.take(e)
	}
	return p
}

// take enters an event.
func (p *progress) take(e Event) {
	p.events = append(p.events, e)
	switch e.Event {
	case eventBegin:
		p.began, p.plan, p.state, p.reason = true, e.Plan, Running, ""
		p.takeDecides(e)
	case eventAdd:
		p.added = append(p.added, e)
	case eventEnd:
		p.state, p.reason = e.State, e.Text
	case eventSlot:
		s := p.slot(e)
		s.attempts++
		s.open, s.run, s.gates, s.doing, s.rested = true, e.Run, nil, "the machine comes to rest", 0
		s.runs = append(s.runs, e.Run)
	case eventGates:
		p.takeGates(e)
	case eventUp, eventDown:
		p.lastEnd = e.At
		p.came[cell{e.Model, e.Arm}] = p.came[cell{e.Model, e.Arm}] || e.Event == eventUp
		if s := p.slots[e.Slot]; s != nil && s.open {
			s.doing = map[string]string{eventUp: "it measures", eventDown: "its arm is down, and it is written down"}[e.Event]
		}
	case eventRun:
		p.takeRun(e)
	case eventSkip:
		s := p.slot(e)
		s.last, s.problem = Skipped, e.Text
		p.skipped[cell{e.Model, e.Arm}] = e.Text
	}
}

// slot is the progress of the slot that an event is of.
func (p *progress) slot(e Event) *slotProgress {
	s := p.slots[e.Slot]
	if s == nil {
		s = &slotProgress{slot: plan.Slot{Number: e.Slot, Model: e.Model, Arm: e.Arm, Scenario: e.Scenario, Iteration: e.Iteration}}
		p.slots[e.Slot] = s
	}
	return s
}

func (p *progress) takeGates(e Event) {
	s := p.slot(e)
	s.doing = "its arm comes up"
	for _, g := range e.Gates {
		if g.State == gateTimedOut || g.State == gateFailed {
			s.gates = append(s.gates, g.Name+" "+g.State)
		}
		if g.Name == gatePState && g.Value != nil {
			c := cell{e.Model, e.Arm}
			if p.pStates[c] == nil {
				p.pStates[c] = map[float64]int{}
			}
			p.pStates[c][*g.Value]++
		}
		if g.Name == gateCooldown && g.Limit != nil {
			s.rested, p.cooldown = g.Seconds, *g.Limit
		}
	}
	if p.celsius == nil {
		p.celsius = e.Celsius
	}
	if e.MemFree != nil {
		p.memFree[e.Arm] = *e.MemFree
	}
}

func (p *progress) takeRun(e Event) {
	s := p.slot(e)
	s.open, s.last, s.problem, p.lastEnd = false, e.Status, e.Text, e.At
	if e.Status == Invalid || e.Status == Failed {
		s.spent++
	}
	if e.Status == Finished || e.Status == Invalid {
		if p.served[e.Model] == "" {
			p.served[e.Model] = e.Served
		}
		s.measured = append(s.measured, e.Run)
		p.measured = append(p.measured, measured{cell{e.Model, e.Arm}, e.Scenario, e.Second - s.rested})
	}
	if e.Status != Finished {
		return
	}
	c := cell{e.Model, e.Arm}
	if p.proven[c] == nil {
		p.proven[c] = &tally{proven: map[string]int{}}
	}
	p.proven[c].finished++
	for _, signal := range e.Proven {
		p.proven[c].proven[signal]++
	}
}

// over says whether a slot needs no other run. Repeat is how many the plan gives one that has none valid.
func (p *progress) over(number, repeat int) bool {
	s := p.slots[number]
	if s == nil || s.open {
		return false
	}
	switch s.last {
	case Finished, Skipped:
		return true
	case Invalid, Failed:
		return s.spent > repeat
	default:
		return false
	}
}

// status is that of a slot that is over; empty of any other.
func (p *progress) status(number, repeat int) Status {
	if !p.over(number, repeat) {
		return ""
	}
	return p.slots[number].last
}

// renew takes slots up anew that are over without a valid run.
func (p *progress) renew() {
	for _, s := range p.slots {
		if s.last != Finished {
			s.spent, s.last = 0, ""
		}
	}
	clear(p.skipped)
}

// expected is how long a run of the slot takes behind its rest, by those that were measured: of its like,
// else of all.
func (p *progress) expected(s plan.Slot) (time.Duration, bool) {
	like := func(m measured) bool { return m.scenario == s.Scenario && m.cell == cell{s.Model, s.Arm} }
	for _, among := range []func(measured) bool{like, func(m measured) bool { return m.scenario == s.Scenario }, func(measured) bool { return true }} {
		sum, n := 0.0, 0
		for _, m := range p.measured {
			if among(m) {
				sum, n = sum+m.seconds, n+1
			}
		}
		if n > 0 {
			return time.Duration(sum / float64(n) * float64(time.Second)), true
		}
	}
	return 0, false
}

// usual is how long a run of the slot takes with its rest.
func (p *progress) usual(s plan.Slot) (time.Duration, bool) {
	d, known := p.expected(s)
	return d + time.Duration(p.cooldown*float64(time.Second)), known
}

// absent names the signal for whose absence the plan ends the campaign; empty if there is none.
func (p *progress) absent(rules []plan.AbortIf, c cell) string {
	t := p.proven[c]
	if t == nil {
		return ""
	}
	for _, rule := range rules {
		if (rule.Arm == "" || rule.Arm == c.arm) && t.finished >= max(rule.AbsentAfter, 1) && t.proven[rule.Signal] == 0 {
			return rule.Signal
		}
	}
	return ""
}
