package workload

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/executor"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

const ms = int64(time.Millisecond)

// waitByTimer waits on the bubble's clock; the real one sleeps in the kernel, which a bubble
// cannot see.
func waitByTimer(clock openai.Clock) func(context.Context, int64) error {
	return func(ctx context.Context, until int64) error {
		select {
		case <-time.After(time.Duration(until - clock())):
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func closed(limit traffic.Limit) executor.Phase {
	return executor.Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Limit: limit}
}

func open(arrival traffic.Arrival, rate float64, limit traffic.Limit) executor.Phase {
	return executor.Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: arrival, RatePerSecond: rate}, Limit: limit}
}

func timesOf(records []openai.Record, of func(openai.Record) int64) []int64 {
	var times []int64
	for _, r := range records {
		times = append(times, of(r)/ms)
	}
	return times
}

func intendedOf(r openai.Record) int64 { return r.IntendedNS }
func eligibleOf(r openai.Record) int64 { return *r.EligibleNS }
func dispatchOf(r openai.Record) int64 { return *r.DispatchNS }

func expectTimes(t *testing.T, what string, records []openai.Record, of func(openai.Record) int64, want ...int64) {
	t.Helper()
	if got := timesOf(records, of); !slices.Equal(got, want) {
		t.Errorf("%s at %v ms, want %v", what, got, want)
	}
}
