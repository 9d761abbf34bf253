package sim

import (
	"slices"
	"time"
)

// batch is continuous batching as plain arithmetic, without a clock: the running and the waiting sequences, and the
// next step. Requests join and leave between steps, never as a group.
//
// Admission is first come, first served: while the head of the queue does not fit, no sequence behind it overtakes. A
// sequence is admitted when a place is free and the KV cache has room for its prompt. When the cache is then full, the
// sequence admitted last loses its place and is computed again later (vLLM: preemption).
type batch struct {
	maxSequences, prefillChunk, perBlock int

	cache   *blockCache
	onboard onboarding
	// onAdmission is called for every sequence that runs for the first time, with the number of running sequences,
	// itself included; its answer may still be changed.
	onAdmission func(s *sequence, running int)

	waiting, running []*sequence
}

func newBatch(c Config, tiers cacheConfig, onAdmission func(*sequence, int)) batch {
	return batch{
		maxSequences: c.MaxBatch, prefillChunk: c.PrefillChunkTokens, perBlock: c.KV.TokensPerBlock,
		cache: newCache(tiers), onAdmission: onAdmission,
		onboard: onboarding{transfer{link: c.KV.Host}, transfer{link: c.KV.Disk}, c.KV.BlockBytes()},
	}
}

// enqueue puts a sequence at the end of the queue.
func (b *batch) enqueue(s *sequence) { b.waiting = append(b.waiting, s) }

// admit moves sequences that fit from the queue into the batch.
func (b *batch) admit(now time.Time) {
	n := 0
	for n < len(b.waiting) && len(b.running) < b.maxSequences && b.enter(b.waiting[n], now) {
		n++
	}
	b.waiting = slices.Delete(b.waiting, 0, n)
}

// enter admits one sequence; false if there is no room for it.
func (b *batch) enter(s *sequence, now time.Time) bool {
	// The last token is always computed: the first token of the answer depends on it.
	known := s.text.keys[:(s.goal-1)/b.perBlock]
	lease, hits, ok := b.cache.acquire(known, (s.goal+b.perBlock-1)/b.perBlock)
	if !ok {
		return false
	}
	s.lease, s.found, s.prefilled, s.complete = lease, hits, hits.blocks()*b.perBlock, hits.blocks()
	s.ready = b.arrival(s, b.onboard.ready(now, hits))
	b.running = append(b.running, s)
	if s.admitted.IsZero() {
		s.admitted, s.hits = now, hits
		b.onAdmission(s, len(b.running))
	}
	return true
}

// arrival returns when all blocks that a sequence found are on the device: its own at own, and blocks that another
// sequence is already bringing back when that one has them.
func (b *batch) arrival(s *sequence, own time.Time) time.Time {
	for _, other := range b.running {
		first := other.found.Device // the first block that it brings back
		shared := first < s.found.Device && first < other.found.blocks() && other.text.keys[first] == s.text.keys[first]
		if shared && other.ready.After(own) {
			own = other.ready
		}
	}
	return own
}

// step is the work of the next step; its duration depends on it.
type step struct {
	prefillTokens, decoding int
	// until is when there will be work, if there is none now but a sequence waits for blocks that are brought back.
	until time.Time
}

func (s step) empty() bool { return s.prefillTokens+s.decoding == 0 }

// plan decides the next step: every sequence whose prompt is read gets a token, and prompts are
// read, in the order of admission, up to the chunk size.
func (b *batch) plan(now time.Time) step {
	var next step
	for _, s := range b.running {
		if s.ready.After(now) {
			s.chunk, s.inStep = 0, false
			if next.until.IsZero() || s.ready.Before(next.until) {
				next.until = s.ready
			}
			continue
		}
		s.chunk = min(s.goal-s.prefilled, b.prefillChunk-next.prefillTokens)
		s.inStep = s.chunk > 0 || s.prefilled == s.goal
		if s.chunk > 0 {
			next.prefillTokens += s.chunk
		} else if s.inStep {
			next.decoding++
		}
	}
	return next
}

