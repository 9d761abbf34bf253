package report

import (
	"github.com/umascope/umascope/loadgen/chat"
)

// aggregate collects the records of one phase. Values of a request are kept exactly, eight
// bytes each; values of a chunk go into pools.
type aggregate struct {
	settings *settings

	requests map[chat.Status]int
	sent     int
	good     int
	firstNS  int64 // first dispatch
	lastNS   int64 // last end
	spanNS   int64 // time that throughput is counted over, of merged aggregates

	ttft, ttfo, e2e     [2][]int64 // by chat.Origin
	tpot, queue, lag    []int64
	chunkGap, itl       pool
	sameRead            int
	tokensIn, tokensOut []int64

	buffered, bufferable int // requests that arrived in one read, of those that need not have
	stalled              int // requests that overlap with a stall
}

// settings are what records are judged by.
type settings struct {
	slo       SLO
	streaming bool
	stalls    []Stall
}

func newAggregate(s *settings) *aggregate {
	a := &aggregate{settings: s, requests: map[chat.Status]int{}}
	for _, status := range chat.Statuses() {
		a.requests[status] = 0
	}
	return a
}

// add takes a record in.
func (a *aggregate) add(r chat.Record) {
	a.requests[r.Status]++
	if r.DispatchNS == nil {
		return // a backlog that was given up: it counts as what it is, and was never in flight
	}
	end := lastMoment(r)
	if a.sent == 0 || *r.DispatchNS < a.firstNS {
		a.firstNS = *r.DispatchNS
	}
	if a.sent == 0 || end > a.lastNS {
		a.lastNS = end
	}
	a.sent++
	if a.settings.slo.good(r) {
		a.good++
	}
	if touches(a.settings.stalls, *r.DispatchNS, end) {
		a.stalled++
	}
	if r.Status == chat.StatusOK {
		a.addLatencies(r)
		a.addTokens(r)
		a.addArrivals(r)
	}
}

// lastMoment is the latest thing that happened to a request that was sent.
func lastMoment(r chat.Record) int64 {
	last := *r.DispatchNS
	for _, event := range []*int64{r.WrittenNS, r.HeadersNS, r.FirstEventNS, r.EndNS} {
		if event != nil {
			last = max(last, *event)
		}
	}
	return last
}

func touches(stalls []Stall, fromNS, toNS int64) bool {
	for _, stall := range stalls {
		if stall.FromNS < toNS && stall.ToNS > fromNS {
			return true
		}
	}
	return false
}

func (a *aggregate) addLatencies(r chat.Record) {
	if d, ok := r.QueueDelay(); ok {
		a.queue = append(a.queue, d.Nanoseconds())
	}
	if d, ok := r.ClientLag(); ok {
		a.lag = append(a.lag, d.Nanoseconds())
	}
	for _, from := range []chat.Origin{chat.FromSend, chat.FromIntended} {
		if d, ok := r.E2E(from); ok {
			a.e2e[from] = append(a.e2e[from], d.Nanoseconds())
		}
		if !a.settings.streaming {
			continue
		}
		if d, ok := r.TTFT(from); ok {
			a.ttft[from] = append(a.ttft[from], d.Nanoseconds())
		}
		if d, ok := r.TTFO(from); ok {
			a.ttfo[from] = append(a.ttfo[from], d.Nanoseconds())
		}
	}
	if d, ok := r.TPOT(); ok && a.settings.streaming {
		a.tpot = append(a.tpot, d.Nanoseconds())
	}
}

func (a *aggregate) addTokens(r chat.Record) {
	if r.TokensIn != nil {
		a.tokensIn = append(a.tokensIn, int64(*r.TokensIn))
	}
	if r.TokensOut != nil {
		a.tokensOut = append(a.tokensOut, int64(*r.TokensOut))
	}
}

func (a *aggregate) addArrivals(r chat.Record) {
	if !a.settings.streaming {
		return
	}
	for gap := range r.ChunkGaps() {
		a.chunkGap.add(gap.Nanoseconds(), 1)
	}
	for latency, tokens := range r.ITL() {
		a.itl.add(latency.Nanoseconds(), int64(tokens))
	}
	a.sameRead += r.SameReadChunks()
	if one, known := inOneRead(r); known {
		a.bufferable++
		if one {
			a.buffered++
		}
	}
}

// streamedTokens is from how many tokens on an answer can be expected to arrive in more than
// one piece.
const streamedTokens = 8

