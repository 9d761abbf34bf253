package workload

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/drive"
	"github.com/umascope/umascope/loadgen/schedule"
)

const ms = int64(time.Millisecond)

// waitByTimer waits on the bubble's clock; the real one sleeps in the kernel, which a bubble
// cannot see.
func waitByTimer(clock chat.Clock) func(context.Context, int64) error {
	return func(ctx context.Context, until int64) error {
		select {
		case <-time.After(time.Duration(until - clock())):
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func closed(limit schedule.Limit) drive.Phase {
	return drive.Phase{Name: "measure", Process: schedule.Process{Arrival: schedule.Closed}, Limit: limit}
}

func open(arrival schedule.Arrival, rate float64, limit schedule.Limit) drive.Phase {
	return drive.Phase{Name: "measure", Process: schedule.Process{Arrival: arrival, RatePerSecond: rate}, Limit: limit}
}

func timesOf(records []chat.Record, of func(chat.Record) int64) []int64 {
	var times []int64
	for _, r := range records {
		times = append(times, of(r)/ms)
	}
	return times
}

func intendedOf(r chat.Record) int64 { return r.IntendedNS }
func eligibleOf(r chat.Record) int64 { return *r.EligibleNS }
func dispatchOf(r chat.Record) int64 { return *r.DispatchNS }

func expectTimes(t *testing.T, what string, records []chat.Record, of func(chat.Record) int64, want ...int64) {
	t.Helper()
	if got := timesOf(records, of); !slices.Equal(got, want) {
		t.Errorf("%s at %v ms, want %v", what, got, want)
	}
}
