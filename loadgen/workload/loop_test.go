package workload

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

const ms = int64(time.Millisecond)

// bench is a loop against a server that needs a given time for each request.
type bench struct {
	Loop
	mutex    sync.Mutex
	records  []openai.Record
	inFlight int64
	most     int64
}

func (b *bench) count(change int64) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.inFlight += change
	b.most = max(b.most, b.inFlight)
}

// newBench is used inside a synctest bubble: its clock is the bubble's.
func newBench(slots int, service func(index int) time.Duration) *bench {
	start := time.Now()
	clock := func() int64 { return int64(time.Since(start)) }
	b := &bench{}
	var sent atomic.Int64
	b.Loop = Loop{Clock: clock, Slots: slots, Grace: 30 * time.Second, Wait: waitByTimer(clock)}
	b.Send = func(ctx context.Context, _ *Job, clock openai.Clock, _ func()) openai.Result {
		record := openai.Record{DispatchNS: new(clock()), Status: openai.StatusOK}
		b.count(1)
		defer b.count(-1)
		select {
		case <-time.After(service(int(sent.Add(1) - 1))):
			record.EndNS = new(clock())
		case <-ctx.Done():
			record.Status = openai.StatusCancelled
		}
		return openai.Result{Record: record}
	}
	return b
}

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

// run drives a phase whose jobs have all been prepared, and returns the records by index.
func (b *bench) run(stop, cut context.Context, p Phase) (Span, []openai.Record) {
	jobs := make(chan Job, 10_000)
	for index, offset := range p.Planned(0, 1337, 0) {
		j := Job{Index: index}
		if offset != nil {
			j.Planned = *offset
		}
		if jobs <- j; len(jobs) == cap(jobs) {
			break
		}
	}
	close(jobs)
	s := b.Drive(stop, cut, p, []<-chan Job{jobs}, Observer{
		Started: func() {}, Payload: func() {},
		Ended: func(_ Job, result openai.Result) {
			b.mutex.Lock()
			b.records = append(b.records, result.Record)
			b.mutex.Unlock()
		},
	})
	slices.SortFunc(b.records, func(x, y openai.Record) int { return x.Index - y.Index })
	return s, b.records
}

func always(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

func closed(limit traffic.Limit) Phase {
	return Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Limit: limit}
}

func open(arrival traffic.Arrival, rate float64, limit traffic.Limit) Phase {
	return Phase{Name: "measure", Process: traffic.ArrivalProcess{Arrival: arrival, RatePerSecond: rate}, Limit: limit}
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

func queueDelay(r openai.Record) time.Duration {
	d, _ := r.QueueDelay()
	return d
}

func clientLag(r openai.Record) time.Duration {
	d, _ := r.ClientLag()
	return d
}

func expectTimes(t *testing.T, what string, records []openai.Record, of func(openai.Record) int64, want ...int64) {
	t.Helper()
	if got := timesOf(records, of); !slices.Equal(got, want) {
		t.Errorf("%s at %v ms, want %v", what, got, want)
	}
}

func TestInAClosedLoopARequestIsIntendedWhenItsSlotBecomesFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(2, func(i int) time.Duration { return time.Duration(100+10*i) * time.Millisecond })
		span, records := b.run(t.Context(), t.Context(), closed(traffic.Limit{Requests: 5}))
		// Two slots: 0 ends at 100, 1 at 110, 2 (from 100, 120 long) at 220, 3 (from 110) at 240.
		expectTimes(t, "intended", records, intendedOf, 0, 0, 100, 110, 220)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 0, 100, 110, 220)
		for _, r := range records {
			if queueDelay(r) != 0 || clientLag(r) != 0 {
				t.Errorf("request %d: queue delay %s, lag %s", r.Index, queueDelay(r), clientLag(r))
			}
		}
		if span.StartNS != 0 || span.EndNS != 360*ms {
			t.Errorf("phase %+v, want 0 to 360 ms", span)
		}
	})
}

func TestWorkAfterAStreamCountsAsClientLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, always(100*time.Millisecond))
		fast := b.Send
		b.Send = func(ctx context.Context, j *Job, clock openai.Clock, payload func()) openai.Result {
			result := fast(ctx, j, clock, payload)
			time.Sleep(7 * time.Millisecond) // decoding, after the body has ended
			return result
		}
		_, records := b.run(t.Context(), t.Context(), closed(traffic.Limit{Requests: 3}))
		expectTimes(t, "intended", records, intendedOf, 0, 100, 207)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 107, 214)
		if lag := clientLag(records[1]); lag != 7*time.Millisecond {
			t.Errorf("lag %s, want 7ms", lag)
		}
	})
}

func TestAnOpenLoopKeepsItsScheduleWithASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, always(time.Second))
		_, records := b.run(t.Context(), t.Context(), open(traffic.Constant, 10, traffic.Limit{Requests: 4}))
		expectTimes(t, "intended", records, intendedOf, 0, 100, 200, 300)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 100, 200, 300)
		if got := b.most; got != 4 {
			t.Errorf("%d in flight, want 4", got)
		}
	})
}

func TestAPoissonLoopSendsAtItsPlannedOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(traffic.Poisson, 20, traffic.Limit{Requests: 200})
		b := newBench(0, always(35*time.Millisecond))
		_, records := b.run(t.Context(), t.Context(), p)
		if len(records) != 200 {
			t.Fatalf("%d records", len(records))
		}
		index := 0
		for offset := range p.Process.Offsets(p.Limit, 1337, 0) {
			if r := records[index]; r.IntendedNS != int64(offset) || *r.DispatchNS != int64(offset) {
				t.Fatalf("request %d intended %d, dispatched %d, planned %d", index, r.IntendedNS, *r.DispatchNS, offset)
			}
			index++
		}
	})
}

func TestACapMakesQueueDelayAndNeverClientLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, always(250*time.Millisecond))
		_, records := b.run(t.Context(), t.Context(), open(traffic.Constant, 10, traffic.Limit{Requests: 4}))
		expectTimes(t, "intended", records, intendedOf, 0, 100, 200, 300)
		expectTimes(t, "eligible", records, eligibleOf, 0, 250, 500, 750)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 250, 500, 750)
		for i, want := range []time.Duration{0, 150, 300, 450} {
			if got := queueDelay(records[i]); got != want*time.Millisecond {
				t.Errorf("request %d: queue delay %s, want %d ms", i, got, want)
			}
			if lag := clientLag(records[i]); lag != 0 {
				t.Errorf("request %d: lag %s", i, lag)
			}
		}
	})
}

func TestNoMoreRequestsAreInFlightThanThereAreSlots(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		slots := 1 + random.IntN(8)
		synctest.Test(t, func(t *testing.T) {
			source := rand.New(rand.NewPCG(3, uint64(slots)))
			var mutex sync.Mutex
			b := newBench(slots, func(int) time.Duration {
				mutex.Lock()
				defer mutex.Unlock()
				return time.Duration(1+source.IntN(300)) * time.Millisecond
			})
			_, records := b.run(t.Context(), t.Context(), open(traffic.Poisson, 50, traffic.Limit{Requests: 300}))
			if most := b.most; most > int64(slots) {
				t.Errorf("%d in flight with %d slots", most, slots)
			}
			for _, r := range records {
				if r.IntendedNS > *r.EligibleNS || *r.EligibleNS > *r.DispatchNS {
					t.Fatalf("request %d: intended %d, eligible %d, dispatched %d", r.Index, r.IntendedNS, *r.EligibleNS, *r.DispatchNS)
				}
			}
			if len(records) != 300 {
				t.Errorf("%d of 300 arrivals recorded", len(records))
			}
		})
	}
}

func TestDurationEndsDispatchingAndRequestsInFlightMayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, always(400*time.Millisecond))
		span, records := b.run(t.Context(), t.Context(), closed(traffic.Limit{Duration: time.Second}))
		expectTimes(t, "dispatched", records, dispatchOf, 0, 400, 800)
		if span.EndNS != 1200*ms || records[2].Status != openai.StatusOK {
			t.Errorf("phase ended at %d ms with the last request %s", span.EndNS/ms, records[2].Status)
		}
	})
}

