package campaign

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// GateNow is a gate with the current value of the machine.
type GateNow struct {
	Name string
	// Open is true if the gate would let a run begin now, Observed if the machine shows the value that it needs.
	Open, Observed bool
	// Detail has the current value and the limit, or why there is no value.
	Detail string
}

// betweenLooks is the time between two readings of CPU time; a share needs two.
const betweenLooks = time.Second

// gatesNow compares the gates of a cell with the current state of the machine. machine is as in Operations. look is the
// campaign so far; nil if there is none.
func gatesNow(ctx context.Context, machine func(context.Context, *plan.Cell) Machine, cell *plan.Cell, look *Look) []GateNow {
	known := replay(nil)
	if look != nil {
		known = look.known
	}
	k := &gatekeeper{cell: cell, gates: cell.Gates, known: known}
	all := k.unwaited()
	first, second := machine(ctx, cell), Machine{}
	for _, g := range k.list() {
		value, open, why := g.ask(first)
		if value != nil && math.IsNaN(*value) && sleep(ctx, betweenLooks) == nil {
			if second.TotalSeconds == nil {
				second = machine(ctx, cell)
			}
			value, open, why = g.ask(second)
		}
		now := GateNow{Name: g.name, Open: open, Observed: value != nil && !math.IsNaN(*value)}
		if now.Observed {
			now.Detail = fmt.Sprintf(gateWords(g.name), quantity(*value, g.unit), quantity(g.limit, g.unit))
		} else {
			now.Detail = fmt.Sprintf("neither an exporter nor the kernel of this machine shows it, gate %s", quantity(g.limit, g.unit))
		}
		if why != "" {
			now.Detail += " (" + why + ")"
		}
		all = append(all, now)
	}
	return all
}

// gateWords returns the format of a current value and its limit.
func gateWords(name string) string {
	switch name {
	case gateGPUCelsius:
		return "GPU temperature %s, gate %s"
	case gateCPURatio:
		return "processors busy %s, gate %s"
	case gateMemFreeWithin:
		return "MemFree differs by %s from the other arms' starts, gate %s"
	default:
		return "MemFree %s, gate at least %s"
	}
}

// unwaited returns the gates that cannot be read before a run.
func (k *gatekeeper) unwaited() []GateNow {
	var all []GateNow
	if k.gates.Cooldown != nil {
		now := GateNow{Name: gateCooldown, Open: true, Observed: true, Detail: fmt.Sprintf("the first run waits for none, each after it %s", *k.gates.Cooldown)}
		if last := k.known.lastEnd; !last.IsZero() {
			rested := time.Since(last)
			now.Open, now.Detail = rested >= *k.gates.Cooldown, fmt.Sprintf("the last run ended %s ago, gate %s", rested.Round(time.Second), *k.gates.Cooldown)
		}
		all = append(all, now)
	}
	if within := k.gates.WithinFirstCelsius; within != nil && k.known.celsius == nil {
		all = append(all, GateNow{Name: "within_first_celsius", Detail: fmt.Sprintf("the first start sets the temperature, gate %s from it", quantity(*within, "celsius"))})
	}
	if k.gates.SMClock != nil {
		all = append(all, GateNow{Name: gateSMClock, Detail: fmt.Sprintf("its command loads the GPU before each run, gate at least %s", quantity(k.gates.SMClock.MinHertz, "hertz"))})
		if k.gates.PState != "" {
			all = append(all, GateNow{Name: gatePState, Detail: "read while that command loads the GPU, gate " + k.gates.PState})
		}
	}
	return all
}
