package collector

import (
	"context"
	"fmt"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// processLookAge is how long what was seen of a process is taken for true. A process has hundreds of descriptors and
// thousands of mappings, for each of which the kernel holds up the process's own memory calls; engines open
// files when they start.
const processLookAge = 20 * time.Second

// processLooks looks into processes and remembers what it has seen. T is what a look gives.
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