func TestTheGraceAfterTheDurationCancelsTheRemainingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, always(time.Minute))
		b.Grace = 5 * time.Second
		span, records := b.run(t.Context(), t.Context(), open(traffic.Constant, 1, traffic.Limit{Duration: 10 * time.Second}))
		if len(records) != 10 || records[0].Status != openai.StatusCancelled {
			t.Fatalf("%d records, first %s", len(records), records[0].Status)
		}
		if span.EndNS != 15_000*ms {
			t.Errorf("phase ended at %d ms, want 10 s and 5 s of grace", span.EndNS/ms)
		}
	})
}

func TestAPhaseThatEndsByRequestsWaitsForItsSlowestOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, always(10*time.Minute))
		span, records := b.run(t.Context(), t.Context(), closed(traffic.Limit{Requests: 2}))
		if span.EndNS != 20*60*1000*ms || records[1].Status != openai.StatusOK {
			t.Errorf("phase ended at %d ms, last request %s", span.EndNS/ms, records[1].Status)
		}
	})
}

func TestAnInterruptStopsDispatchingAndDrainsWithinTheGrace(t *testing.T) {
	for _, c := range []struct {
		service time.Duration
		end     int64
		status  openai.Status
	}{
		{3 * time.Second, 6000, openai.StatusOK},             // sent at 3 s, interrupted at 4.5 s
		{time.Minute, 4500 + 10_000, openai.StatusCancelled}, // cancelled when the grace is over
	} {
		synctest.Test(t, func(t *testing.T) {
			stop, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(4500*time.Millisecond, interrupt)
			b := newBench(1, always(c.service))
			b.Grace = 10 * time.Second
			span, records := b.run(stop, t.Context(), closed(traffic.Limit{Requests: 100}))
			last := records[len(records)-1]
			if span.EndNS != c.end*ms || last.Status != c.status {
				t.Errorf("service %s: ended at %d ms with %s, want %d ms and %s", c.service, span.EndNS/ms, last.Status, c.end, c.status)
			}
		})
	}
}

func TestACutCancelsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, interrupt := context.WithCancel(t.Context())
		cut, kill := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		time.AfterFunc(2*time.Second, kill)
		b := newBench(3, always(time.Minute))
		span, records := b.run(stop, cut, closed(traffic.Limit{Requests: 100}))
		if len(records) != 3 || records[2].Status != openai.StatusCancelled || span.EndNS != 2000*ms {
			t.Errorf("%d records, ended at %d ms", len(records), span.EndNS/ms)
		}
	})
}

func TestABacklogAtTheEndIsRecordedAndNotDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, always(400*time.Millisecond))
		_, records := b.run(t.Context(), t.Context(), open(traffic.Constant, 10, traffic.Limit{Duration: time.Second}))
		// Due at 0, 100 .. 900 ms; sent at 0, 400, 800 ms; the other seven waited in vain.
		if len(records) != 10 {
			t.Fatalf("%d of 10 arrivals recorded", len(records))
		}
		for i, r := range records {
			if sent := r.Status == openai.StatusOK; sent != (i < 3) {
				t.Errorf("arrival %d: %s", i, r.Status)
			}
		}
		unsent := records[9]
		if unsent.IntendedNS != 900*ms || unsent.EligibleNS != nil || unsent.DispatchNS != nil || unsent.Error == "" {
			t.Errorf("unsent arrival: %+v", unsent)
		}
	})
}

func TestArrivalsAfterAnInterruptAreNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(450*time.Millisecond, interrupt)
		b := newBench(0, always(10*time.Millisecond))
		_, records := b.run(stop, t.Context(), open(traffic.Constant, 10, traffic.Limit{Requests: 100}))
		expectTimes(t, "intended", records, intendedOf, 0, 100, 200, 300, 400)
	})
}

