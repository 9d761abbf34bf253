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
	// slots, if any, are those of this phase instead of the loop's.
	slots int
}

// job is one request, ready to be sent.
type job struct {
	index int
	// planned is the offset from the start of the phase; open loop only.
	planned time.Duration
	request chat.Request
	// speak makes the request when its turn has come, of what was said before; nil if it is made
	// already.
	speak func(*job) error
	// heard is told the answer before the next request of the same lane is due; may be nil.
	heard func(chat.Result)

	maxTokens                                int
	conversation                             string
	turn                                     int
	promptSHA256, paramsSHA256, prefixSHA256 string
	inputTokensTarget                        int
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
	ended   func(job, chat.Result)
}

// loop sends the jobs of a phase.
//
// The jobs come in lanes, most often a single one. A goroutine a lane dispatches, in the order of
// the plan, and every request has a goroutine of its own. Slots limit how many of a lane are in
// flight: in a closed loop the slot sets the pace, in an open one it is a cap, and what waits for
// it keeps its intended start.
type loop struct {
	clock chat.Clock
	// send is the chat client's Do.
	send func(context.Context, chat.Request, chat.Clock, func()) chat.Result
	// wait returns when the clock reads until, or with an error when the context is done first.
	wait func(ctx context.Context, until int64) error
	// slots is the most requests in flight of a lane; 0 is no limit.
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
	requests sync.WaitGroup
}

// lane is a row of jobs with slots of its own.
type lane struct {
	*round
	slots *slots // nil without a limit
}

// drive sends the jobs of a phase, lane by lane, until they end, its duration is over or stop is
// done, and returns when nothing is in flight. Requests end on their own; they are cancelled when cut is
// done, the grace after stop, and the grace after the phase's duration.
func (l *loop) drive(stop, cut context.Context, p phase, lanes []<-chan job, watch observer) span {
	sending, cancel := context.WithCancel(cut)
	defer cancel()
	r := &round{loop: l, phase: p, watch: watch, start: l.clock(), sending: sending}
	var dispatching sync.WaitGroup
	for _, jobs := range lanes {
		dispatching.Go(func() { r.lane().dispatch(stop, jobs) })
	}
	dispatching.Wait()
	r.drain(stop, cancel)
	return span{Name: p.name, StartNS: r.start, EndNS: l.clock()}
}

// steps are the stages of slots of a closed loop.
func (p phase) steps() []schedule.Stage {
	if p.process.Open() {
		return nil
	}
	return p.process.Stages
}

// lane opens a row of jobs.
func (r *round) lane() *lane {
	stages := r.phase.steps()
	if len(stages) == 0 {
		n := r.phase.slots
		if n == 0 {
			n = r.loop.slots
		}
		if n == 0 {
			return &lane{round: r}
		}
		return &lane{r, newSlots(n, 0, r.start)}
	}
	most := 0
	for _, s := range stages {
		most = max(most, int(s.Level))
	}
	return &lane{r, newSlots(int(stages[0].Level), most, r.start)}
}

// step changes the number of slots at the end of each stage until the phase is over.
func (l *lane) step(phase context.Context) {
	at := l.start
	stages := l.phase.steps()
	for i := 1; i < len(stages); i++ {
		at += int64(stages[i-1].Duration)
		if l.wait(phase, at) != nil {
			return
		}
		l.slots.resize(int(stages[i-1].Level), int(stages[i].Level), at)
	}
}

// dispatch starts jobs until there are none left or the phase is over.
func (l *lane) dispatch(stop context.Context, jobs <-chan job) {
	phase, cancel := context.WithCancel(stop)
	defer cancel()
	if l.phase.limit.Duration > 0 {
		phase, cancel = context.WithTimeout(stop, l.phase.limit.Duration)
		defer cancel()
	}
	if len(l.phase.steps()) > 1 {
		// Cancelled before it is waited for, or else dispatching would take until the last stage.
		var stepping sync.WaitGroup
		defer stepping.Wait()
		defer cancel()
		stepping.Go(func() { l.step(phase) })
	}
	for {
		select {
		case j, more := <-jobs:
			if !more {
				return
			}
			if !l.admit(phase, j) {
				l.giveUpDue(jobs)
				return
			}
		case <-phase.Done():
			l.giveUpDue(jobs)
			return
		}
	}
}

// admit waits until the job is due and a slot is free, and starts it; false when the phase
// ended first.
func (l *lane) admit(phase context.Context, j job) bool {
	intended := l.start + int64(j.planned)
	if l.phase.process.Open() && l.wait(phase, intended) != nil {
		if intended <= l.clock() {
			l.giveUp(j)
		}
		return false
	}
	freed, ok := l.take(phase)
	switch {
	case ok && l.phase.process.Open():
		l.launch(j, intended, max(intended, freed))
	case ok:
		l.launch(j, freed, freed)
	case l.phase.process.Open():
		l.giveUp(j)
	}
	return ok
}

// take gets a slot and says since when it is free.
func (l *lane) take(phase context.Context) (freed int64, ok bool) {
	if l.slots == nil {
		return l.start, true
	}
	select {
	case freed = <-l.slots.free:
		// A slot that becomes free in the moment in which the phase ends is no longer one of it,
		// whichever of the two is noticed first.
		over := l.phase.limit.Duration > 0 && freed-l.start >= int64(l.phase.limit.Duration)
		return freed, !over && phase.Err() == nil
	case <-phase.Done():
		return 0, false
	}
}

// launch sends the job in a goroutine of its own.
func (l *lane) launch(j job, intended, eligible int64) {
	l.watch.started()
	l.requests.Go(func() {
		result := l.exchange(&j)
		if j.heard != nil {
			j.heard(result)
		}
		// The slot first: nothing that is done with the result may delay the next request.
		if l.slots != nil {
			l.slots.release(l.ended(result.Record))
		}
		result.Record.IntendedNS, result.Record.EligibleNS = intended, &eligible
		l.finish(j, result)
	})
}

// exchange sends the request, once it is made.
func (l *lane) exchange(j *job) chat.Result {
	if j.speak != nil {
		if err := j.speak(j); err != nil {
			return chat.Result{Record: chat.Record{DispatchNS: new(l.clock()), Status: chat.StatusCancelled, Error: "not sent: " + err.Error()}}
		}
	}
	return l.send(l.sending, j.request, l.clock, l.watch.payload)
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
	r.watch.started()
	r.finish(j, chat.Result{Record: chat.Record{
		IntendedNS: r.start + int64(j.planned),
		Status:     chat.StatusCancelled, Error: "not sent: it waited for a slot until the phase ended",
	}})
}

// finish adds what the loop knows of the request and hands the result on.
func (r *round) finish(j job, result chat.Result) {
	record := &result.Record
	record.Phase, record.Index = r.phase.name, j.index
	record.Conversation, record.Turn = j.conversation, j.turn
	record.PromptSHA256, record.ParamsSHA256, record.PrefixSHA256 = j.promptSHA256, j.paramsSHA256, j.prefixSHA256
	record.InputTokensTarget = j.inputTokensTarget
	r.watch.ended(j, result)
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
