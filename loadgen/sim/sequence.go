package sim

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// sequence is one request in the engine. The batch owns all fields but the atomic ones; the handler may read the others
// once it has seen a token.
type sequence struct {
	number uint64 // of the request, from 1
	asked  request
	answer answer      // may still change when it is admitted for the first time
	text   *transcript // the tokens read and written so far

	lease     *cacheLease
	hits      cacheHits // of its first admission
	found     cacheHits // of its last
	ready     time.Time // when the blocks that were brought back are on the device
	goal      int       // tokens that must be in the KV cache before it continues to write
	prefilled int       // of those, the ones that already are
	complete  int       // blocks that are complete
	chunk     int       // prompt tokens that the current step reads; 0 means that the step decodes it
	inStep    bool
	counted   bool // its prompt is counted

	arrived, admitted, first, last time.Time

	// generated counts the tokens that may be sent to the client.
	generated atomic.Int64
	// failed means that no more tokens will come.
	failed atomic.Bool
	// changed wakes the handler that waits for either; capacity 1, sent to without waiting, so that a slow client never
	// blocks the batch.
	changed chan struct{}
}

func newSequence(number uint64, r request, a answer, now time.Time) *sequence {
	return &sequence{number: number, asked: r, answer: a, text: r.text, goal: r.promptTokens, arrived: now, changed: make(chan struct{}, 1)}
}

func (s *sequence) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *sequence) done() bool { return int(s.generated.Load()) == s.answer.tokens() }

// writeToken writes the next token. The one that ends an answer is the template's own, so that the answer as a message
// of the next request is the same text.
func (s *sequence) writeToken() {
	n := int(s.generated.Load())
	piece := s.answer.between(n, n+1)
	if piece == "" && n+1 == s.answer.tokens() && s.answer.reason == finishStop {
		s.text.special(endOfTurn)
		return
	}
	s.text.mix(piece)
	s.text.next()
}

// errStopped means that a sequence gets no more tokens although its client is connected.
var errStopped = errors.New("the simulated engine was stopped")

// wait returns how many tokens are generated once there are more than seen. The error is errStopped, or that of the
// context if the client disconnected.
func (s *sequence) wait(ctx context.Context, seen int) (int, error) {
	for {
		// In this order: tokens generated before the end are still delivered.
		failed := s.failed.Load()
		if generated := int(s.generated.Load()); generated > seen {
			return generated, nil
		}
		if failed {
			return seen, errStopped
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return seen, ctx.Err()
		}
	}
}

// transfer is the link from one tier to the device, used by one request after the other.
type transfer struct {
	link Link
	free time.Time // when all transfers so far are complete
}

// arrival returns when so many bytes that are requested now will be on the device.
func (t *transfer) arrival(now time.Time, bytes int64) time.Time {
	if bytes == 0 {
		return now
	}
	begin := now
	if t.free.After(begin) {
		begin = t.free
	}
	end := begin.Add(t.link.time(bytes))
	// The latency of one request overlaps with the bytes of the next.
	t.free = end.Add(-t.link.Latency)
	return end
}

// onboarding brings blocks back from both tiers.
type onboarding struct {
	host, disk transfer
	blockBytes int64
}

// ready returns when all blocks that a request found below the device will be on it.
func (o *onboarding) ready(now time.Time, hits cacheHits) time.Time {
	host := o.host.arrival(now, int64(hits.Host)*o.blockBytes)
	disk := o.disk.arrival(now, int64(hits.Disk)*o.blockBytes)
	if disk.After(host) {
		return disk
	}
	return host
}
