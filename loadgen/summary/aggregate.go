package summary

import (
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// aggregate collects the records of one phase. It keeps the values of each request exactly; values of chunks go into
// pools.
type aggregate struct {
	settings *settings

	requests map[openai.Status]int
	good     int
	// perhaps and surely are the requests that may be good, and those that are, whatever the client's delays.
	perhaps, surely int
	firstNS         int64 // first dispatch
	lastNS          int64 // last end
	spanNS          int64 // time that throughput is divided by, for merged aggregates

	sent          samples
	unsentNS      []int64 // intended starts of requests that were given up before they were sent
	chunkGap, itl boundedPool
	zeros         []int64 // of exact
	sameRead      int

	buffered, bufferable int // requests that arrived in one read, of the long enough ones that could have taken several
	delayed              int // requests with an arrival that the client delayed beyond the limit
	longestDelay         int64
	prefix               prefixTokens
	drafts               draftTokens
	empty                int            // answers that ended ok without a payload
	guessed              int            // answers whose tokens are counted as chunks
	contradicted         int            // answers with more payload chunks than tokens by the server's count
	unbelieved           errorCounts    // why the counts of answers were not believed
	unknown              map[string]int // answers with text under members that no known API has, by the members' names
	resent               int            // requests resent because the server had closed the connection
	errors               errorCounts
}

// settings are the parameters that apply to every record.
type settings struct {
	slo       SLO
	streaming bool
	stalls    []rundir.Stall
	byRank    map[int][]rundir.Stall // of stallsOf
	stamped   bool                   // arrivals are the kernel's stamps
	// unnoticedNS is the longest time that the client may have stood still without a stall.
	unnoticedNS int64
	// longestDelay is the limit of client_stall: the longest delay of an arrival by the client, in seconds.
	longestDelay float64
	// commonTokens is the number of leading tokens that prompts of different runs share.
	commonTokens int
}

func newAggregate(s *settings) *aggregate {
	a := &aggregate{settings: s, requests: map[openai.Status]int{}, errors: errorCounts{}, unbelieved: errorCounts{}, unknown: map[string]int{}}
	for _, status := range openai.Statuses() {
		a.requests[status] = 0
	}
	return a
}

// add adds a record.
func (a *aggregate) add(r openai.Record) {
	a.requests[r.Status]++
	a.errors.add(r)
	if r.DispatchNS == nil {
		a.unsent(r)
		return // a request given up in a backlog: its status is counted, and it was never in flight
	}
	early := a.settings.early(r)
	s := newSample(r, a.settings.streaming, early)
	first := len(a.sent.blocks) == 0
	if first || s.dispatchNS < a.firstNS {
		a.firstNS = s.dispatchNS
	}
	if first || s.endNS > a.lastNS {
		a.lastNS = s.endNS
	}
	a.sent.add(s)
	a.addGood(r, s)
	delay := int64(0)
	if len(early) > 0 {
		delay = slices.Max(early)
	}
	a.longestDelay = max(a.longestDelay, delay)
	if seconds(delay) > a.settings.longestDelay {
		a.delayed++
	}
	if r.StaleConnections > 0 {
		a.resent++
	}
	if s.ok {
		a.addArrivals(r, early)
		a.prefix.add(r, a.settings.commonTokens)
		a.drafts.add(r)
	}
	if s.ok && len(r.ArrivalsNS) == 0 {
		a.empty++
	}
	if s.ok && r.TokensSource == openai.TokensFromChunks {
		a.guessed++
	}
	if s.ok && r.CountContradicted() {
		a.contradicted++
	}
	if s.ok {
		a.addDoubts(r)
	}
}

// addDoubts counts what the client had to decide about an answer.
func (a *aggregate) addDoubts(r openai.Record) {
	if r.UsageFault != "" {
		a.unbelieved.count(errorCount{openai.Printable(r.UsageFault, shownErrorBytes), 1})
	}
	for _, name := range r.UnknownMembers {
		if _, known := a.unknown[name]; known || len(a.unknown) < mostErrors {
			a.unknown[name]++
		}
	}
}

// lastMoment returns the time of the last event of a request that was sent: until then it was in flight.
func lastMoment(r openai.Record) int64 {
	last := *r.DispatchNS
	for _, event := range []*int64{r.WrittenNS, r.HeadersNS, r.FirstEventNS, r.EndNS, r.BrokenOffNS} {
		if event != nil {
			last = max(last, *event)
		}
	}
	return last
}

func (a *aggregate) addArrivals(r openai.Record, early []int64) {
	if !a.settings.streaming {
		return
	}
	if early == nil {
		early = a.exact(len(r.ArrivalsNS))
	}
	r.BoundedChunkGaps(early, a.chunkGap.addGap)
	r.BoundedITL(early, a.itl.addGap)
	a.sameRead += r.SameReadChunks()
	if one, known := inOneRead(r); known {
		a.bufferable++
		if one {
			a.buffered++
		}
	}
}

// streamedTokens is the number of tokens from which on an answer can be expected to arrive in more than one piece.
const streamedTokens = 8

// exact returns no doubt for so many chunks.
func (a *aggregate) exact(chunks int) []int64 {
	if len(a.zeros) < chunks {
		a.zeros = make([]int64, 2*chunks)
	}
	return a.zeros[:chunks]
}

// inOneRead reports whether the whole answer came in one network read. It is unknown for short answers, and without
// read ids.
func inOneRead(r openai.Record) (one, known bool) {
	tokens := len(r.ArrivalsNS)
	if r.TokensOut != nil {
		tokens = max(tokens, *r.TokensOut)
	}
	if tokens < streamedTokens || len(r.ReadIDs) == 0 {
		return false, false
	}
	return r.ReadIDs[0] == r.ReadIDs[len(r.ReadIDs)-1], true
}

// merged combines the aggregates of phases.
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
	a.good += o.good
	a.perhaps += o.perhaps
	a.surely += o.surely
	a.spanNS += o.duration()
	a.sent.join(o.sent)
	a.unsentNS = append(a.unsentNS, o.unsentNS...)
	a.chunkGap.join(&o.chunkGap)
	a.itl.join(&o.itl)
	a.sameRead += o.sameRead
	a.buffered += o.buffered
	a.bufferable += o.bufferable
	a.delayed += o.delayed
	a.longestDelay = max(a.longestDelay, o.longestDelay)
	a.prefix.merge(o.prefix)
	a.drafts.merge(o.drafts)
	a.empty += o.empty
	a.guessed += o.guessed
	a.contradicted += o.contradicted
	a.unbelieved.merge(o.unbelieved)
	for name, n := range o.unknown {
		a.unknown[name] += n
	}
	a.errors.merge(o.errors)
	a.resent += o.resent
}

