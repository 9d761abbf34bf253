package rank

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Clock is what the kernel says of its wall clock: adjtimex(2), which NTP and PTP daemons feed. What
// it bounds is how far the requests of two machines may be shifted against each other. Durations are
// taken on one machine and on its monotonic clock, and do not depend on it.
type Clock struct {
	// Synchronised says that a daemon disciplines the clock. Without it the errors mean nothing.
	Synchronised bool `json:"synchronised"`
	// MaxErrorSeconds is the kernel's bound of the error, EstimatedErrorSeconds what the daemon thinks
	// that it is.
	MaxErrorSeconds       float64 `json:"max_error_seconds"`
	EstimatedErrorSeconds float64 `json:"estimated_error_seconds"`
}

// ReadClock asks the kernel. A container's seccomp filter may refuse it.
func ReadClock() (Clock, error) {
	var t unix.Timex // no mode: nothing is set
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return Clock{}, fmt.Errorf("adjtimex: %w", err)
	}
	return clockOf(state, t), nil
}

// clockOf reads the answer; its errors are in microseconds.
func clockOf(state int, t unix.Timex) Clock {
	return Clock{
		Synchronised:          state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxErrorSeconds:       microseconds(int64(t.Maxerror)),
		EstimatedErrorSeconds: microseconds(int64(t.Esterror)),
	}
}

func microseconds(n int64) float64 { return (time.Duration(n) * time.Microsecond).Seconds() }
