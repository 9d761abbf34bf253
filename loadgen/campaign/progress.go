package campaign

import (
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// State is the state of a campaign.
type State string

// States of a campaign.
const (
	Running  State = "running"
	Complete State = "complete" // every slot has ended
	Stopped  State = "stopped"  // from outside; it can continue
	Ended    State = "ended"    // by its plan: too many runs in a row were not valid
	Gaveup   State = "aborted"  // by its plan: a required signal was not proven
	Broken   State = "failed"   // it could not continue
)

// progress is the state that follows from the journal: which slots have ended, and what the next run depends on.
type progress struct {
	events   []Event
	slots    map[int]*slotProgress
	plan     string // SHA-256
	began    bool
	state    State
	reason   string    // why it ended
	lastEnd  time.Time // end of the last load on the machine
	cooldown float64   // seconds: the least rest before a run, from the last run
	celsius  *float64  // at the first start
	memFree  map[string]float64
	// pStates counts the performance states that probes of a cell have found.
	pStates  map[cell]map[float64]int
	measured []measured
	proven   map[cell]*tally
	skipped  map[cell]string
	served   map[string]string // the model name in the first run's answers, by model of the plan
	came     map[cell]bool     // cells that started at least once
	decides  *Decides          // at the first run; nil for a campaign older than this record
	// nRaisedFrom is the plan's N when the arms were first compared, if it was raised since; else 0.
	nRaisedFrom int
	added       []Event // rounds after the slots of the plan
	// placement is where the invocation with the first run placed the processes of arms; empty for a campaign older than
	// this record.
	placement string
}

// cell is an arm with a model.
type cell struct{ model, arm string }

// tally counts the finished runs of a cell, and the runs among them that prove a signal.
type tally struct {
	finished int
	proven   map[string]int
}

// slotProgress is the progress of a slot.
type slotProgress struct {
	slot     plan.Slot
	attempts int // runs that began
	spent    int // runs that ended without being valid, since the last retry of the slot
	last     Status
	run      string // of the last one
	open     bool   // the last run has not ended
	problem  string
	doing    string  // current step of an open run
	rested   float64 // seconds, for the last run
	runs     []string
	measured []string // runs that were measured to their end
	gates    []string // gates that did not open before the last run
}

// measured is how long a run took, including the start and stop of its engine but not its rest.
type measured struct {
	cell     cell
	scenario string
	seconds  float64
}

// replay builds the progress from events.
func replay(events []Event) *progress {
	p := &progress{slots: map[int]*slotProgress{}, memFree: map[string]float64{}, pStates: map[cell]map[float64]int{}, proven: map[cell]*tally{}, skipped: map[cell]string{}, served: map[string]string{}, came: map[cell]bool{}}
	for _, e := range events {
		p.take(e)
	}
	return p
}

// take applies an event.
func (p *progress) take(e Event) {
	p.events = append(p.events, e)
	switch e.Event {
	case eventBegin:
		if len(p.slots) == 0 {
			p.placement = e.Placement
		}
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

// slot returns the progress of the slot of an event.
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

// over reports whether a slot needs no further run. repeat is how many more runs the plan gives a slot without a valid
// run.
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

// status returns the status of a slot that has ended, or "" for any other.
func (p *progress) status(number, repeat int) Status {
	if !p.over(number, repeat) {
		return ""
	}
	return p.slots[number].last
}

// renew reopens the slots that ended with one of these statuses.
func (p *progress) renew(statuses []Status) {
	for _, s := range p.slots {
		if slices.Contains(statuses, s.last) {
			s.spent, s.last = 0, ""
		}
	}
	if slices.Contains(statuses, Skipped) {
		clear(p.skipped)
	}
}

// expected returns how long a run of the slot takes after its rest, by the measured runs: comparable runs if there are
// any, else all.
func (p *progress) expected(s plan.Slot) (time.Duration, bool) {
	like := func(m measured) bool { return m.scenario == s.Scenario && m.cell == cell{s.Model, s.Arm} }
	for _, among := range []func(measured) bool{like, func(m measured) bool { return m.scenario == s.Scenario }, func(measured) bool { return true }} {
		if mean, known := p.mean(among); known {
			return mean, true
		}
	}
	return 0, false
}

// mean returns the mean duration of some measured runs, without their rest.
func (p *progress) mean(among func(measured) bool) (mean time.Duration, known bool) {
	sum, n := 0.0, 0
	for _, m := range p.measured {
		if among(m) {
			sum, n = sum+m.seconds, n+1
		}
	}
	return time.Duration(sum / float64(max(n, 1)) * float64(time.Second)), n > 0
}

// usual returns how long a run of the slot takes, including its rest.
func (p *progress) usual(s plan.Slot) (time.Duration, bool) {
	d, known := p.expected(s)
	return p.withRest(d), known
}

func (p *progress) withRest(d time.Duration) time.Duration {
	return d + time.Duration(p.cooldown*float64(time.Second))
}

// absent returns the signal whose absence ends the campaign by its plan, or "".
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
