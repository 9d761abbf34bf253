package traffic

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheKernelsWordOnItsClockIsReadInSeconds(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  int
		status int32
		want   bool
	}{
		{"disciplined", unix.TIME_OK, 0, true},
		{"before a leap second", 1, 0, true},
		{"nobody disciplines it", unix.TIME_ERROR, unix.STA_UNSYNC, false},
		{"a flag that the state does not show yet", unix.TIME_OK, unix.STA_UNSYNC, false},
		{"a fault of the clock", unix.TIME_ERROR, 0, false},
	} {
		got := clockOf(c.state, unix.Timex{Status: c.status, Maxerror: 1500, Esterror: 42})
		if want := (Clock{c.want, 0.0015, 0.000042}); got != want {
			t.Errorf("%s: %+v, want %+v", c.name, got, want)
		}
	}
}

func TestThisMachinesClockCanBeAsked(t *testing.T) {
	clock, err := ReadClock()
	if err != nil {
		// What a container may refuse has no figures.
		if clock != (Clock{}) {
			t.Errorf("%+v with %v", clock, err)
		}
		return
	}
	if clock.MaxErrorSeconds < 0 || clock.EstimatedErrorSeconds < 0 {
		t.Errorf("%+v", clock)
	}
}
