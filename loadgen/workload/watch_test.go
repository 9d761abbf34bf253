package workload

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheClientWatchNotesStallsAboveALength(t *testing.T) {
	for _, c := range []struct {
		shortest, stall time.Duration
		noted           bool
	}{
		{10 * time.Millisecond, 30 * time.Millisecond, true},
		{10 * time.Millisecond, 6 * time.Millisecond, false},
		{5 * time.Millisecond, 6 * time.Millisecond, true},
		{5 * time.Millisecond, 4 * time.Millisecond, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var lost atomic.Int64 // how far the clock has run on while the process stood still
			w := StartWatch(func() int64 { return int64(time.Since(start)) + lost.Load() }, c.shortest)
			time.Sleep(502 * time.Millisecond)
			lost.Store(int64(c.stall))
			time.Sleep(500 * time.Millisecond)
			seen := w.End()
			if !seen.Watched || len(seen.Stalls) > 1 || (len(seen.Stalls) == 1) != c.noted {
				t.Fatalf("from %s on, stall of %s: %+v", c.shortest, c.stall, seen)
			}
			if c.noted && seen.Stalls[0].ToNS-seen.Stalls[0].FromNS != int64(c.stall) {
				t.Errorf("noted %+v, want a stall of %s", seen.Stalls[0], c.stall)
			}
		})
	}
}
