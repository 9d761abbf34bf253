package workload

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

// Loop sends the jobs of a phase.
//
// The jobs come in one queue for each worker, most often a single one. A worker dispatches in the order of the plan,
// and every request has a goroutine of its own. Slots limit how many requests of a worker are in flight. In a closed
// loop the slot sets the pace. In an open loop it is a cap, and a request that waits for a slot keeps its intended
// start.
type Loop struct {
	Clock openai.Clock
	// Send sends the request of a job to its server, as the Do method of openai.Client does.
	Send func(context.Context, *Job, openai.Clock, func()) openai.Result
	// Wait returns when the clock reads until, or with an error when the context is done first.
	Wait func(ctx context.Context, until int64) error
	// Slots is the most requests in flight per worker; 0 means no limit.
	Slots int
	// Grace is how long requests in flight may continue after dispatching was stopped.
	Grace time.Duration
	// Hold, if not nil, waits while requests may not be sent and reports whether it waited. An error means that no
	// more requests may be sent, or that the context is done.
	Hold func(context.Context) (waited bool, err error)
}

// phaseRun is one phase while it runs.
type phaseRun struct {
	*Loop
	phase    Phase
	watch    Observer
	start    int64
	sending  context.Context
	requests sync.WaitGroup
}

// worker sends a sequence of jobs, with slots of its own.
type worker struct {
	*phaseRun
	slots *slots // nil without a limit
	// starts are the times at which the slots first become free, ascending, if they do not all become free at the
	// start of the phase.
	starts []int64
	heldNS int64 // time until which Hold last waited
}

// Drive sends the jobs of a phase, one worker for each queue, until they end, its duration is over or stop is done. It
// returns when no request is in flight. Requests end on their own. They are cancelled when cut is done, the grace
// period after stop, or the grace period after the phase's duration.
func (l *Loop) Drive(stop, cut context.Context, p Phase, queues []<-chan Job, watch Observer) Span {
	sending, cancel := context.WithCancel(cut)
	defer cancel()
	r := &phaseRun{Loop: l, phase: p, watch: watch, start: l.begin(stop, p), sending: sending}
	var dispatching sync.WaitGroup
	for i, jobs := range queues {
		dispatching.Go(func() { r.worker(i, len(queues)).dispatch(stop, jobs) })
	}
	dispatching.Wait()
	r.drain(stop, cancel)
	return Span{Name: p.Name, StartNS: r.start, EndNS: max(r.start, l.Clock())}
}

// begin waits for the start of the phase, if it has one, and returns it. If stop is done earlier, it returns early,
// and the dispatcher sends no job.
func (l *Loop) begin(stop context.Context, p Phase) int64 {
	if p.StartNS == 0 {
		return l.Clock()
	}
	_ = l.Wait(stop, p.StartNS)
	return p.StartNS
}

// worker makes the worker with this number, of this many.
func (r *phaseRun) worker(number, of int) *worker {
	stages := r.phase.steps()
	if len(stages) == 0 {
		n := r.phase.Slots
		if n == 0 {
			n = r.Loop.Slots
		}
		if n == 0 {
			return &worker{phaseRun: r}
		}
		if ramp := r.phase.Process.Ramp; ramp > 0 && !r.phase.Process.Open() {
			return &worker{phaseRun: r, slots: newSlots(0, n, r.start), starts: rampStarts(r.start, ramp, number*n, n, of*n)}
		}
		return &worker{phaseRun: r, slots: newSlots(n, 0, r.start)}
	}
	most := 0
	for _, s := range stages {
		most = max(most, int(s.Level))
	}
	return &worker{phaseRun: r, slots: newSlots(int(stages[0].Level), most, r.start)}
}

// rampStarts returns the start times of n slots, the first of them number first, when all slots start evenly over
// ramp: the first at once, the last one step before the end of the ramp.
func rampStarts(start int64, ramp time.Duration, first, n, all int) []int64 {
	starts := make([]int64, n)
	for i := range starts {
		starts[i] = start + int64(float64(ramp)*float64(first+i)/float64(all))
	}
	return starts
}