// inOneRead says whether the whole answer came in one network read. It is not known of answers
// that are too short to tell, and without read ids.
func inOneRead(r chat.Record) (one, known bool) {
	tokens := len(r.ArrivalsNS)
	if r.TokensOut != nil {
		tokens = max(tokens, *r.TokensOut)
	}
	if tokens < streamedTokens || len(r.ReadIDs) == 0 {
		return false, false
	}
	return r.ReadIDs[0] == r.ReadIDs[len(r.ReadIDs)-1], true
}

// merged adds up phases.
func merged(s *settings, parts []*aggregate) *aggregate {
	if len(parts) == 1 {
		return parts[0]
	}
	sum := newAggregate(s)
	for _, part := range parts {
		sum.merge(part)
	}
	return sum
}

func (a *aggregate) merge(o *aggregate) {
	for status, n := range o.requests {
		a.requests[status] += n
	}
	a.sent += o.sent
	a.good += o.good
	a.spanNS += o.duration()
	for from := range a.ttft {
		a.ttft[from] = append(a.ttft[from], o.ttft[from]...)
		a.ttfo[from] = append(a.ttfo[from], o.ttfo[from]...)
		a.e2e[from] = append(a.e2e[from], o.e2e[from]...)
	}
	a.tpot = append(a.tpot, o.tpot...)
	a.queue = append(a.queue, o.queue...)
	a.lag = append(a.lag, o.lag...)
	a.chunkGap.merge(&o.chunkGap)
	a.itl.merge(&o.itl)
	a.sameRead += o.sameRead
	a.tokensIn = append(a.tokensIn, o.tokensIn...)
	a.tokensOut = append(a.tokensOut, o.tokensOut...)
	a.buffered += o.buffered
	a.bufferable += o.bufferable
	a.stalled += o.stalled
}

func (a *aggregate) total() int {
	total := 0
	for _, n := range a.requests {
		total += n
	}
	return total
}

func (a *aggregate) failed() int { return a.total() - a.requests[chat.StatusOK] }

// duration is the time that throughput is counted over, in nanoseconds.
func (a *aggregate) duration() int64 {
	if a.spanNS > 0 {
		return a.spanNS
	}
	return a.lastNS - a.firstNS
}

// perSecond is an amount over the duration; nil without one.
func (a *aggregate) perSecond(amount float64) *float64 {
	if a.duration() <= 0 {
		return nil
	}
	rate := amount / seconds(a.duration())
	return &rate
}

func (a *aggregate) throughput() Throughput {
	t := Throughput{RequestsPerSecond: a.perSecond(float64(a.requests[chat.StatusOK]))}
	if a.duration() > 0 {
		duration := seconds(a.duration())
		t.DurationSeconds = &duration
	}
	t.InputTokensPerSecond = a.tokensPerSecond(a.tokensIn)
	t.OutputTokensPerSecond = a.tokensPerSecond(a.tokensOut)
	return t
}

// tokensPerSecond is absent when a request has no count: the sum of the others would be less
// than what was served.
func (a *aggregate) tokensPerSecond(counts []int64) *float64 {
	if len(counts) == 0 || len(counts) < a.requests[chat.StatusOK] {
		return nil
	}
	return a.perSecond(float64(sum(counts)))
}

func sum(values []int64) int64 {
	var total int64
	for _, v := range values {
		total += v
	}
	return total
}

func (a *aggregate) latency() Latency {
	l := Latency{
		TTFT: clocks(a.ttft), TTFO: clocks(a.ttfo), E2E: clocks(a.e2e),
		TPOT: sendOnly(newDistribution(a.tpot, 1e9)), ITL: sendOnly(a.itl.distribution()),
		QueueDelay: newDistribution(a.queue, 1e9), ClientLag: newDistribution(a.lag, 1e9),
	}
	if gaps := a.chunkGap.distribution(); gaps != nil || a.sameRead > 0 {
		l.ChunkGap = &ChunkGap{gaps, a.sameRead}
	}
	return l
}

func clocks(values [2][]int64) *Clocks {
	c := Clocks{newDistribution(values[chat.FromSend], 1e9), newDistribution(values[chat.FromIntended], 1e9)}
	if c == (Clocks{}) {
		return nil
	}
	return &c
}

func sendOnly(d *Distribution) *Clocks {
	if d == nil {
		return nil
	}
	return &Clocks{Send: d}
}
