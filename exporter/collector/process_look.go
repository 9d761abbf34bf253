package collector

import (
	"context"
	"fmt"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// processLookAge is how long the result of an inspection stays valid. A process has hundreds of descriptors and
// thousands of mappings, for each of which the kernel delays the process's own memory calls; engines open files when
// they start.
const processLookAge = 20 * time.Second

// processLooks inspects processes and keeps the results. T is the result of one inspection.
type processLooks[T any] struct {
	host Host
	look func(pid uint32) T
	seen map[processID]processLook[T]
}

type processLook[T any] struct {
	at   time.Time
	what T
}

func newProcessLooks[T any](host Host, look func(pid uint32) T) *processLooks[T] {
	return &processLooks[T]{host, look, map[processID]processLook[T]{}}
}

// into inspects each process that was not inspected recently, and forgets all others. Processes that have ended are
// left out; hidden ones are included without their start time. If time runs out first, it returns an error, and the
// next collection continues.
func (l *processLooks[T]) into(ctx context.Context, pids []uint32) (looks []T, hidden []uint32, err error) {
	now := l.host.Now()
	current := make(map[processID]processLook[T], len(pids))
	for _, pid := range pids {
		stat, err := hostfs.ReadProcessStat(l.host.Proc, pid)
		if err != nil {
			if hostfs.ProcessExists(l.host.Proc, pid) {
				hidden = append(hidden, pid)
			}
			continue
		}
		id := processID{pid, stat.StartTicks}
		one, known := l.seen[id]
		if age := now.Sub(one.at); !known || age < 0 || age >= processLookAge {
			if ctx.Err() != nil {
				return nil, nil, fmt.Errorf("not all processes could be looked into: %w", ctx.Err())
			}
			one = processLook[T]{now, l.look(pid)}
			if again, err := hostfs.ReadProcessStat(l.host.Proc, pid); err != nil || again.StartTicks != id.start {
				continue // it ended meanwhile, so the inspection saw nothing
			}
			l.seen[id] = one
		}
		current[id] = one
		looks = append(looks, one.what)
	}
	l.seen = current
	return looks, hidden, nil
}
