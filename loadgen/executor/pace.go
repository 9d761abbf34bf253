package executor

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/openai"
)

// Pace waits on the machine's clock to within some 100 us. Many goroutines may wait at the same time.
//
// The runtime's timers are too coarse for that: they wake a thread that sleeps in epoll, whose time-out
// counts whole milliseconds. time.Sleep(100us) ends about 1 ms late, which is two arrivals at 2,000 a
// second. clock_nanosleep(2) is fine enough, but it holds the thread and, until the scheduler takes it
// away, the processor that goes with it: on a client of one core, arrivals of other streams would then
// be stamped late. An alarm of the kernel is waited for like a connection and holds nothing. Nothing
// spins either: on a small machine the server under test needs the core.
func Pace(clock openai.Clock) func(ctx context.Context, until int64) error {
	return (&pacer{clock: clock, open: openAlarm}).wait
}

type pacer struct {
	clock openai.Clock
	open  func() (*alarm, error)
	idle  sync.Pool // of *alarm; one that the pool forgets is closed by the runtime
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
	// A read that is waiting can be ended by a deadline in the past only, which stays with the alarm.
	cut := context.AfterFunc(ctx, func() { _ = a.file.SetReadDeadline(time.Unix(1, 0)) })
	err := a.wait(p.clock, until)
	if cut() && err == nil {
		p.idle.Put(a)
		return nil
	}
	_ = a.file.Close() // nothing was written that could be lost
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return p.doze(ctx, until)
}

// doze waits by the runtime's timers, for a process that has no descriptor left. How late requests are
// then is in their records like any other lag.
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

// alarm is a timer of the kernel as a file that can be read when its time has come (timerfd_create(2)).
type alarm struct {
	descriptor int // file.Fd would make the file block
	file       *os.File
}

func openAlarm() (*alarm, error) {
	descriptor, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{descriptor, os.NewFile(uintptr(descriptor), "timerfd")}, nil
}

// wait returns when the clock reads until. The clock decides, whatever the alarm says.
func (a *alarm) wait(clock openai.Clock, until int64) error {
	var expirations [8]byte
	for left := until - clock(); left > 0; left = until - clock() {
		once := unix.ItimerSpec{Value: unix.NsecToTimespec(left)}
		if err := unix.TimerfdSettime(a.descriptor, 0, &once, nil); err != nil {
			return os.NewSyscallError("timerfd_settime", err)
		}
		if _, err := a.file.Read(expirations[:]); err != nil {
			return err
		}
	}
	return nil
}
