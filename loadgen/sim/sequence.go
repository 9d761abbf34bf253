package sim

import (
	"sync/atomic"
	"time"
)

// sequence is one request in the engine. The batch owns all fields but the atomic ones; the handler may read the others
// once it has seen a token.
type sequence struct {
	number uint64 // of the request, from 1
	asked  request
	said   answer  // may still change when it is admitted for the first time
	read   *scroll // the tokens read and written so far

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
	// failed means that no more tokens will come, crashed that the connection breaks too.
	failed, crashed atomic.Bool
	// changed wakes the handler that waits for either; capacity 1, sent to without waiting, so that a slow client never
	// blocks the batch.
	changed chan struct{}
}

func newSequence(number uint64, r request, a answer, now time.Time) *sequence {
	return &sequence{number: number, asked: r, said: a, read: r.read, goal: r.promptTokens, arrived: now, changed: make(chan struct{}, 1)}
}

func (s *sequence) tell() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *sequence) done() bool { return int(s.generated.Load()) == s.said.tokens() }

// longest returns the most tokens that it may hold.
func (s *sequence) longest() int { return s.asked.promptTokens + s.asked.maxTokens }

// say writes the next token. The one that ends an answer is the template's own, so that the answer as a message of the
// next request is the same text.
func (s *sequence) say() {
	n := int(s.generated.Load())
	piece := s.said.between(n, n+1)
	if piece == "" && n+1 == s.said.tokens() && s.said.reason == finishStop {
		s.read.special(endOfTurn)
		return
	}
	s.read.mix(piece)
	s.read.next()
}
