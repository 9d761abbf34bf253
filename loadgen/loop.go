package loadgen

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/schedule"
)

// phase is a stretch of a run with one arrival process.
type phase struct {
	name    string
	process schedule.Process
	limit   schedule.Limit
}

// job is one request, ready to be sent.
type job struct {
	index int
	// planned is the offset from the start of the phase; open loop only.
	planned time.Duration
	request chat.Request

	promptSHA256, paramsSHA256 string
	inputTokensTarget          int
}

// span is when a phase was, in nanoseconds since the run's start.
type span struct {
	Name    string `json:"name"`
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
}

// observer is told what happens to requests. Its functions are called from many goroutines.
type observer struct {
	started func()
	payload func()
	ended   func(chat.Result)
}

// loop sends the jobs of a phase.
//
// A single goroutine dispatches, in the order of the plan, and every request has a goroutine of
// its own. Slots limit how many are in flight: in a closed loop the slot sets the pace, in an
// open one it is a cap, and what waits for it keeps its intended start.
type loop struct {
	clock chat.Clock
	// send is the chat client's Do.
	send func(context.Context, chat.Request, chat.Clock, func()) chat.Result
	// wait returns when the clock reads until, or with an error when the context is done first.
	wait func(ctx context.Context, until int64) error
	// slots is the most requests in flight; 0 is no limit.
	slots int
	// grace is how long requests in flight may go on once dispatching was stopped.
	grace time.Duration
}

// round is one phase being driven.
type round struct {
	*loop
	phase    phase
	watch    observer
	start    int64
	sending  context.Context
	free     chan int64 // slots, as the moment each became free; nil without a limit
	requests sync.WaitGroup
}

// drive sends the jobs of a phase until they end, its duration is over or stop is done, and
// returns when nothing is in flight. Requests end on their own; they are cancelled when cut is
// done, the grace after stop, and the grace after the phase's duration.
func (l *loop) drive(stop, cut context.Context, p phase, jobs <-chan job, watch observer) span {
	sending, cancel := context.WithCancel(cut)
	defer cancel()
	r := &round{loop: l, phase: p, watch: watch, start: l.clock(), sending: sending}
	if l.slots > 0 {
		r.free = make(chan int64, l.slots)
		for range l.slots {
			r.free <- r.start
		}
	}
	r.dispatch(stop, jobs)
	r.drain(stop, cancel)
	return span{Name: p.name, StartNS: r.start, EndNS: l.clock()}
}

// dispatch starts jobs until there are none left or the phase is over.
func (r *round) dispatch(stop context.Context, jobs <-chan job) {
	phase, cancel := context.WithCancel(stop)
	defer cancel()
	if r.phase.limit.Duration > 0 {
		phase, cancel = context.WithTimeout(stop, r.phase.limit.Duration)
		defer cancel()
	}
	for {
		select {
		case j, more := <-jobs:
			if !more {
				return
			}
			if !r.admit(phase, j) {
				r.giveUpDue(jobs)
				return
			}
		case <-phase.Done():
			r.giveUpDue(jobs)
			return
		}
	}
}

// admit waits until the job is due and a slot is free, and starts it; false when the phase
// ended first.
func (r *round) admit(phase context.Context, j job) bool {
	intended := r.start + int64(j.planned)
	if r.phase.process.Open() && r.wait(phase, intended) != nil {
		if intended <= r.clock() {
			r.giveUp(j)
		}
		return false
	}
	freed, ok := r.take(phase)
	switch {
	case ok && r.phase.process.Open():
		r.launch(j, intended, max(intended, freed))
	case ok:
		r.launch(j, freed, freed)
	case r.phase.process.Open():
		r.giveUp(j)
	}
	return ok
}

// take gets a slot and says since when it is free.
func (r *round) take(phase context.Context) (freed int64, ok bool) {
	if r.free == nil {
		return r.start, true
	}
	select {
	case freed = <-r.free:
		return freed, phase.Err() == nil
	case <-phase.Done():
		return 0, false
	}
}

// launch sends the job in a goroutine of its own.
func (r *round) launch(j job, intended, eligible int64) {
	r.watch.started()
	r.requests.Go(func() {
		result := r.send(r.sending, j.request, r.clock, r.watch.payload)
		// The slot first: nothing that is done with the result may delay the next request.
		if r.free != nil {
			r.free <- r.ended(result.Record)
		}
		result.Record.IntendedNS, result.Record.EligibleNS = intended, eligible
		r.finish(j, result)
	})
}

// ended is when the server was done with the request. What the client does after that, such as
// decoding the stream, is its own lag and must not be hidden in front of the next request.
func (r *round) ended(record chat.Record) int64 {
	if record.EndNS != nil {
		return *record.EndNS
	}
	return r.clock()
}

// giveUpDue records the arrivals that are due but were never sent: a backlog that vanished from
// the figures would make a server that cannot keep up look well.
func (r *round) giveUpDue(jobs <-chan job) {
	if !r.phase.process.Open() {
		return
	}
	now := r.clock()
	for j := range jobs {
		if r.start+int64(j.planned) > now {
			return
		}
		r.giveUp(j)
	}
}

// giveUp records an arrival whose turn did not come before dispatching ended.
func (r *round) giveUp(j job) {
	now := r.clock()
	r.watch.started()
	r.finish(j, chat.Result{Record: chat.Record{
		IntendedNS: r.start + int64(j.planned), EligibleNS: now, DispatchNS: now,
		Status: chat.StatusCancelled, Error: "not sent: it waited for a slot until the phase ended",
	}})
}

// finish adds what the loop knows of the request and hands the result on.
func (r *round) finish(j job, result chat.Result) {
	record := &result.Record
	record.Phase, record.Index = r.phase.name, j.index
	record.PromptSHA256, record.ParamsSHA256 = j.promptSHA256, j.paramsSHA256
	record.InputTokensTarget = j.inputTokensTarget
	r.watch.ended(result)
}

// drain waits for the requests in flight and cancels them when their time is up.
func (r *round) drain(stop context.Context, cancel context.CancelFunc) {
	idle := make(chan struct{})
	go func() {
		r.requests.Wait()
		close(idle)
	}()
	var timeUp <-chan time.Time
	until := int64(math.MaxInt64)
	if d := r.phase.limit.Duration; d > 0 {
		until = r.start + int64(d+r.grace)
		timeUp = time.After(time.Duration(until - r.clock()))
	}
	interrupted := stop.Done()
	for {
		select {
		case <-idle:
			return
		case <-timeUp:
			cancel()
		case <-interrupted:
			interrupted = nil
			timeUp = time.After(min(time.Duration(until-r.clock()), r.grace))
		}
	}
}
