package sim

import (
	"slices"
	"sync/atomic"
	"time"
)

// sequence is one request in the engine. All fields but the last three belong to the batch.
type sequence struct {
	promptTokens int
	answerTokens int // how many it will generate
	reserve      int // KV tokens promised at admission: prompt and the most it may generate

	prefilled int // prompt tokens read
	chunk     int // prompt tokens that the step under way reads; 0: the step decodes it
	inStep    bool

	arrived, admitted, first time.Time
	reason                   finishReason

	// generated counts the tokens that the client may have.
	generated atomic.Int64
	// failed says that no more will come.
	failed atomic.Bool
	// changed wakes the one that waits for either; capacity 1, sent to without waiting, so that a
	// slow client never holds up the batch.
	changed chan struct{}
}

func newSequence(r request, a answer, now time.Time) *sequence {
	return &sequence{
		promptTokens: r.promptTokens, answerTokens: a.tokens(), reserve: r.promptTokens + r.maxTokens,
		reason: a.reason, arrived: now, changed: make(chan struct{}, 1),
	}
}

func (s *sequence) tell() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// kvTokens is what the sequence holds in the KV cache.
func (s *sequence) kvTokens() int { return s.prefilled + int(s.generated.Load()) }

// batch is continuous batching as plain arithmetic, without a clock: who runs, who waits, what
// the next step does. Requests join and leave between steps, never as a group.
//
// Admission is first come, first served: while the head of the queue does not fit, nobody
// behind it overtakes. A sequence is admitted when a place is free and the KV cache has room for
// its prompt and for the most it may generate, so nothing that runs is ever evicted
// (TensorRT-LLM: GUARANTEED_NO_EVICT).
type batch struct {
	maxSequences, kvCapacity, prefillChunk int

	waiting, running []*sequence
	reserved         int // KV tokens promised to running sequences
	held             int // KV tokens they hold
}

func newBatch(c Config) batch {
	return batch{maxSequences: c.MaxBatch, kvCapacity: c.KVCacheTokens, prefillChunk: c.PrefillChunkTokens}
}

// enqueue puts a sequence at the end of the queue.
func (b *batch) enqueue(s *sequence) { b.waiting = append(b.waiting, s) }

// admit moves what fits from the queue into the batch.
func (b *batch) admit(now time.Time) {
	n := 0
	for n < len(b.waiting) && len(b.running) < b.maxSequences && b.reserved+b.waiting[n].reserve <= b.kvCapacity {
		s := b.waiting[n]
		s.admitted = now
		b.reserved += s.reserve
		b.running = append(b.running, s)
		n++
	}
	b.waiting = slices.Delete(b.waiting, 0, n)
}

// plan decides the next step: every sequence whose prompt is read gets a token, and prompts are
// read, in the order of admission, up to the chunk size. It returns the figures that its time
// depends on; both are 0 when nothing runs.
func (b *batch) plan() (prefillTokens, decoding int) {
	for _, s := range b.running {
		s.chunk = min(s.promptTokens-s.prefilled, b.prefillChunk-prefillTokens)
		s.inStep = s.chunk > 0 || s.prefilled == s.promptTokens
		if s.chunk > 0 {
			prefillTokens += s.chunk
		} else if s.inStep {
			decoding++
		}
	}
	return prefillTokens, decoding
}

// outcome is what one step brought. Its slices are valid until the next step.
type outcome struct {
	promptTokens int // of the prompts read to their end in this step
	generated    int
	started      []*sequence // that got their first token
	finished     []*sequence // that got their last token
}

// apply carries out the step planned for those that still run; into is reused.
func (b *batch) apply(into *outcome, now time.Time) {
	*into = outcome{started: into.started[:0], finished: into.finished[:0]}
	for _, s := range b.running {
		switch {
		case !s.inStep:
		case s.chunk > 0:
			b.read(s, into)
		default:
			b.generate(s, into, now)
		}
	}
	if len(into.finished) > 0 {
		b.running = slices.DeleteFunc(b.running, (*sequence).done)
	}
}

func (b *batch) read(s *sequence, into *outcome) {
	s.prefilled += s.chunk
	b.held += s.chunk
	if s.prefilled == s.promptTokens {
		into.promptTokens += s.promptTokens
	}
}

func (b *batch) generate(s *sequence, into *outcome, now time.Time) {
	if s.generated.Load() == 0 {
		s.first = now
		into.started = append(into.started, s)
	}
	s.generated.Add(1)
	b.held++
	into.generated++
	if s.done() {
		b.free(s)
		into.finished = append(into.finished, s)
	}
	s.tell()
}

func (s *sequence) done() bool { return int(s.generated.Load()) == s.answerTokens }

func (b *batch) free(s *sequence) {
	b.held -= s.kvTokens()
	b.reserved -= s.reserve
}

// remove takes out a sequence whose client went away; false if it is in no more.
func (b *batch) remove(s *sequence) bool {
	if i := slices.Index(b.running, s); i >= 0 {
		b.free(s)
		b.running = slices.Delete(b.running, i, i+1)
		return true
	}
	if i := slices.Index(b.waiting, s); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		return true
	}
	return false
}

// fail takes out all and tells those who wait for them; it returns how many there were.
func (b *batch) fail() int {
	all := slices.Concat(b.running, b.waiting)
	for _, s := range all {
		s.failed.Store(true)
		s.tell()
	}
	b.running, b.waiting, b.reserved, b.held = nil, nil, 0, 0
	return len(all)
}