func TestAnInterruptGivesNoMoreTimeThanThePhaseHadLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(13*time.Second, interrupt)
		b := newBench(0, always(time.Minute))
		b.Grace = 5 * time.Second
		span, _ := b.run(stop, t.Context(), open(traffic.Constant, 1, traffic.Limit{Duration: 10 * time.Second}))
		if span.EndNS != 15_000*ms {
			t.Errorf("phase ended at %d ms, want 10 s and 5 s of grace, whenever it was interrupted", span.EndNS/ms)
		}
	})
}

// A client that wakes late, as a busy computer lets it, may find that the phase has ended meanwhile.
func TestAnArrivalThatOnlyTheClientIsLateForIsSentAfterThePhaseEnded(t *testing.T) {
	for _, slots := range []int{0, 2} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(slots, always(10*time.Millisecond))
			wait := b.Wait
			b.Wait = func(ctx context.Context, until int64) error {
				if until == 0 {
					return nil
				}
				_ = wait(context.WithoutCancel(ctx), until+250*ms)
				return ctx.Err()
			}
			_, records := b.run(t.Context(), t.Context(), open(traffic.Constant, 10, traffic.Limit{Duration: time.Second}))
			if len(records) != 10 {
				t.Fatalf("%d slots: %d of 10 arrivals recorded", slots, len(records))
			}
			for i, r := range records {
				if r.Status != openai.StatusOK || r.IntendedNS != int64(i)*100*ms {
					t.Errorf("%d slots: arrival %d, intended at %d ms: %s, %s", slots, i, r.IntendedNS/ms, r.Status, r.Error)
				}
			}
			if last := records[9]; last.DispatchNS == nil || dispatchOf(last) < 1000*ms || clientLag(last) < 50*time.Millisecond {
				t.Errorf("%d slots: the last one was sent in time, or not: %+v", slots, last)
			}
		})
	}
}

// Whether the free slot or the end of the phase is noticed first must not matter.
func TestAnArrivalInTimeTakesTheOnlySlotThoughThePhaseHasJustEnded(t *testing.T) {
	over, end := context.WithCancel(t.Context())
	end()
	for range 100 { // a select among two takes either
		synctest.Test(t, func(t *testing.T) {
			b := newBench(1, always(time.Millisecond))
			b.Wait = func(context.Context, int64) error { return nil }
			var sent []openai.Record
			r := &phaseRun{Loop: &b.Loop, phase: open(traffic.Constant, 10, traffic.Limit{Duration: time.Second}), sending: t.Context(), watch: Observer{
				Started: func() {}, Payload: func() {},
				Ended: func(_ Job, result openai.Result) { sent = append(sent, result.Record) },
			}}
			l := &worker{phaseRun: r, slots: newSlots(1, 0, 0)}
			l.admit(t.Context(), over, Job{Planned: 900 * time.Millisecond})
			r.requests.Wait()
			if len(sent) != 1 || sent[0].Status != openai.StatusOK {
				t.Fatalf("%+v", sent)
			}
		})
	}
}

func TestAnArrivalThatIsDueWhenTheRunIsStoppedIsRecordedAndNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, always(time.Second))
		p := open(traffic.Constant, 10, traffic.Limit{Requests: 100})
		var given []openai.Record
		r := &worker{phaseRun: &phaseRun{Loop: &b.Loop, phase: p, watch: Observer{
			Started: func() {}, Payload: func() {},
			Ended: func(_ Job, result openai.Result) { given = append(given, result.Record) },
		}}}
		stop, end := context.WithCancel(t.Context())
		time.Sleep(250 * time.Millisecond)
		end()
		for index, planned := range []time.Duration{200 * time.Millisecond, 300 * time.Millisecond} {
			if r.admit(stop, stop, Job{Index: index, Planned: planned}) {
				t.Errorf("arrival %d was sent after the end", index)
			}
		}
		if len(given) != 1 || given[0].Index != 0 || given[0].Status != openai.StatusCancelled || given[0].Error != "not sent: the run was stopped" {
			t.Errorf("recorded as given up: %+v, want the one that was due", given)
		}
	})
}

