package loadgen

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"sync"

	"github.com/umascope/umascope/loadgen/prompt"
	"github.com/umascope/umascope/loadgen/schedule"
)

const (
	// planBlock is how many requests of an endless phase are planned at a time.
	planBlock = 1024
	// How much is prepared ahead: what fits into preparedBytes, within two bounds.
	preparedBytes  = 64 << 20
	bytesPerToken  = 6
	fewestPrepared = 16
	mostPrepared   = 4096
)

// plan writes the schedule of all phases and returns the hash of the workload: of the schedule,
// which has the hashes of prompts and parameters, and of the rules that it follows. Of an endless
// phase it writes the first block; prepare writes the others, each before its first request.
func (w *workload) plan(ctx context.Context, out io.Writer) (sha256Hex string, err error) {
	sum := sha256.New()
	if err := w.hashRules(sum); err != nil {
		return "", err
	}
	for _, p := range w.phases {
		most := math.MaxInt
		if p.endless() {
			most = planBlock
		}
		if err := w.write(ctx, io.MultiWriter(out, sum), p, 0, most); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// hashRules adds what the schedule's lines do not say.
func (w *workload) hashRules(sum hash.Hash) error {
	type rule struct {
		Phase   string           `json:"phase"`
		Process schedule.Process `json:"process"`
		Limit   schedule.Limit   `json:"limit"`
	}
	rules := struct {
		Schema      string         `json:"schema"`
		Sampling    sampling       `json:"sampling"`
		Output      prompt.Lengths `json:"output_tokens"`
		Script      scriptFacts    `json:"script"`
		Concurrency int            `json:"concurrency"`
		Phases      []rule         `json:"phases"`
	}{Schema: "umascope.workload/2", Sampling: w.sampling, Output: w.output, Script: w.script.facts, Concurrency: w.script.slots}
	for _, p := range w.phases {
		rules.Phases = append(rules.Phases, rule{p.name, p.process, p.limit})
	}
	return json.NewEncoder(sum).Encode(rules)
}

// write writes the lines of at most most requests of a phase, from the given index on.
func (w *workload) write(ctx context.Context, out io.Writer, p phase, first, most int) error {
	buffer := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffer)
	for slot := range w.slots(p, first) {
		if slot.index-first >= most {
			break
		}
		if ctx.Err() != nil {
			return errInterrupted
		}
		d, err := w.draft(p, slot)
		if err != nil {
			return err
		}
		if err := encoder.Encode(d.entry); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// scribe writes the schedule of an endless phase, each block before its first request.
type scribe struct {
	work  *workload
	phase phase
	out   io.Writer

	mutex   sync.Mutex
	written int // requests
}

// reach makes sure that the line of a request is written.
func (s *scribe) reach(ctx context.Context, index int) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for ; s.phase.endless() && index >= s.written; s.written += planBlock {
		if err := s.work.write(ctx, s.out, s.phase, s.written, planBlock); err != nil && ctx.Err() == nil {
			return fmt.Errorf("schedule: %w", err)
		}
	}
	return nil
}

// queue is the jobs of one lane of a phase, prepared ahead of their time.
type queue struct {
	jobs chan job
	// ready is closed once as much is prepared as fits, or everything.
	ready     chan struct{}
	markReady func()
	// err is why the jobs ended early; read it after jobs was closed.
	err error
}

// queues are those of all lanes.
type queues []*queue

// prepare makes the jobs of a phase in a goroutine for each lane, so that neither prompts nor JSON
// are made when a request is due. out is where the schedule of an endless phase goes on.
func (w *workload) prepare(ctx context.Context, p phase, out io.Writer) queues {
	s := &scribe{work: w, phase: p, out: out, written: planBlock}
	all := make(queues, w.script.lanes)
	for lane := range all {
		ready := make(chan struct{})
		q := &queue{jobs: make(chan job, w.prepared()), ready: ready, markReady: sync.OnceFunc(func() { close(ready) })}
		all[lane] = q
		go func() {
			defer close(q.jobs)
			q.err = w.fill(ctx, p, lane, q, s)
		}()
	}
	return all
}

// prepared is how many jobs of a lane are kept ready, by the memory that their bodies take.
func (w *workload) prepared() int {
	bytes := preparedBytes / max(w.script.lanes, 1)
	least := max(fewestPrepared/max(w.script.lanes, 1), 1)
	return min(max(bytes/(bytesPerToken*max(w.script.longest, 1)), least), mostPrepared)
}

func (w *workload) fill(ctx context.Context, p phase, lane int, q *queue, s *scribe) error {
	defer q.markReady()
	talks := map[int]*dialogue{}
	for slot := range w.slots(p, 0) {
		if slot.ask.lane != lane {
			continue
		}
		if err := s.reach(ctx, slot.index); err != nil {
			return err
		}
		d, err := w.draft(p, slot)
		if err != nil {
			return err
		}
		j, err := w.job(d, dialogueOf(talks, slot.ask))
		if err != nil {
			return err
		}
		if !q.add(ctx, j) {
			return nil
		}
	}
	return nil
}

// dialogueOf is the conversation that a request belongs to, nil for one that stands alone;
// a conversation is forgotten with its last turn.
func dialogueOf(talks map[int]*dialogue, a ask) *dialogue {
	if a.turn == 0 {
		return nil
	}
	talk := talks[a.number]
	if talk == nil {
		talk = newDialogue()
		talks[a.number] = talk
	}
	if a.last {
		delete(talks, a.number)
	}
	return talk
}

// add waits for room; false when the phase is over.
func (q *queue) add(ctx context.Context, j job) bool {
	if len(q.jobs) == cap(q.jobs) {
		q.markReady()
	}
	select {
	case q.jobs <- j:
		// Whoever empties the queue of a phase that is over makes room as well.
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// rest waits for the preparing goroutine, whose context is done or whose jobs have ended, and
// returns why the jobs ended early.
func (q *queue) rest() error {
	for range q.jobs {
	}
	return q.err
}

// lanes are the jobs of all queues.
func (all queues) lanes() []<-chan job {
	lanes := make([]<-chan job, len(all))
	for i, q := range all {
		lanes[i] = q.jobs
	}
	return lanes
}

// await waits until all lanes are ready, or the context is done.
func (all queues) await(ctx context.Context) {
	for _, q := range all {
		select {
		case <-q.ready:
		case <-ctx.Done():
			return
		}
	}
}

// rest is the rest of all lanes.
func (all queues) rest() error {
	var errs []error
	for _, q := range all {
		errs = append(errs, q.rest())
	}
	return errors.Join(errs...)
}
