package summary

import (
	"iter"

	"github.com/umascope/umascope/loadgen/openai"
)

// sample is what the summary keeps of a request that was sent: its moments, in nanoseconds since the run's start, and
// its lengths. It has a hundred and thirty bytes instead of a record, so that a million fit in memory and every figure of a phase can
// be computed after one pass over the records.
type sample struct {
	intendedNS, eligibleNS, dispatchNS int64
	// firstNS, visibleNS and lastNS are the times of the first payload, the first without reasoning and the last; absent
	// for a failed request.
	firstNS, visibleNS, lastNS int64
	// endNS is the time of the last event of the request.
	endNS  int64
	tpotNS int64
	// tokensIn and tokensOut are absent where no count exists.
	tokensIn, tokensOut int64
	// leavingNS is the time that the request may have taken to leave the client; absent if its write was not stamped.
	// The others are how much earlier the first, first visible and last payload may have come.
	leavingNS, firstEarlyNS, visibleEarlyNS, lastEarlyNS int64
	ok                                                   bool
}

// absent marks a moment or an amount that is missing. Both count from 0 up.
const absent = int64(-1) << 62

// newSample converts the record of a request that was sent. An answer that was not streamed has a last payload only:
// its arrival is not a first token.
func newSample(r openai.Record, streaming bool, early []int64) sample {
	s := sample{
		intendedNS: r.IntendedNS, eligibleNS: moment(r.EligibleNS), dispatchNS: *r.DispatchNS, endNS: lastMoment(r),
		firstNS: absent, visibleNS: absent, lastNS: absent, tpotNS: absent, tokensIn: absent, tokensOut: absent,
		ok: r.Status == openai.StatusOK,
	}
	if !s.ok {
		return s
	}
	s.tokensIn, s.tokensOut = count(r.TokensIn), count(r.TokensOut)
	if s.leavingNS = absent; r.WrittenNS != nil {
		s.leavingNS = max(0, *r.WrittenNS-*r.DispatchNS-r.ConnectionNS)
	}
	if n := len(early); n > 0 {
		s.firstEarlyNS, s.lastEarlyNS = early[0], early[n-1]
		if i := r.FirstVisible(); i >= 0 && i < n {
			s.visibleEarlyNS = early[i]
		}
	}
	if d, ok := r.E2E(openai.FromSend); ok {
		s.lastNS = *r.DispatchNS + d.Nanoseconds()
	}
	if !streaming {
		return s
	}
	s.firstNS, s.visibleNS = moment(r.FirstTokenNS), moment(r.FirstVisibleNS)
	if d, ok := r.TPOT(); ok {
		s.tpotNS = d.Nanoseconds()
	}
	return s
}

func moment(ns *int64) int64 {
	if ns == nil {
		return absent
	}
	return *ns
}

func count(tokens *int) int64 {
	if tokens == nil {
		return absent
	}
	return int64(*tokens)
}

// TTFT returns the quantity time to first token, E2E the duration of a request, by the definitions of openai.Record.
func TTFT(from openai.Origin) Quantity {
	return func(s sample) int64 { return since(s.start(from), s.firstNS) }
}

func ttfo(from openai.Origin) Quantity {
	return func(s sample) int64 { return since(s.start(from), s.visibleNS) }
}

func E2E(from openai.Origin) Quantity {
	return func(s sample) int64 { return since(s.start(from), s.lastNS) }
}

func tpot(s sample) int64       { return s.tpotNS }
func queueDelay(s sample) int64 { return since(s.intendedNS, s.eligibleNS) }
func clientLag(s sample) int64  { return since(s.eligibleNS, s.dispatchNS) }
func tokensIn(s sample) int64   { return s.tokensIn }
func tokensOut(s sample) int64  { return s.tokensOut }

func (s sample) start(from openai.Origin) int64 {
	if from == openai.FromIntended {
		return s.intendedNS
	}
	return s.dispatchNS
}

func since(start, end int64) int64 {
	if start == absent || end == absent {
		return absent
	}
	return end - start
}

// blockSamples is the number of samples that are allocated at once: a growing slice would be copied, and up to twice as
// large as its contents.
const blockSamples = 4096

// samples is a list of samples that grows and joins without copying.
type samples struct{ blocks [][]sample }

func (l *samples) add(s sample) {
	if n := len(l.blocks); n == 0 || len(l.blocks[n-1]) == cap(l.blocks[n-1]) {
		l.blocks = append(l.blocks, make([]sample, 0, min(blockSamples, 16<<min(len(l.blocks), 8))))
	}
	last := &l.blocks[len(l.blocks)-1]
	*last = append(*last, s)
}

// join appends the samples of the other list; neither may be added to afterwards.
func (l *samples) join(o samples) { l.blocks = append(l.blocks, o.blocks...) }

func (l samples) all() iter.Seq[sample] {
	return func(yield func(sample) bool) {
		for _, block := range l.blocks {
			for _, s := range block {
				if !yield(s) {
					return
				}
			}
		}
	}
}

func (l samples) len() int {
	n := 0
	for _, block := range l.blocks {
		n += len(block)
	}
	return n
}

// values returns a figure of all requests that ended ok and have it.
func (l samples) values(of Quantity) []int64 {
	values := make([]int64, 0, l.len())
	for s := range l.all() {
		if v := of(s); s.ok && v != absent {
			values = append(values, v)
		}
	}
	return values
}

// latency describes the latencies of requests.
func (l samples) latency() Latency {
	both := func(of func(openai.Origin) bounded) *Clocks {
		c := Clocks{l.describe(of(openai.FromSend)), l.describe(of(openai.FromIntended))}
		if c == (Clocks{}) {
			return nil
		}
		return &c
	}
	return Latency{
		TTFT: both(boundedTTFT()), TTFO: both(boundedTTFO()), E2E: both(boundedE2E()), TPOT: sendOnly(l.describe(boundedTPOT())),
		QueueDelay: l.distribution(queueDelay, 1e9), ClientLag: l.distribution(clientLag, 1e9),
	}
}

func (l samples) distribution(of Quantity, perUnit float64) *Distribution {
	return newDistribution(l.values(of), perUnit)
}
