package runner

import (
	"testing"
	"time"
)

func TestAStepOfTheTimeOfDayIsMoreThanSlewing(t *testing.T) {
	for _, c := range []struct {
		monotonic, wall, want time.Duration
	}{
		{time.Minute, time.Minute, 0},
		{time.Minute, time.Minute + 900*time.Millisecond, 0},
		{time.Minute, time.Hour + time.Minute, time.Hour},
		{time.Minute, -time.Hour, -time.Hour - time.Minute},
		{time.Minute, time.Minute - 2*time.Second, -2 * time.Second},
		{10 * time.Hour, 10*time.Hour + 18*time.Second, 0}, // 500 parts in a million
		{10 * time.Hour, 10*time.Hour - 18*time.Second, 0},
		{10 * time.Hour, 10*time.Hour + time.Minute, time.Minute},
		{0, 0, 0},
	} {
		if got := stepped(c.monotonic, c.wall); got != c.want {
			t.Errorf("%s of one clock and %s of the other: %s, want %s", c.monotonic, c.wall, got, c.want)
		}
	}
}
