package traffic

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is the state of the wall clock from adjtimex(2), which NTP and PTP daemons feed. Its error bounds how far the
// requests of two machines may be shifted against each other. Durations come from one machine's monotonic clock and do
// not depend on it.
type Clock struct {
	// Synchronised is true if a daemon disciplines the clock. Otherwise the errors have no meaning.
	Synchronised bool `json:"synchronised"`
	// MaxErrorSeconds is the kernel's bound of the error, EstimatedErrorSeconds the daemon's estimate.
	MaxErrorSeconds       float64 `json:"max_error_seconds"`
	EstimatedErrorSeconds float64 `json:"estimated_error_seconds"`
}

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
