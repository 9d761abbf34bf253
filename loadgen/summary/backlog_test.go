package summary

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

// queue is n requests that become due at a rate, to a server with so many places that each takes a
// second for a request: it serves as many a second as it has places.
func queue(random *rand.Rand, n int, rate float64, places int) []openai.Record {
	free := make([]float64, places)
	due := 0.0
	var records []openai.Record
	for i := range n {
		due += random.ExpFloat64() / rate
		slices.Sort(free)
		begin := max(due, free[0])
		free[0] = begin + 1
		records = append(records, testrun.Answered(i, int64(due*1000), int64((begin-due+0.2)*1000), int64((free[0]-due)*1000)))
	}
	return records
}

func backlogOf(t *testing.T, records []openai.Record) *Backlog {
	t.Helper()
	in := input(t)
	in.Open = []string{"measure"}
	return summarize(t, in, records...).Backlog
}

func TestABacklogGrowsWhereMoreBecomesDueThanEnds(t *testing.T) {
	const places, seeds = 20, 200
	grows := func(rate float64) int {
		count := 0
		for seed := range uint64(seeds) {
			if backlogOf(t, queue(rand.New(rand.NewPCG(seed, 1)), 600, rate, places)).Grows {
				count++
			}
		}
		return count
	}
	if n := grows(0.7 * places); n > seeds*5/100 {
		t.Errorf("in %d of %d runs, a server with a third more room than needed does not keep up", n, seeds)
	}
	if n := grows(1.3 * places); n < seeds*95/100 {
		t.Errorf("in %d of %d runs only, a server with a third too much to do does not keep up", n, seeds)
	}
}

func TestABacklogIsCountedOverTheSecondHalf(t *testing.T) {
	// Due at 0, 1, ... 8 s; each takes 1.5 s but the last four, of which none ends before 8 s.
	var records []openai.Record
	for i := range int64(9) {
		takes := int64(1500)
		if i >= 5 {
			takes = 9000
		}
		records = append(records, testrun.Answered(int(i), i*1000, takes/2, takes))
	}
	// What was never sent is due too, and never ends.
	records[8] = openai.Record{Phase: "measure", Index: 8, Status: openai.StatusCancelled, IntendedNS: 8000 * ms}
	got := backlogOf(t, records)
	want := Backlog{DuePerSecond: 1, EndedPerSecond: 0.5, Before: 2, After: 4, Grows: false}
	if got == nil || *got != want {
		t.Errorf("backlog %+v, want %+v", got, want)
	}
}

// Of a load that is served at once, a few requests that take long are no chance, and no backlog either.
func TestAFewSlowRequestsAreNoBacklog(t *testing.T) {
	const n = 401 // ten a second: 200 become due in the second half
	for slow, want := range map[int]bool{8: false, 12: true} {
		var records []openai.Record
		for i := range n {
			takes := int64(10)
			if i >= n-slow {
				takes = 5000
			}
			records = append(records, testrun.Answered(i, int64(i)*100, takes/2, takes))
		}
		if got := backlogOf(t, records); got.Grows != want || got.After < slow || got.After > slow+1 {
			t.Errorf("%d slow requests: %+v", slow, got)
		}
	}
}

func TestABacklogIsOfArrivalsByTheClockOnly(t *testing.T) {
	if s := summarize(t, input(t), testrun.Steady(5)...); s.Backlog != nil {
		t.Errorf("a closed loop has a backlog: %+v", s.Backlog)
	}
	if got := backlogOf(t, testrun.Steady(1)); got != nil {
		t.Errorf("one request has a backlog: %+v", got)
	}
}
