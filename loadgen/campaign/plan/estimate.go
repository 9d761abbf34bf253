package plan

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Facts are the inputs of an estimate besides the plan. A value of 0 means unknown.
type Facts struct {
	// Measured returns how long a slot like this one took, from the end of its cooldown to the end of its arm.
	Measured func(Slot) (time.Duration, bool)
	// BytesOfRun is the mean size of the plan's run folders so far.
	BytesOfRun uint64
	// MemTotalBytes is the memory of the machine, FreeBytes the free space of the disk for the runs.
	MemTotalBytes, FreeBytes uint64
}

// Estimate is the time and space that a campaign takes. Least assumes that every gate opens and every engine is ready
// at once, most that all of them time out.
type Estimate struct {
	Plan        *Plan
	Slots       []SlotTime
	Least, Most time.Duration
	// Cooldowns is the part of both that is cooldowns.
	Cooldowns time.Duration
	// Unknown counts the slots whose load has no known duration. Neither sum includes it.
	Unknown int
	// DiskBytes is the size of all run folders; 0 if there is not even a bound.
	DiskBytes uint64
	FreeBytes uint64
	// Root lists the parts that need root, Never the gates that cannot open, Notes further remarks.
	Root, Never, Notes []string
	// Defaults are the keys that the plan does not set, each with its default.
	Defaults []string
}

// SlotTime is how long a slot takes. After is its earliest begin.
type SlotTime struct {
	Slot
	After, Least, Most time.Duration
	Unknown            bool
}

// telemetryBytesAMinute is the most that telemetry writes per minute and exporter. leastRunBytes is the rest of a run
// folder; no run of the reference is smaller.
const (
	telemetryBytesAMinute = 5e6
	leastRunBytes         = 2e6
)

// Estimate estimates the time and space that the slots take.
func (p *Plan) Estimate(slots []Slot, facts Facts) (*Estimate, error) {
	e := &Estimate{Plan: p, FreeBytes: facts.FreeBytes, Defaults: p.defaults}
	cells := map[[2]string]*Cell{}
	for i, s := range slots {
		key := [2]string{s.Model, s.Arm}
		if cells[key] == nil {
			c, err := p.Render(s.Model, s.Arm, map[string]string{ValueFolder: ValueFolder})
			if err != nil {
				return nil, err
			}
			cells[key] = c
		}
		starts := i == 0 || !p.KeepUp || !slots[i-1].SameTurn(s)
		ends := i == len(slots)-1 || !p.KeepUp || !slots[i+1].SameTurn(s)
		e.add(s, cells[key], facts, i == 0, starts, ends)
	}
	e.Root = p.root(slots, cells)
	e.Never = p.never(facts)
	e.Notes = p.notes(facts)
	if e.FreeBytes > 0 && e.DiskBytes > e.FreeBytes {
		e.Notes = append(e.Notes, "the disk has "+Bytes(e.FreeBytes).String()+" free, which may not be enough")
	}
	return e, nil
}

// add adds a slot at the end.
func (e *Estimate) add(s Slot, c *Cell, facts Facts, first, starts, ends bool) {
	g := c.Gates
	t := SlotTime{Slot: s}
	var cooldown time.Duration
	if !first && g.Cooldown != nil {
		cooldown = *g.Cooldown
	}
	t.After = plus(e.Least, cooldown)
	load, known, whole := e.Plan.load(s, c, facts)
	t.Least, t.Most, t.Unknown = cooldown+load, cooldown+load, !known
	if !whole {
		t.Least += e.Plan.leastAround(c, starts) + g.least()
		t.Most += e.Plan.mostAround(c, starts, ends)
	}
	t.Most += time.Duration(g.waits()) * g.Timeout
	e.Slots, e.Cooldowns = append(e.Slots, t), plus(e.Cooldowns, cooldown)
	e.Least, e.Most = plus(e.Least, t.Least), plus(e.Most, t.Most)
	if t.Unknown {
		e.Unknown++
	}
	e.DiskBytes += diskOf(t, c, facts)
}

// plus adds durations up to the longest possible one.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func diskOf(t SlotTime, c *Cell, facts Facts) uint64 {
	if facts.BytesOfRun > 0 {
		return facts.BytesOfRun
	}
	pages := max(1, len(c.Telemetry)) // without one, this machine's exporter is followed if it answers
	return leastRunBytes + uint64(t.Least.Minutes()*telemetryBytesAMinute)*uint64(pages)
}

