package workload

import (
	"context"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

// Pace waits on the machine's clock to within about 100 us. Many goroutines may wait at the same time.
//
// The runtime's timers are too coarse: they wake a thread that sleeps in epoll, whose timeout counts whole
// milliseconds. time.Sleep(100us) ends about 1 ms late, which is two arrivals at 2,000 a second. clock_nanosleep(2) is
// precise enough, but it holds the thread and, until the scheduler takes it away, the processor of that thread: on a
// client with one core, arrivals of other streams would be stamped late. A kernel timer is waited for like a
// connection and holds neither. Pace does not spin either: on a small machine the server under test needs the core.
func Pace(clock openai.Clock) func(ctx context.Context, until int64) error {
	return (&pacer{clock: clock, open: openAlarm}).wait
}

type pacer struct {
	clock openai.Clock
	open  func() (*alarm, error)
	idle  sync.Pool // of *alarm; the runtime closes those that the pool drops
}

// wait returns when the clock reads until, or with an error when the context is done first.
func (p *pacer) wait(ctx context.Context, until int64) error {
	if ctx.Err() != nil || until <= p.clock() {
		return ctx.Err()
	}
	a, _ := p.idle.Get().(*alarm)
	if a == nil {
		var err error
		if a, err = p.open(); err != nil {
			return p.doze(ctx, until)
		}
	}
	// Only a deadline in the past ends a read that is waiting, and the deadline stays with the alarm.
	cut := context.AfterFunc(ctx, func() { _ = a.file.SetReadDeadline(time.Unix(1, 0)) })
	err := a.wait(p.clock, until)
	if cut() && err == nil {
		p.idle.Put(a)
		return nil
	}
	_ = a.file.Close() // a timer has no written data to lose
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.doze(ctx, until)
}

// doze waits with the runtime's timers, for a process that has no file descriptor left. The lateness of requests is in
// their records like any other lag.
func (p *pacer) doze(ctx context.Context, until int64) error {
	timer := time.NewTimer(time.Duration(until - p.clock()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