// ramp starts the slots one after another, until the phase is over. Each slot is free from its own start on, so the
// client's lag counts from there.
func (w *worker) ramp(phase context.Context) {
	for _, at := range w.starts {
		if w.Wait(phase, at) != nil {
			return
		}
		w.slots.release(at)
	}
}

// step changes the number of slots at the end of each stage until the phase is over.
func (w *worker) step(phase context.Context) {
	at := w.start
	stages := w.phase.steps()
	for i := 1; i < len(stages); i++ {
		at += int64(stages[i-1].Duration)
		if w.Wait(phase, at) != nil {
			return
		}
		w.slots.resize(int(stages[i-1].Level), int(stages[i].Level), at)
	}
}

// dispatch starts jobs until there are none left or the phase is over.
func (w *worker) dispatch(stop context.Context, jobs <-chan Job) {
	phase, cancel := context.WithCancel(stop)
	defer cancel()
	if w.phase.Limit.Duration > 0 {
		phase, cancel = context.WithTimeout(stop, w.phase.Limit.Duration)
		defer cancel()
	}
	// Cancel comes before the wait; otherwise dispatching would last until the last slot or stage.
	var changing sync.WaitGroup
	defer changing.Wait()
	defer cancel()
	if len(w.starts) > 0 {
		changing.Go(func() { w.ramp(phase) })
	}
	if len(w.phase.steps()) > 1 {
		changing.Go(func() { w.step(phase) })
	}
	for {
		select {
		case j, more := <-jobs:
			if !more {
				return
			}
			if !w.admit(stop, phase, j) {
				w.finishDue(stop, jobs)
				return
			}
		case <-phase.Done():
			w.finishDue(stop, jobs)
			return
		}
	}
}

// admit waits until the job is due and a slot is free, and starts it. It returns false if the phase ended first.
func (w *worker) admit(stop, phase context.Context, j Job) bool {
	intended := w.start + int64(j.Planned)
	if w.phase.Process.Open() && w.Wait(phase, intended) != nil {
		if intended <= w.Clock() {
			w.late(stop, j)
		}
		return false
	}
	freed, ok := w.take(phase)
	if ok && w.hold(phase) != nil {
		w.release(freed)
		ok = false
	}
	freed = max(freed, w.heldNS)
	switch {
	case ok && w.phase.Process.Open():
		w.launch(j, intended, max(intended, freed))
	case ok:
		w.launch(j, freed, freed)
	case w.phase.Process.Open():
		w.late(stop, j)
	}
	return ok
}

// take gets a slot and returns since when it was free.
func (w *worker) take(phase context.Context) (freed int64, ok bool) {
	if w.slots == nil {
		return w.start, true
	}
	select {
	case freed = <-w.slots.free:
		if phase.Err() != nil {
			w.slots.release(freed) // an arrival that was due may still use the slot
			return 0, false
		}
		return freed, !w.over(freed)
	case <-phase.Done():
		return 0, false
	}
}

// hold waits while requests may not be sent. The request becomes eligible only afterwards, so the wait does not count
// as the client's lag.
func (w *worker) hold(ctx context.Context) error {
	if w.Hold == nil {
		return nil
	}
	waited, err := w.Hold(ctx)
	if waited {
		w.heldNS = w.Clock()
	}
	return err
}

// release returns a slot that no request has used.
func (w *worker) release(freed int64) {
	if w.slots != nil {
		w.slots.release(freed)
	}
}

// over reports whether a moment is after the end of the phase. A slot that becomes free at the very moment of the end
// is after it, whichever event is noticed first.
func (r *phaseRun) over(at int64) bool {
	return r.phase.Limit.Duration > 0 && at-r.start >= int64(r.phase.Limit.Duration)
}

