package traffic

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// ReadClock reads the clock's state from the kernel. A container's seccomp filter may refuse the call.
func ReadClock() (Clock, error) {
	var t unix.Timex // mode 0 changes no setting
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return Clock{}, fmt.Errorf("adjtimex: %w", err)
	}
	return clockOf(state, t), nil
}

// clockOf converts the kernel's answer, whose errors are in microseconds.
func clockOf(state int, t unix.Timex) Clock {
	return Clock{
		Synchronised:          state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxErrorSeconds:       microseconds(int64(t.Maxerror)),
		EstimatedErrorSeconds: microseconds(int64(t.Esterror)),
	}
}

func microseconds(n int64) float64 { return (time.Duration(n) * time.Microsecond).Seconds() }