// outcome is the result of one step. Its slices are valid until the next step.
type outcome struct {
	promptTokens int // of the prompts completed in this step
	generated    int
	preempted    int
	gaps         []time.Duration // between a token and the previous one
	read         []*sequence     // sequences whose prompt was completed for the first time
	started      []*sequence     // sequences that got their first token
	finished     []*sequence     // sequences that got their last token
}

// apply executes the planned step for the sequences that still run; into is reused.
func (b *batch) apply(into *outcome, now time.Time) {
	*into = outcome{gaps: into.gaps[:0], read: into.read[:0], started: into.started[:0], finished: into.finished[:0]}
	// By index and current length: sequences at the end may lose their place while others grow.
	for i := 0; i < len(b.running); i++ {
		s := b.running[i]
		switch {
		case !s.inStep:
		case s.chunk > 0:
			b.readChunk(s, into)
		default:
			b.generate(s, into, now)
		}
	}
	if len(into.finished) > 0 {
		b.running = slices.DeleteFunc(b.running, (*sequence).done)
	}
}

func (b *batch) readChunk(s *sequence, into *outcome) {
	s.prefilled += s.chunk
	b.completeUpTo(s, s.prefilled)
	if s.prefilled == s.goal && !s.counted {
		s.counted = true
		into.promptTokens += s.asked.promptTokens
		into.read = append(into.read, s)
	}
}

// completeUpTo marks the blocks as complete that so many tokens fill.
func (b *batch) completeUpTo(s *sequence, tokens int) {
	for ; (s.complete+1)*b.perBlock <= tokens; s.complete++ {
		b.cache.markComplete(s.lease, s.complete, s.text.keys[s.complete])
	}
}

func (b *batch) generate(s *sequence, into *outcome, now time.Time) {
	if !b.grow(s, into) {
		return
	}
	if s.generated.Load() == 0 {
		s.first = now
		into.started = append(into.started, s)
	} else {
		into.gaps = append(into.gaps, now.Sub(s.last))
	}
	s.last = now
	s.writeToken()
	s.generated.Add(1)
	s.goal++
	s.prefilled++
	b.completeUpTo(s, s.prefilled)
	into.generated++
	if s.done() {
		b.cache.release(s.lease)
		into.finished = append(into.finished, s)
	}
	s.notify()
}

// grow makes room for one more token, if necessary by taking it from those admitted last; false if the sequence itself
// was the last one.
func (b *batch) grow(s *sequence, into *outcome) bool {
	if s.goal < len(s.lease.blocks)*b.perBlock {
		return true
	}
	for !b.cache.grow(s.lease) {
		victim := b.lastToYield()
		b.yield(victim)
		into.preempted++
		if victim == s {
			return false
		}
	}
	return true
}

// lastToYield returns the sequence admitted last that has not ended in this step.
func (b *batch) lastToYield() *sequence {
	i := len(b.running) - 1
	for b.running[i].done() {
		i--
	}
	return b.running[i]
}

// yield puts a sequence back into the queue, in front of all others. Its tokens are read again, as far as its blocks
// are gone by then.
func (b *batch) yield(s *sequence) {
	b.cache.release(s.lease)
	b.running = slices.DeleteFunc(b.running, func(other *sequence) bool { return other == s })
	b.waiting = slices.Insert(b.waiting, 0, s)
}

// remove removes a sequence whose client disconnected; false if it is no longer in the batch.
func (b *batch) remove(s *sequence) bool {
	if i := slices.Index(b.running, s); i >= 0 {
		b.cache.release(s.lease)
		b.running = slices.Delete(b.running, i, i+1)
		return true
	}
	if i := slices.Index(b.waiting, s); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		return true
	}
	return false
}

// fail removes all sequences, wakes their handlers, and returns how many there were.
func (b *batch) fail() int {
	all := slices.Concat(b.running, b.waiting)
	for _, s := range all {
		s.failed.Store(true)
		s.notify()
	}
	for _, s := range b.running {
		b.cache.release(s.lease)
	}
	b.running, b.waiting = nil, nil
	return len(all)
}
