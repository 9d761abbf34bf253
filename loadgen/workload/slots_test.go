package workload

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

func TestStagesOfAClosedLoopChangeHowMuchIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stages, err := traffic.ParseStages("950ms:1,970ms:3,970ms:0,950ms:2")
		if err != nil {
			t.Fatal(err)
		}
		b := newBench(0, always(100*time.Millisecond))
		p := Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed, Stages: stages}, Limit: traffic.Limit{Duration: traffic.TotalTime(stages)}}
		_, records := b.run(t.Context(), t.Context(), p)
		var sent [4]int
		for _, r := range records {
			at, stage := time.Duration(*r.DispatchNS), 0
			for ; at >= stages[stage].Duration; stage++ {
				at -= stages[stage].Duration
			}
			sent[stage]++
			if queueDelay(r) != 0 || clientLag(r) != 0 || r.Status != openai.StatusOK {
				t.Errorf("request %d: queue delay %s, lag %s, %s", r.Index, queueDelay(r), clientLag(r), r.Status)
			}
		}
		if sent != [4]int{10, 30, 0, 20} {
			t.Errorf("%v requests a stage, want 10, 30, 0, 20", sent)
		}
		if b.most != 3 {
			t.Errorf("%d in flight, want 3 at most", b.most)
		}
	})
}

func TestASlotThatIsTakenAwayWhileInUseDoesNotComeBack(t *testing.T) {
	s := newSlots(3, 4, 0)
	<-s.free
	<-s.free
	s.resize(3, 1, 5) // one idle, one in use
	if len(s.free) != 0 {
		t.Fatalf("%d free slots", len(s.free))
	}
	s.release(7)
	if len(s.free) != 0 {
		t.Error("a retired slot came back")
	}
	s.release(8)
	s.resize(1, 4, 9)
	for i, want := range []int64{8, 9, 9, 9} {
		if got := <-s.free; got != want {
			t.Errorf("slot %d is free since %d, want %d", i, got, want)
		}
	}
}

func TestAPhaseMayHaveSlotsOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, always(time.Second))
		p := closed(traffic.Limit{Requests: 4})
		p.Slots = 2
		_, records := b.run(t.Context(), t.Context(), p)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 0, 1000, 1000)
	})
}

func TestARampStartsTheSlotsOfAClosedLoopEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(4, always(250*time.Millisecond))
		p := closed(traffic.Limit{Requests: 7})
		p.Process.Ramp = 400 * time.Millisecond
		_, records := b.run(t.Context(), t.Context(), p)
		// The slots start at 0, 100, 200 and 300 ms; the first is free again at 250.
		expectTimes(t, "intended", records, intendedOf, 0, 100, 200, 250, 300, 350, 450)
		expectTimes(t, "eligible", records, eligibleOf, 0, 100, 200, 250, 300, 350, 450)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 100, 200, 250, 300, 350, 450)
		if b.most != 4 {
			t.Errorf("%d in flight, want 4 at most", b.most)
		}
	})
}

func TestALagOfARampedSlotCountsFromItsOwnStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(4, always(time.Second))
		wait := b.Wait
		b.Wait = func(ctx context.Context, until int64) error { return wait(ctx, until+3*ms) } // the client wakes late
		p := closed(traffic.Limit{Requests: 4})
		p.Process.Ramp = 400 * time.Millisecond
		_, records := b.run(t.Context(), t.Context(), p)
		expectTimes(t, "eligible", records, eligibleOf, 0, 100, 200, 300)
		expectTimes(t, "dispatched", records, dispatchOf, 3, 103, 203, 303)
	})
}

func TestARampEndsWithItsPhase(t *testing.T) {
	for name, limit := range map[string]traffic.Limit{"requests": {Requests: 2}, "time": {Duration: 150 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(4, always(30*time.Second))
			b.Grace = 0
			p := closed(limit)
			p.Process.Ramp = time.Hour
			if name == "time" {
				p.Process.Ramp = 400 * time.Millisecond
			}
			span, records := b.run(t.Context(), t.Context(), p)
			if len(records) != 2 || span.EndNS > int64(time.Hour) {
				t.Errorf("%s: %d requests until %s", name, len(records), time.Duration(span.EndNS))
			}
		})
	}
}

func TestARampIsSharedOutOverWorkers(t *testing.T) {
	var starts []int64
	for number := range 3 {
		starts = append(starts, rampStarts(1000, 600, number*2, 2, 6)...)
	}
	if want := []int64{1000, 1100, 1200, 1300, 1400, 1500}; !slices.Equal(starts, want) {
		t.Errorf("%v, want %v", starts, want)
	}
}
