package workload

import (
	"context"
	"errors"
	"io"
	"sync"
)

// How much is prepared ahead: as much as fits into preparedBytes, within two bounds.
const (
	preparedBytes  = 64 << 20
	bytesPerToken  = 6
	fewestPrepared = 16
	mostPrepared   = 4096
)

// queue holds the jobs of one worker of a phase, prepared ahead of time.
type queue struct {
	jobs chan Job
	// ready is closed once the queue is full or everything is prepared.
	ready     chan struct{}
	markReady func()
	// err is why the jobs ended early; read it after jobs is closed.
	err error
}

// Queues are the queues of all workers.
type Queues []*queue

// Prepare makes the jobs of a phase in one goroutine for each worker of this process, so that no prompt or JSON is made
// when a request is due. It continues the schedule of an endless phase on out.
func (w *Workload) Prepare(ctx context.Context, p Phase, out io.Writer) Queues {
	s := &scheduleWriter{work: w, phase: p, out: out, written: planBlock}
	var all Queues
	for worker := range w.Script.workers {
		if w.byWorker() && !w.place.Takes(worker) {
			continue
		}
		ready := make(chan struct{})
		q := &queue{jobs: make(chan Job, w.prepared()), ready: ready, markReady: sync.OnceFunc(func() { close(ready) })}
		all = append(all, q)
		go func() {
			defer close(q.jobs)
			q.err = w.fill(ctx, p, worker, q, s)
		}()
	}
	return all
}

// prepared returns how many jobs of a worker are kept ready, by the memory that their bodies take.
func (w *Workload) prepared() int {
	bytes := preparedBytes / max(w.Script.workers, 1)
	least := max(fewestPrepared/max(w.Script.workers, 1), 1)
	return min(max(bytes/(bytesPerToken*max(w.Script.longest, 1)), least), mostPrepared)
}

func (w *Workload) fill(ctx context.Context, p Phase, worker int, q *queue, s *scheduleWriter) error {
	defer q.markReady()
	open := map[int]*conversation{}
	for slot := range w.slots(p, 0) {
		if slot.content.worker != worker || !w.takes(slot) {
			continue
		}
		if err := s.reach(ctx, slot.index); err != nil {
			return err
		}
		d, err := w.draft(p, slot)
		if err != nil {
			return err
		}
		j, err := w.job(d, conversationOf(open, slot.content))
		if err != nil {
			return err
		}
		if !q.add(ctx, j) {
			return nil
		}
	}
	return nil
}

// conversationOf returns the conversation of a request, or nil for a single request. It drops a conversation with its
// last turn.
func conversationOf(open map[int]*conversation, a content) *conversation {
	if a.turn == 0 {
		return nil
	}
	history := open[a.number]
	if history == nil {
		history = newConversation()
		open[a.number] = history
	}
	if a.last {
		delete(open, a.number)
	}
	return history
}

// add waits for room; false if the phase is over.
func (q *queue) add(ctx context.Context, j Job) bool {
	if len(q.jobs) == cap(q.jobs) {
		q.markReady()
	}
	select {
	case q.jobs <- j:
		// Draining the queue of a finished phase makes room too.
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// rest waits for the preparing goroutine, whose context is done or whose jobs have ended, and returns why the jobs
// ended early.
func (q *queue) rest() error {
	for range q.jobs {
	}
	return q.err
}

// Jobs returns the job channels of all queues.
func (all Queues) Jobs() []<-chan Job {
	channels := make([]<-chan Job, len(all))
	for i, q := range all {
		channels[i] = q.jobs
	}
	return channels
}

// Await waits until all workers are ready, or the context is done.
func (all Queues) Await(ctx context.Context) {
	for _, q := range all {
		select {
		case <-q.ready:
		case <-ctx.Done():
			return
		}
	}
}

// Rest waits for the preparing goroutines of all workers and returns why jobs ended early.
func (all Queues) Rest() error {
	var errs []error
	for _, q := range all {
		errs = append(errs, q.rest())
	}
	return errors.Join(errs...)
}