// load returns how long the load of a slot lasts. whole is true if the duration is of the slot, from the end of its
// cooldown to the end of its arm.
func (p *Plan) load(s Slot, c *Cell, facts Facts) (d time.Duration, known, whole bool) {
	if facts.Measured != nil {
		if d, known = facts.Measured(s); known {
			return d, true, true
		}
	}
	scenario, _ := c.Scenario(s.Scenario)
	if scenario.Expected > 0 {
		return scenario.Expected, true, false
	}
	text, given := scenario.Run["duration"]
	if !given && scenario.Record == nil {
		text = c.Flags["duration"]
	}
	d, err := time.ParseDuration(text)
	return min(max(d, 0), mostDuration), err == nil, false
}

// leastAround returns the minimum waiting time that the plan sets around a load.
func (p *Plan) leastAround(c *Cell, starts bool) time.Duration {
	var d time.Duration
	for _, one := range c.Arm.Processes {
		if starts {
			d += one.Delay
		}
		if starts && one.Ready != nil {
			d += time.Duration(one.Ready.Consecutive-1) * one.Ready.Every
		}
	}
	return d
}

// mostAround returns the time until every timeout of the arm and the checks has passed.
func (p *Plan) mostAround(c *Cell, starts, ends bool) time.Duration {
	var d time.Duration
	for _, one := range c.Arm.Processes {
		if starts {
			d += one.Delay
		}
		if starts && one.Ready != nil {
			d += one.Ready.Timeout
		}
		if ends {
			d += one.Stop.Timeout
		}
	}
	for _, check := range c.Checks {
		d += time.Duration(len(check.When)) * check.Timeout
	}
	return d
}

// The least time of gates per run: the CPU share needs two readings, the clock needs a probe.
const (
	cpuLooks   = 5 * time.Second
	clockProbe = 2 * time.Second
)

// least returns how long gates take that open at once.
func (g Gates) least() time.Duration {
	var d time.Duration
	if g.CPURatio != nil {
		d += min(cpuLooks, g.Timeout)
	}
	if g.SMClock != nil {
		d += min(clockProbe, g.Timeout)
	}
	return d
}

// waits counts the gates that may wait, other than for the clock.
func (g Gates) waits() int {
	n := 0
	for _, waits := range []bool{g.GPUCelsius != nil || g.WithinFirstCelsius != nil, g.CPURatio != nil, g.MemFree > 0, g.MemFreeWithin != nil, g.SMClock != nil} {
		if waits {
			n++
		}
	}
	return n
}

// never returns the gates that can never open.
func (p *Plan) never(facts Facts) []string {
	var gates []string
	g, total := p.Gates, Bytes(facts.MemTotalBytes)
	if g.Cooldown != nil && *g.Cooldown > g.Timeout {
		gates = append(gates, "gates.cooldown: "+g.Cooldown.String()+" is longer than gates.timeout, "+g.Timeout.String())
	}
	if total > 0 && g.MemFree > total {
		gates = append(gates, "gates.mem_free: "+g.MemFree.String()+" is more than this machine has, "+total.String())
	}
	for i, m := range p.Models {
		if total > 0 && m.ExpectedBytes > total {
			gates = append(gates, item("models", i)+".expected_memory: "+m.ExpectedBytes.String()+" is more than this machine has, "+total.String())
		}
	}
	if g.GPUCelsius != nil && *g.GPUCelsius < coldestRoom {
		gates = append(gates, "gates.gpu_celsius: "+strconv.FormatFloat(*g.GPUCelsius, 'g', -1, 64)+" C is colder than a room")
	}
	return gates
}

// coldestRoom is a temperature below which no GPU cools by itself, in degrees Celsius.
const coldestRoom = 15

// notes returns remarks about settings that weaken the campaign's results.
func (p *Plan) notes(facts Facts) []string {
	var notes []string
	several := len(p.Arms) > 1
	if several && p.Order == Sequential {
		notes = append(notes, "order: sequential confounds arm and time: whatever changes meanwhile looks like a difference between arms; abba does not")
	}
	if several && p.Order == ABBA && p.Iterations%2 == 1 {
		notes = append(notes, "iterations: "+strconv.Itoa(p.Iterations)+" is odd: the last way forth has no way back, and drift does not cancel")
	}
	if several && p.Iterations < 3 {
		notes = append(notes, "iterations: "+strconv.Itoa(p.Iterations)+" for each arm is too few for a verdict: campaign power shows how many it takes")
	}
	if !several {
		notes = append(notes, "arms: there is one, so there is nothing to compare")
	}
	if g := p.Gates; len(p.Telemetry) == 0 && (g.GPUCelsius != nil || g.WithinFirstCelsius != nil || g.SMClock != nil) {
		notes = append(notes, "telemetry: none is named: unless an exporter answers on this machine, temperature and clock are not observable and their gates are passed over")
	}
	var optional []string
	for _, a := range p.Arms {
		if a.Optional {
			optional = append(optional, a.Name)
		}
	}
	if len(optional) > 0 {
		notes = append(notes, "optional: "+strings.Join(optional, ", ")+": an arm that cannot be started is skipped")
	}
	return notes
}
