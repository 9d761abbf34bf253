package arm

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/campaign/plan"
)

// Row is the current status of a process of an arm.
type Row struct {
	Process, Where string
	PID            int // of the process here, which may be the client of one elsewhere
	Since          time.Time
	ReadyAt        *time.Time
	// State is one of the states below. Note describes a problem.
	State, Note string
}

// States of a process.
const (
	StateAlive   = "alive"
	StateEnded   = "ended" // on its own, or killed from outside
	StateStopped = "stopped"
	StateUnknown = "unknown" // its place could not be asked
)

// Look returns the status of the processes of an arm. It probes those that have a probe in spec. The result is empty
// if the arm was never started in the folder.
func Look(ctx context.Context, spec plan.Arm, dir string) ([]Row, error) {
	state, err := readState(dir)
	if err != nil || state == nil {
		return nil, err
	}
	k := newKeeper(dir, nil)
	k.state = state
	var rows []Row
	for _, one := range state.Processes {
		rows = append(rows, k.look(ctx, one, spec))
	}
	return rows, nil
}

func (k *keeper) look(ctx context.Context, one Started, spec plan.Arm) Row {
	row := Row{Process: one.Name, Where: k.placeOfStarted(one).String(), PID: one.Leader.PID, Since: one.StartedAt, ReadyAt: one.ReadyAt, State: StateEnded}
	if one.StoppedAt != nil {
		row.State = StateStopped
		return row
	}
	for _, left := range k.leftOf(ctx, one) {
		if left.Kind == KindUnknown {
			row.State, row.Note = StateUnknown, left.What
			return row
		}
		row.State = StateAlive
	}
	if row.State == StateAlive {
		row.State, row.Note = k.lookCloser(ctx, one, spec)
	}
	return row
}

// lookCloser probes a process that has running members.
func (k *keeper) lookCloser(ctx context.Context, one Started, spec plan.Arm) (state, note string) {
	if now, err := identify(one.Leader.PID); !k.placeOfStarted(one).away() && (err != nil || now != one.Leader || now.ended()) {
		return StateEnded, "what it started lives on"
	}
	at := slices.IndexFunc(spec.Processes, func(p plan.Process) bool { return p.Name == one.Name })
	if at < 0 || spec.Processes[at].Ready == nil {
		return StateAlive, ""
	}
	p := &process{spec: spec.Processes[at], place: k.placeOfStarted(one), started: one}
	if err := p.ask(ctx, *p.spec.Ready); err != nil {
		return StateAlive, fmt.Sprintf("not ready: %s: %v", probeName(*p.spec.Ready), err)
	}
	return StateAlive, ""
}

// Tails returns the ends of the processes' logs, from the last start of the arm.
func Tails(dir string, lines int) ([]Tail, error) {
	state, err := readState(dir)
	if err != nil || state == nil {
		return nil, err
	}
	var tails []Tail
	for _, one := range state.Processes {
		tail, err := one.tail(lines)
		if err != nil {
			return nil, err
		}
		tails = append(tails, tail)
	}
	return tails, nil
}