func TestAPhaseWithAStartBeginsThenAndCountsFromIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		phase Phase
		want  []int64
	}{
		{"open", open(traffic.Constant, 10, traffic.Limit{Requests: 3}), []int64{2000, 2100, 2200}},
		{"closed", closed(traffic.Limit{Requests: 3}), []int64{2000, 2050, 2100}},
		{"closed, by time", closed(traffic.Limit{Duration: 120 * time.Millisecond}), []int64{2000, 2050, 2100}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(1, always(50*time.Millisecond))
			c.phase.StartNS = 2000 * ms
			span, records := b.run(t.Context(), t.Context(), c.phase)
			expectTimes(t, c.name+": intended", records, intendedOf, c.want...)
			expectTimes(t, c.name+": dispatched", records, dispatchOf, c.want...)
			if span.StartNS != 2000*ms {
				t.Errorf("%s: phase %+v", c.name, span)
			}
		})
	}
}

func TestAProcessThatWakesLateCountsFromTheStartThatWasMeant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(0, always(50*time.Millisecond))
		time.Sleep(130 * time.Millisecond)
		p := open(traffic.Constant, 10, traffic.Limit{Requests: 3})
		p.StartNS = 100 * ms
		_, records := b.run(t.Context(), t.Context(), p)
		expectTimes(t, "intended", records, intendedOf, 100, 200, 300)
		expectTimes(t, "dispatched", records, dispatchOf, 130, 200, 300)
	})
}

func TestNothingIsSentBeforeTheStartOfAPhaseThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, interrupt := context.WithTimeout(t.Context(), time.Second)
		defer interrupt()
		p := open(traffic.Constant, 10, traffic.Limit{Requests: 3})
		p.StartNS = 5000 * ms
		if _, records := newBench(1, always(0)).run(stop, t.Context(), p); len(records) != 0 {
			t.Errorf("%d requests", len(records))
		}
	})
}

// TestADecisionOnAFailureAppliesToTheNextRequest stops sending from the first failure on, with one slot.
func TestADecisionOnAFailureAppliesToTheNextRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(1, always(10*time.Millisecond))
		served, send := 0, b.Send
		b.Send = func(ctx context.Context, j *Job, clock openai.Clock, onPayload func()) openai.Result {
			result := send(ctx, j, clock, onPayload)
			if served++; served == 3 {
				result.Record.Status = openai.StatusHTTP
			}
			return result
		}
		released := make(chan struct{})
		var held atomic.Bool
		b.Hold = func(ctx context.Context) (bool, error) {
			if !held.Load() {
				return false, nil
			}
			<-released
			held.Store(false)
			return true, nil
		}
		jobs := make(chan Job, 5)
		for index := range 5 {
			jobs <- Job{Index: index}
		}
		close(jobs)
		var records []openai.Record
		b.Drive(t.Context(), t.Context(), closed(traffic.Limit{Requests: 5}), []<-chan Job{jobs}, Observer{
			Started: func() {}, Payload: func() {},
			Failed: func(j Job, _ openai.Result) {
				held.Store(true)
				time.AfterFunc(time.Second, func() { close(released) })
			},
			Ended: func(_ Job, result openai.Result) {
				b.mutex.Lock()
				defer b.mutex.Unlock()
				records = append(records, result.Record)
			},
		})
		slices.SortFunc(records, func(x, y openai.Record) int { return x.Index - y.Index })
		if got, want := timesOf(records, dispatchOf), []int64{0, 10, 20, 1030, 1040}; !slices.Equal(got, want) {
			t.Errorf("sent at %v, want %v", got, want)
		}
		if got, want := timesOf(records, eligibleOf), []int64{0, 10, 20, 1030, 1040}; !slices.Equal(got, want) {
			t.Errorf("eligible at %v, want %v: what is held back is no lag of the client", got, want)
		}
	})
}
