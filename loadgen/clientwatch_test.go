package loadgen

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/report"
)

func TestTheClientWatchNotesStallsDownToTheLimitThatJudgesThem(t *testing.T) {
	for _, c := range []struct {
		limits report.Limits
		stall  time.Duration
		noted  bool
	}{
		{nil, 30 * time.Millisecond, true},
		{nil, 6 * time.Millisecond, false}, // too short to decide anything
		{report.Limits{report.CodeClientStall: {Value: 0.005}}, 6 * time.Millisecond, true},
		{report.Limits{report.CodeClientStall: {Value: 0.005}}, 4 * time.Millisecond, false},
		{report.Limits{report.CodeClientStall: {Off: true}}, 6 * time.Millisecond, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var lost atomic.Int64 // how far the clock has run on while the process stood still
			w := watchClient(func() int64 { return int64(time.Since(start)) + lost.Load() }, shortestStall(c.limits))
			time.Sleep(502 * time.Millisecond)
			lost.Store(int64(c.stall))
			time.Sleep(500 * time.Millisecond)
			health := w.end()
			if !health.Watched || len(health.Stalls) > 1 || (len(health.Stalls) == 1) != c.noted {
				t.Fatalf("limits %v, stall of %s: %+v", c.limits, c.stall, health)
			}
			if c.noted && health.Stalls[0].ToNS-health.Stalls[0].FromNS != int64(c.stall) {
				t.Errorf("noted %+v, want a stall of %s", health.Stalls[0], c.stall)
			}
		})
	}
}
