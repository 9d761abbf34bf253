package openai

import (
	"iter"
	"time"
)

// lateRead is the time that the last byte of a read waits in the socket from which on the read is late. A prompt read
// of several events is taken as one write of the server: a client that is late enough to let two events meet in its
// socket almost never reads right after the second of them.
const lateRead = 200 * time.Microsecond

// late is a late read, by its number. Its first bytes came in up to sinceNS before its last, which was the arrival of
// the read before; its last waited for waitedNS.
type late struct {
	read              int
	sinceNS, waitedNS int64
}

// noteLate keeps a late read. Several reads of the body may be served by one read of the network.
func (r *reception) noteLate(one late) {
	if n := len(r.late); one.sinceNS > 0 && (n == 0 || r.late[n-1].read != one.read) {
		r.late = append(r.late, one)
	}
}

// fillUnsure writes the payload chunks that may have arrived before their read's stamp, which is the one of its last
// byte: those of late reads that brought something after them.
func (r *reception) fillUnsure(record *Record) {
	late := r.late
	for i, chunk := range r.answer.arrivals {
		for len(late) > 0 && late[0].read < chunk.read {
			late = late[1:]
		}
		if len(late) == 0 || !r.answer.streamed {
			return
		}
		ends := i+1 == len(r.answer.arrivals) || r.answer.arrivals[i+1].read != chunk.read
		if late[0].read == chunk.read && (!ends || chunk.followed) {
			record.UnsureChunks = append(record.UnsureChunks, i)
			record.UnsureNS, record.UnsureWaitNS = append(record.UnsureNS, late[0].sinceNS), append(record.UnsureWaitNS, late[0].waitedNS)
		}
	}
}

// Gap is a time before an arrival that a distribution has Tokens times, and the interval in which its true value lies.
type Gap struct {
	// Value is negative if the gap was not observed and is in no figure: a late read brought both arrivals.
	Value, Low, High time.Duration
	Tokens           int
}

// BoundedChunkGaps calls visit for each gap of ChunkGaps with its interval, where chunk i may have arrived early[i] ns
// earlier, and for the gaps between chunks of a late read, which were not observed. The intervals are those of gaps in
// descending order: the gaps of a late read add up to a time that is known, so that the second largest is at most half
// of it, and the largest at least its mean.
func (r Record) BoundedChunkGaps(early []int64, visit func(Gap)) {
	for first, end := range r.arrivals() {
		before, total := int64(0), int64(0)
		if first > 0 {
			before, total = early[first-1], r.ArrivalsNS[first]
			g := Gap{Value: time.Duration(total), Tokens: 1}
			low := total - early[first]
			if end-first > 1 && before == 0 {
				low = max(low, total/int64(end-first))
			}
			g.Low, g.High = time.Duration(max(0, low)), time.Duration(total+before)
			visit(g)
		}
		if early[first] == 0 {
			continue // one write of the server
		}
		for i := 1; i < end-first; i++ {
			high := early[first] / int64(i)
			if first > 0 {
				high = min(high, (total+before)/int64(i+1))
			}
			visit(Gap{Value: -1, High: time.Duration(high), Tokens: 1})
		}
	}
}

// BoundedITL calls visit for each latency of ITL with its interval, where chunk i may have arrived early[i] ns earlier.
// The tokens of a late read may have come at any time since the arrival before; the intervals are those of descending
// latencies, as in BoundedChunkGaps.
func (r Record) BoundedITL(early []int64, visit func(Gap)) {
	if !r.tokensKnown() {
		return
	}
	var gap, before, widest int64
	tokens, merged := 0, false
	for first, end := range r.arrivals() {
		if first > 0 {
			gap += r.ArrivalsNS[first]
			widest, merged = max(widest, early[first]), merged || end-first > 1 && early[first] > 0
			for _, n := range r.ArrivalTokens[first:end] {
				tokens += n
			}
		}
		if tokens > 0 {
			n := int64(tokens)
			g := Gap{Value: time.Duration(gap / n), Low: time.Duration(max(0, gap-widest) / n), High: time.Duration((gap + before) / n), Tokens: tokens}
			for i := int64(1); merged && i <= n; i++ {
				visit(Gap{Value: g.Value, High: time.Duration((gap + before) / i), Tokens: 1})
			}
			if !merged {
				visit(g)
			}
		}
		if tokens > 0 || first == 0 {
			gap, tokens, widest, merged, before = 0, 0, 0, false, early[end-1]
		}
	}
}

// arrivals yields the chunks of each arrival, which came in one read: the first, and the one after the last.
func (r Record) arrivals() iter.Seq2[int, int] {
	return func(yield func(first, end int) bool) {
		for first := 0; first < len(r.ArrivalsNS); {
			end := first + 1
			for end < len(r.ArrivalsNS) && r.sharesRead(end) {
				end++
			}
			if !yield(first, end) {
				return
			}
			first = end
		}
	}
}