func (a *aggregate) total() int {
	total := 0
	for _, n := range a.requests {
		total += n
	}
	return total
}

func (a *aggregate) failed() int { return Failed(a.requests) }

// Failed returns the number of requests that did not end ok.
func Failed(requests map[openai.Status]int) int {
	failed := 0
	for status, n := range requests {
		if status != openai.StatusOK {
			failed += n
		}
	}
	return failed
}

// FailedRatio returns the share of requests that did not end ok; nil without requests.
func FailedRatio(requests map[openai.Status]int) *float64 {
	failed := Failed(requests)
	all := failed + requests[openai.StatusOK]
	if all == 0 {
		return nil
	}
	return new(float64(failed) / float64(all))
}

// duration returns the time that throughput is divided by, in nanoseconds.
func (a *aggregate) duration() int64 {
	if a.spanNS > 0 {
		return a.spanNS
	}
	return a.lastNS - a.firstNS
}

// perSecond returns an amount divided by the duration; nil without a duration.
func (a *aggregate) perSecond(amount float64) *float64 { return rate(amount, a.duration()) }

// rate returns an amount per second for a time in nanoseconds; nil if the time is 0.
func rate(amount float64, ns int64) *float64 {
	if ns <= 0 {
		return nil
	}
	r := amount / seconds(ns)
	return &r
}

func (a *aggregate) throughput() Throughput {
	t := Throughput{RequestsPerSecond: a.perSecond(float64(a.requests[openai.StatusOK]))}
	if a.duration() > 0 {
		duration := seconds(a.duration())
		t.DurationSeconds = &duration
	}
	t.InputTokensPerSecond = a.tokensPerSecond(tokensIn)
	t.OutputTokensPerSecond = a.tokensPerSecond(tokensOut)
	return t
}

// tokensPerSecond is absent when a request has no count: the sum of the others would be less than what was served.
func (a *aggregate) tokensPerSecond(of Quantity) *float64 {
	counts := a.sent.values(of)
	if len(counts) == 0 || len(counts) < a.requests[openai.StatusOK] {
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
	l := a.sent.latency()
	l.ITL = sendOnly(a.itl.describe())
	if gaps := a.chunkGap.describe(); gaps != nil || a.sameRead > 0 {
		l.ChunkGap = &ChunkGap{gaps, a.sameRead}
	}
	return l
}

func (a *aggregate) tokens() Tokens {
	return Tokens{Input: a.sent.distribution(tokensIn, 1), Output: a.sent.distribution(tokensOut, 1)}
}

func sendOnly(d *Distribution) *Clocks {
	if d == nil {
		return nil
	}
	return &Clocks{Send: d}
}
