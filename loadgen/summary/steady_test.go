package summary

import (
	"math"
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

func TestTheSteadyStateLeavesOutRampAndDrain(t *testing.T) {
	// 4 slots begin 5 ms after each other; three end after 1 s, the last after 1.3 s.
	s := summarize(t, input(t), testrun.ClosedLoop(4, 10, 3)...)
	w := s.SteadyState
	if w == nil {
		t.Fatal("no steady state")
	}
	if w.InFlight != 4 || math.Abs(w.Start-.015) > 1e-9 || math.Abs(w.End-1) > 1e-9 {
		t.Errorf("%d in flight from %v to %v, want 4 from 0.015 to 1", w.InFlight, w.Start, w.End)
	}
	if !near(w.Throughput.DurationSeconds, w.End-w.Start) {
		t.Errorf("throughput over %v s of a window from %v to %v", *w.Throughput.DurationSeconds, w.Start, w.End)
	}
	// 4 requests of 10 tokens every 100 ms; 400 tokens a second.
	if got := *w.Throughput.OutputTokensPerSecond; math.Abs(got-400) > 8 {
		t.Errorf("%v output tokens a second in the steady state, want about 400", got)
	}
	if whole := *s.Throughput.OutputTokensPerSecond; whole > 340 {
		t.Errorf("%v output tokens a second over all: the drain counts there", whole)
	}
	if w.Latency.TTFT.Send.N != w.Requests || w.Latency.ChunkGap != nil || s.Phases["measure"].SteadyState != w {
		t.Errorf("steady state %+v", w)
	}
}

func TestRequestsThatFailedAreLoadInTheSteadyState(t *testing.T) {
	records := testrun.ClosedLoop(2, 10, 0)
	for i := range records {
		if i >= 10 { // all of the second slot
			records[i].Status = openai.StatusHTTP
		}
	}
	w := summarize(t, input(t), records...).SteadyState
	if w == nil || w.InFlight != 2 || w.Requests != 9 {
		t.Errorf("steady state %+v, want 2 in flight and the 9 requests that were sent meanwhile and ended ok", w)
	}
}

// A request that timed out or was cut off was load until then: its last event is long past.
func TestARequestThatBrokeOffWasInFlightUntilThen(t *testing.T) {
	records := testrun.ClosedLoop(2, 10, 0)
	hung := testrun.Failed(20, 0, openai.StatusTimeout)
	hung.EndNS, hung.BrokenOffNS = nil, ptr(1500*ms)
	records = append(records, hung)
	s := summarize(t, input(t), records...)
	if got := s.Throughput.DurationSeconds; !near(got, 1.5) {
		t.Errorf("throughput is counted over %v s, want the 1.5 s until the last request broke off", *got)
	}
	if w := s.SteadyState; w == nil || w.InFlight != 3 || !near(&w.Start, .005) || !near(&w.End, 1) {
		t.Errorf("steady state %+v, want 3 in flight from 0.005 to 1", w)
	}
	line := newTimeline(4)
	line.add(hung)
	if got := line.Kept[0].E2E; !near(&got, 1.5) {
		t.Errorf("the page shows that it took %v s, want 1.5", got)
	}
}

func TestTheLevelIsTheMedianOfTheRequestsInFlightByTime(t *testing.T) {
	// 1 in flight for 3 s, 2 for 1 s, 3 for 5 s, 2 for 1 s; late, so that time since the run's start
	// does not pass for time spent.
	begins, ends := []int64{100, 103, 104}, []int64{109, 110, 110}
	if got := medianInFlight(begins, ends); got != 3 {
		t.Errorf("level %d, want 3: half of the time had as many", got)
	}
	if got := medianInFlight([]int64{100, 103, 104}, []int64{108, 110, 110}); got != 2 {
		t.Errorf("level %d, want 2: 3 were in flight for 4 of 10 s", got)
	}
}

func TestAnAnswerWithoutACountLeavesTokensOfTheSteadyStateAbsent(t *testing.T) {
	records := testrun.ClosedLoop(2, 10, 0)
	records[5].TokensOut = nil
	w := summarize(t, input(t), records...).SteadyState
	if w.Throughput.OutputTokensPerSecond != nil || w.Throughput.InputTokensPerSecond == nil {
		t.Errorf("throughput %+v", w.Throughput)
	}
}

func TestSeveralMeasuredPhasesHaveASteadyStateEach(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "a", StartNS: 0, EndNS: 1e9}, {Name: "b", StartNS: 5e9, EndNS: 6e9}}
	first, second := testrun.Answered(0, 0, 100, 200), testrun.Answered(1, 5000, 300, 400)
	first.Phase, second.Phase = "a", "b"
	s := summarize(t, in, first, second)
	if s.SteadyState != nil || s.Phases["a"].SteadyState == nil || s.Phases["b"].SteadyState == nil {
		t.Errorf("of the run %v, of a %v, of b %v", s.SteadyState, s.Phases["a"].SteadyState, s.Phases["b"].SteadyState)
	}
	if w := summarize(t, input(t)).SteadyState; w != nil {
		t.Errorf("no request has a steady state: %+v", w)
	}
}

// FuzzSteadyWindow: the window lies within the phase and has its level at both ends.
func FuzzSteadyWindow(f *testing.F) {
	f.Add([]byte{0, 10, 5, 10, 10, 10})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0, 255, 1, 1, 3, 1, 200, 100})
	f.Fuzz(func(t *testing.T, moments []byte) {
		var sent samples
		var first, last int64
		for pair := range slices.Chunk(moments, 2) {
			if len(pair) < 2 {
				break
			}
			s := sample{dispatchNS: int64(pair[0]), endNS: int64(pair[0]) + int64(pair[1])}
			if sent.len() == 0 {
				first, last = s.dispatchNS, s.endNS
			}
			first, last = min(first, s.dispatchNS), max(last, s.endNS)
			sent.add(s)
		}
		w := steadyWindow(sent)
		if w.fromNS == w.toNS {
			return
		}
		if w.fromNS < first || w.toNS > last || w.toNS < w.fromNS || w.level > sent.len() || w.level < 0 {
			t.Fatalf("window %+v of a phase from %d to %d", w, first, last)
		}
		for _, ns := range []int64{w.fromNS, w.toNS - 1} {
			inFlight := 0
			for s := range sent.all() {
				if s.dispatchNS <= ns && s.endNS > ns {
					inFlight++
				}
			}
			if inFlight < w.level {
				t.Fatalf("%d in flight at %d of window %+v", inFlight, ns, w)
			}
		}
	})
}
