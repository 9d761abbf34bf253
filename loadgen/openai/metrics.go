package openai

import (
	"iter"
	"strings"
	"time"
)

// Origin is the moment from which a latency counts. Both are published next to each other: latency from send is the
// server's time, latency from intended is the user's wait.
type Origin int

// The origins.
const (
	FromSend     Origin = iota // the dispatch, before the request is written
	FromIntended               // the schedule (open loop) or the moment the slot became free (closed loop)
)

// since returns the time from the origin to an event; absent if one of them did not happen.
func (r Record) since(event *int64, from Origin) (time.Duration, bool) {
	start := &r.IntendedNS
	if from == FromSend {
		start = r.DispatchNS
	}
	return between(start, event)
}

func between(start, end *int64) (time.Duration, bool) {
	if start == nil || end == nil {
		return 0, false
	}
	return time.Duration(*end - *start), true
}

// QueueDelay returns how long the request waited for a free slot after its intended start. The server's speed causes
// it, not the client. Absent if the request never became eligible.
func (r Record) QueueDelay() (time.Duration, bool) { return between(&r.IntendedNS, r.EligibleNS) }

// ClientLag returns how late the client dispatched a request that was due and had a slot: the only delay that the
// client itself causes. Absent if the request was never sent.
func (r Record) ClientLag() (time.Duration, bool) { return between(r.EligibleNS, r.DispatchNS) }

// TTFT returns the time to the first payload (text, reasoning or tool fragment). Absent without payload.
func (r Record) TTFT(from Origin) (time.Duration, bool) { return r.since(r.FirstTokenNS, from) }

// FirstVisible returns the payload chunk that is the first with output other than reasoning; -1 if there is none.
func (r Record) FirstVisible() int {
	return strings.IndexFunc(r.ArrivalKinds, func(kind rune) bool { return kind != 'r' })
}

// TTFO returns the time to the first output that is not reasoning. Absent without such output.
func (r Record) TTFO(from Origin) (time.Duration, bool) { return r.since(r.FirstVisibleNS, from) }

// E2E returns the time to the last payload. The usage chunk, [DONE] and the end of the body come later and do not
// count. Absent without payload.
func (r Record) E2E(from Origin) (time.Duration, bool) {
	if len(r.ArrivalsNS) == 0 {
		return 0, false
	}
	last := r.ArrivalsNS[0] + r.streamed()
	return r.since(&last, from)
}

// streamed returns the time in nanoseconds from the first to the last payload.
func (r Record) streamed() int64 {
	var total int64
	for _, gap := range r.laterArrivals() {
		total += gap
	}
	return total
}

// laterArrivals returns the gaps before each payload chunk but the first, in nanoseconds.
func (r Record) laterArrivals() []int64 {
	if len(r.ArrivalsNS) == 0 {
		return nil
	}
	return r.ArrivalsNS[1:]
}

// TPOT returns the time per output token after the first chunk: (last - first payload) / (tokens out - tokens of the
// first chunk). The tokens of the first chunk are taken as 1 if the server does not report them. Absent below two
// tokens, without a token count, with a count that the chunks contradict, if all tokens came in the first chunk, and if
// one read brought everything: then the time between the tokens was not observed, and 0 would be wrong.
func (r Record) TPOT() (time.Duration, bool) {
	if len(r.ArrivalsNS)-r.SameReadChunks() < 2 || r.TokensOut == nil || *r.TokensOut < 2 || r.CountContradicted() {
		return 0, false
	}
	first := 1
	if r.tokensKnown() {
		first = r.ArrivalTokens[0]
	}
	later := *r.TokensOut - first
	if later < 1 {
		return 0, false
	}
	return time.Duration(r.streamed() / int64(later)), true
}

// CountContradicted reports whether the answer came in more payload chunks than the output tokens that the server
// counts: the count is of something else, or the chunks are not steps of the engine. If the server reports the tokens
// of each chunk, some chunks may have none.
func (r Record) CountContradicted() bool {
	return r.TokensOut != nil && *r.TokensOut < len(r.ArrivalsNS) && !r.tokensKnown()
}

// tokensKnown reports whether the server reported the tokens of every payload chunk.
func (r Record) tokensKnown() bool {
	return len(r.ArrivalTokens) > 0 && len(r.ArrivalTokens) == len(r.ArrivalsNS)
}

// sharesRead reports whether payload chunk i came in the same network read as the one before it.
func (r Record) sharesRead(i int) bool {
	return i > 0 && len(r.ReadIDs) == len(r.ArrivalsNS) && r.ReadIDs[i] == r.ReadIDs[i-1]
}

// ChunkGaps yields the time between consecutive arrivals of payload chunks. Chunks of one network read have no
// observable gap; SameReadChunks counts those.
func (r Record) ChunkGaps() iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		for i, gap := range r.laterArrivals() {
			if !r.sharesRead(i+1) && !yield(time.Duration(gap)) {
				return
			}
		}
	}
}

// SameReadChunks returns the number of payload chunks that came in the same network read as the chunk before them: the
// gaps of 0 that ChunkGaps leaves out.
func (r Record) SameReadChunks() int {
	shared := 0
	for i := range r.ReadIDs {
		if r.sharesRead(i) {
			shared++
		}
	}
	return shared
}

// ITL yields the inter-token latency and the number of tokens with that latency: the gap before an arrival divided by
// the tokens that arrived, once per token. Empty unless the server reports the tokens of every chunk.
//
// Chunks of one read are one arrival: the time between them was not observed, so a latency of 0 for the later one would
// be wrong. For the same reason the gap before a chunk without a new token counts towards the next one, so that tokens
// times latency always sums up to the time from the first to the last arrival.
func (r Record) ITL() iter.Seq2[time.Duration, int] {
	return func(yield func(time.Duration, int) bool) {
		if !r.tokensKnown() {
			return
		}
		var gap int64
		tokens, firstArrival := 0, true
		for i, step := range r.laterArrivals() {
			chunk := i + 1
			if firstArrival = firstArrival && r.sharesRead(chunk); firstArrival {
				continue // came with the first chunk: no gap before it
			}
			gap += step
			tokens += r.ArrivalTokens[chunk]
			arrivalEnds := chunk+1 == len(r.ArrivalsNS) || !r.sharesRead(chunk+1)
			if !arrivalEnds || tokens == 0 {
				continue
			}
			if !yield(time.Duration(gap/int64(tokens)), tokens) {
				return
			}
			gap, tokens = 0, 0
		}
	}
}
