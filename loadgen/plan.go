package loadgen

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"iter"
	"sync"
	"time"

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
		requests := w.planned(p)
		if p.endless() {
			requests = block(0)
		}
		if err := w.write(ctx, io.MultiWriter(out, sum), p, requests); err != nil {
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
		Schema      string   `json:"schema"`
		Sampling    sampling `json:"sampling"`
		Concurrency int      `json:"concurrency"`
		Phases      []rule   `json:"phases"`
	}{Schema: "umascope.workload/1", Sampling: w.sampling, Concurrency: w.concurrency}
	for _, p := range w.phases {
		rules.Phases = append(rules.Phases, rule{p.name, p.process, p.limit})
	}
	return json.NewEncoder(sum).Encode(rules)
}

// block yields one block of an endless phase.
func block(first int) iter.Seq2[int, *time.Duration] {
	return func(yield func(int, *time.Duration) bool) {
		for index := first; index < first+planBlock && yield(index, nil); index++ {
		}
	}
}

// write writes the lines of the given requests.
func (w *workload) write(ctx context.Context, out io.Writer, p phase, requests iter.Seq2[int, *time.Duration]) error {
	buffer := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffer)
	for index, offset := range requests {
		if ctx.Err() != nil {
			return errInterrupted
		}
		d, err := w.draft(p, index, offset)
		if err != nil {
			return err
		}
		if err := encoder.Encode(d.entry); err != nil {
			return err
		}
	}
	return buffer.Flush()
}

// queue is the jobs of one phase, prepared ahead of their time.
type queue struct {
	jobs chan job
	// ready is closed once as much is prepared as fits, or everything.
	ready     chan struct{}
	markReady func()
	// err is why the jobs ended early; read it after jobs was closed.
	err error
}

// prepare makes the jobs of a phase in a goroutine, so that neither prompts nor JSON are made
// when a request is due. out is where the schedule of an endless phase goes on.
func (w *workload) prepare(ctx context.Context, p phase, out io.Writer) *queue {
	ready := make(chan struct{})
	q := &queue{jobs: make(chan job, w.prepared()), ready: ready, markReady: sync.OnceFunc(func() { close(ready) })}
	go func() {
		defer close(q.jobs)
		q.err = w.fill(ctx, p, q, out)
	}()
	return q
}

// prepared is how many jobs are kept ready, by the memory that their bodies take.
func (w *workload) prepared() int {
	longest := 1
	for _, lengths := range w.prompts.Lengths {
		longest = max(longest, lengths.Max)
	}
	return min(max(preparedBytes/(bytesPerToken*longest), fewestPrepared), mostPrepared)
}

func (w *workload) fill(ctx context.Context, p phase, q *queue, out io.Writer) error {
	defer q.markReady()
	for index, offset := range w.planned(p) {
		if p.endless() && index > 0 && index%planBlock == 0 {
			if err := w.write(ctx, out, p, block(index)); err != nil && ctx.Err() == nil {
				return fmt.Errorf("schedule: %w", err)
			}
		}
		d, err := w.draft(p, index, offset)
		if err != nil {
			return err
		}
		j, err := w.job(d)
		if err != nil {
			return err
		}
		if !q.add(ctx, j) {
			return nil
		}
	}
	return nil
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