// launch sends the job in a goroutine of its own.
func (w *worker) launch(j Job, intended, eligible int64) {
	w.watch.Started()
	w.requests.Go(func() {
		result := w.exchange(&j)
		if result.Record.Status != openai.StatusOK && w.watch.Failed != nil {
			w.watch.Failed(j, result)
		}
		if j.Answered != nil {
			j.Answered(result)
		}
		// Release the slot first: the processing of the result must not delay the next request.
		if w.slots != nil {
			w.slots.release(w.ended(result.Record))
		}
		result.Record.IntendedNS, result.Record.EligibleNS = intended, &eligible
		w.finish(j, result)
	})
}

// exchange makes the request, if needed, and sends it.
func (w *worker) exchange(j *Job) openai.Result {
	if j.Build != nil {
		if err := j.Build(j); err != nil {
			return openai.Result{Record: openai.Record{DispatchNS: new(w.Clock()), Status: openai.StatusCancelled, Error: "not sent: " + err.Error()}}
		}
	}
	return w.Send(w.sending, j, w.Clock, w.watch.Payload)
}

// ended returns when the server had finished the request. The client's work after that, such as decoding the stream,
// is its own lag and must show in the next request's lag.
func (r *phaseRun) ended(record openai.Record) int64 {
	if record.EndNS != nil {
		return *record.EndNS
	}
	return r.Clock()
}

// finishDue handles, in an open loop, the arrivals that were due when dispatching ended.
func (w *worker) finishDue(stop context.Context, jobs <-chan Job) {
	if !w.phase.Process.Open() {
		return
	}
	now := w.Clock()
	for j := range jobs {
		if w.start+int64(j.Planned) > now {
			return
		}
		w.late(stop, j)
	}
}

// late handles an arrival that was due in a phase that is now over. If only the client was late, the request is sent,
// and the client's lag shows the delay. If no slot was free in time, or the run was stopped, the request is recorded
// as never sent: without it, the figures of a server that cannot keep up would look too good.
func (w *worker) late(stop context.Context, j Job) {
	intended := w.start + int64(j.Planned)
	if stop.Err() != nil || w.hold(stop) != nil {
		w.skip(j, "the run was stopped")
		return
	}
	freed, ok := w.takeFree()
	if !ok {
		w.skip(j, "it waited for a slot until the phase ended")
		return
	}
	w.launch(j, intended, max(intended, freed, w.heldNS))
}

// takeFree gets a slot that was free before the phase ended.
func (w *worker) takeFree() (freed int64, ok bool) {
	if w.slots == nil {
		return w.start, true
	}
	select {
	case freed = <-w.slots.free:
		return freed, !w.over(freed)
	default:
		return 0, false
	}
}

// skip records an arrival that is not sent, with the reason.
func (r *phaseRun) skip(j Job, why string) {
	r.watch.Started()
	r.finish(j, openai.Result{Record: openai.Record{
		IntendedNS: r.start + int64(j.Planned),
		Status:     openai.StatusCancelled, Error: "not sent: " + why,
	}})
}

// finish adds the loop's fields to the record and passes the result on.
func (r *phaseRun) finish(j Job, result openai.Result) {
	record := &result.Record
	record.Phase, record.Index = r.phase.Name, j.Index
	record.Conversation, record.Turn, record.Session = j.Conversation, j.Turn, j.Session
	record.PromptSHA256, record.ParamsSHA256, record.PrefixSHA256 = j.PromptSHA256, j.ParamsSHA256, j.PrefixSHA256
	record.InputTokensTarget, record.RepeatedTokensTarget = j.InputTokensTarget, j.RepeatedTokensTarget
	r.watch.Ended(j, result)
}

// drain waits for the requests in flight and cancels them when the grace period ends.
func (r *phaseRun) drain(stop context.Context, cancel context.CancelFunc) {
	idle := make(chan struct{})
	go func() {
		r.requests.Wait()
		close(idle)
	}()
	var timeUp <-chan time.Time
	until := int64(math.MaxInt64)
	if d := r.phase.Limit.Duration; d > 0 {
		until = r.start + int64(d+r.Grace)
		timeUp = time.After(time.Duration(until - r.Clock()))
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
			timeUp = time.After(min(time.Duration(until-r.Clock()), r.Grace))
		}
	}
}
