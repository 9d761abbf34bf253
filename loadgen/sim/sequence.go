package sim

import (
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/sim/kvcache"
)

// sequence is one request in the engine. The batch owns all fields but the atomic ones; the
// handler may read the others of them once it has seen a token.
type sequence struct {
	number uint64 // of the request, from 1
	asked  request
	said   answer  // may still change when it is admitted for the first time
	read   *scroll // what it has read and written so far

	lease     *kvcache.Lease
	hits      kvcache.Hits // of its first admission
	found     kvcache.Hits // of its last
	ready     time.Time    // when the blocks that were brought back are there
	goal      int          // tokens to be in the KV cache before it writes on
	prefilled int          // of those, the ones that are
	complete  int          // blocks that are complete
	chunk     int          // prompt tokens that the step under way reads; 0: the step decodes it
	inStep    bool
	counted   bool // its prompt is

	arrived, admitted, first, last time.Time

	// generated counts the tokens that the client may have.
	generated atomic.Int64
	// failed says that no more will come, crashed that the connection is to break too.
	failed, crashed atomic.Bool
	// changed wakes the one that waits for either; capacity 1, sent to without waiting, so that a
	// slow client never holds up the batch.
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

// longest is the most tokens that it may come to hold.
func (s *sequence) longest() int { return s.asked.promptTokens + s.asked.maxTokens }

// say writes the next token down. The one that ends an answer is the template's own, so that the
// answer as a message of the next request is the same text.
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
