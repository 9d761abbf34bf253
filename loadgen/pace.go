package loadgen

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/loadgen/chat"
)

// fineWait is the part of a wait that is left to the kernel's own clock. The runtime's timers
// wake a thread that sleeps in epoll, whose time-out counts whole milliseconds: time.Sleep(100us)
// ends about 1 ms late, which is two arrivals at 2,000 a second. clock_nanosleep ends 35 us late
// at the median. Nothing spins: on a small machine the server under test needs the core.
const fineWait = 2 * time.Millisecond

// pace waits on the machine's clock to within some 100 us. The thread sleeps for the last
// fineWait at most, so a done context is noticed that much late.
func pace(clock chat.Clock) func(ctx context.Context, until int64) error {
	return func(ctx context.Context, until int64) error {
		if coarse := time.Duration(until-clock()) - fineWait; coarse > 0 {
			timer := time.NewTimer(coarse)
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		for left := until - clock(); left > 0; left = until - clock() {
			request := unix.NsecToTimespec(min(left, int64(fineWait)))
			// A signal ends the sleep early; the clock decides whether it goes on.
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &request, nil)
		}
		return ctx.Err()
	}
}
