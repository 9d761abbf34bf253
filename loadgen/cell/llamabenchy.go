package cell

import (
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
)

// LlamaBenchy has the figures of a row by the definitions of llama-benchy 0.4.0 (llama_benchy/results.py, client.py), in
// its units: tokens per second and milliseconds. A figure without a value is nil.
//
// One request at a time has one value a request; several have one value a batch, and those that end in Each one a
// request. What llama-benchy never counts is not counted: failed requests, and tokens at the first token's moment.
type LlamaBenchy struct {
	Prefill, PrefillEach *Metric // pp_throughput, pp_req_throughput
	Decode, DecodeEach   *Metric // tg_throughput, tg_req_throughput
	Peak, PeakEach       *Metric // peak_throughput, peak_req_throughput
	FirstEvent           *Metric // ttfr, ms
	PrefillTime          *Metric // est_ppt, ms
	TTFT                 *Metric // e2e_ttft, ms
}

// Metric is a figure with its single values. SD divides by n.
type Metric struct {
	Mean, SD float64
	Values   []float64
}

// newMetric returns nil without a value.
func newMetric(values []float64) *Metric {
	if len(values) == 0 {
		return nil
	}
	n := float64(len(values))
	m := &Metric{Values: values}
	for _, v := range values {
		m.Mean += v
	}
	m.Mean /= n
	squares := 0.0
	for _, v := range values {
		squares += (v - m.Mean) * (v - m.Mean)
	}
	m.SD = math.Sqrt(squares / n)
	return m
}

// customary collects the values of a row.
type customary struct {
	prefill, decode, peak             []float64 // of batches
	prefillEach, decodeEach, peakEach []float64 // of requests
	firstEvent, prefillTime, ttft     []float64
}

// LlamaBenchy computes the figures from the requests. For a row without requests it returns those of its tool.
func (r Row) LlamaBenchy() LlamaBenchy {
	if r.Reported != nil {
		return *r.Reported
	}
	var c customary
	latency := nanoseconds(r.LatencySeconds)
	for _, batch := range r.Batches {
		c.add(batch, r.prompt(), latency)
	}
	f := LlamaBenchy{
		PrefillEach: newMetric(c.prefillEach), DecodeEach: newMetric(c.decodeEach), Peak: newMetric(c.peak), PeakEach: newMetric(c.peakEach),
		FirstEvent: newMetric(c.firstEvent), PrefillTime: newMetric(c.prefillTime), TTFT: newMetric(c.ttft),
	}
	f.Prefill, f.Decode = newMetric(c.prefill), newMetric(c.decode)
	if r.Concurrency == 1 {
		f.Prefill, f.Decode = f.PrefillEach, f.DecodeEach
	}
	return f
}

// add adds a batch; expected is how many prompt tokens a request should have.
func (c *customary) add(batch []openai.Record, expected int, latency int64) {
	firstSent, firstToken, lastFirstToken, lastToken := int64(math.MaxInt64), math.Inf(1), math.Inf(-1), math.Inf(-1)
	prompts, later := 0, 0
	var all []float64
	for _, r := range batch {
		if r.DispatchNS == nil || r.EndNS == nil || r.Status == openai.StatusHTTP {
			continue // an error is in llama-benchy what raises: a status, a lost connection
		}
		firstSent = min(firstSent, *r.DispatchNS)
		tokens, total := tokenTimes(r)
		all = append(all, tokens...)
		last := seconds(*r.EndNS)
		if len(tokens) > 0 {
			c.peakEach = append(c.peakEach, peak(tokens))
			last = tokens[len(tokens)-1]
		}
		lastToken = max(lastToken, last)
		prompt := benchyPrompt(r, expected)
		prompts += prompt
		c.request(r, prompt, latency)
		if first := firstContent(r); first != nil {
			firstToken, lastFirstToken = min(firstToken, seconds(*first)), max(lastFirstToken, seconds(*first))
		}
		n := afterFirst(tokens)
		later += n
		if total > 1 && n > 0 {
			c.decodeEach = append(c.decodeEach, float64(n)/(tokens[len(tokens)-1]-tokens[0]))
		}
	}
	if len(all) > 0 {
		c.peak = append(c.peak, peak(all))
	}
	if math.IsInf(firstToken, 1) {
		return
	}
	if took := lastFirstToken - seconds(firstSent); took > 0 {
		c.prefill = append(c.prefill, float64(prompts)/took)
	}
	if took := lastToken - firstToken; took > 0 && later > 0 {
		c.decode = append(c.decode, float64(later)/took)
	}
}

// benchyPrompt returns the prompt tokens that llama-benchy counts: the server's, if they are within a fifth of those
// expected.
func benchyPrompt(r openai.Record, expected int) int {
	if r.TokensIn != nil && *r.TokensIn > 0 && math.Abs(float64(*r.TokensIn-expected)) < .2*float64(expected) {
		return *r.TokensIn
	}
	return expected
}

// request adds the times of a request until its first token.
func (c *customary) request(r openai.Record, prompt int, latency int64) {
	first, token := firstChoice(r), firstContent(r)
	wait := int64(0)
	if first != nil {
		wait = *first - *r.DispatchNS
		c.firstEvent = append(c.firstEvent, milliseconds(wait))
	}
	if token == nil {
		return
	}
	c.ttft = append(c.ttft, milliseconds(*token-*r.DispatchNS))
	estimate := max(0, wait-latency)
	c.prefillTime = append(c.prefillTime, milliseconds(estimate))
	if estimate > 0 { // left out silently otherwise
		c.prefillEach = append(c.prefillEach, float64(prompt)/seconds(estimate))
	}
}

// milliseconds converts nanoseconds; the result has the same digits.
func milliseconds(ns int64) float64 { return float64(ns) / 1e6 }

// firstChoice returns the moment of the first event with a choice: a role is one. A comment and a usage are none; the
// event after them is not in the record, and the first token takes its place.
func firstChoice(r openai.Record) *int64 {
	switch r.FirstEventType {
	case "role", "payload", "empty":
		return r.FirstEventNS
	}
	return firstContent(r)
}

// firstContent returns the moment of the first event with text or reasoning: a tool call is none for llama-benchy.
func firstContent(r openai.Record) *int64 {
	if chunks := contents(r); len(chunks) > 0 {
		return &chunks[0].at
	}
	return nil
}

// content is an event with text.
type content struct {
	at     int64
	tokens int // by the ids in it
}

// contents returns the events with text or reasoning.
func contents(r openai.Record) []content {
	var all []content
	counted, kinds := idsByArrival(r), len(r.ArrivalKinds) == len(r.ArrivalsNS)
	for i, at := range arrivals(r) {
		if kinds && r.ArrivalKinds[i] != 't' && r.ArrivalKinds[i] != 'r' {
			continue
		}
		c := content{at: at}
		if counted {
			c.tokens = r.ArrivalTokens[i] - silent(r, i)
		}
		all = append(all, c)
	}
	return all
}

// tokenTimes returns the moments that llama-benchy gives the tokens of an answer, in seconds, and how many it counts:
// with the ids of tokens those of an event are spread evenly since the event before, those of the first are all at its
// moment, and those of events without text are lost; otherwise the tokens of the answer are spread evenly from the first event to the last; without a count each
// event is a token.
func tokenTimes(r openai.Record) (times []float64, total int) {
	chunks := contents(r)
	if len(chunks) == 0 {
		if r.TokensOut != nil {
			total = *r.TokensOut
		}
		return nil, total
	}
	switch {
	case idsByArrival(r):
		for _, c := range chunks {
			times = spread(times, seconds(c.at), c.tokens)
		}
		return times, len(times)
	case r.TokensOut == nil || r.TokensSource == openai.TokensFromChunks:
		for _, c := range chunks {
			times = append(times, seconds(c.at))
		}
		return times, len(times)
	}
	return interpolated(seconds(chunks[0].at), seconds(chunks[len(chunks)-1].at), *r.TokensOut), *r.TokensOut
}

// spread adds the tokens of an event.
func spread(times []float64, at float64, n int) []float64 {
	if n == 1 {
		return append(times, at)
	}
	before := at // of the first event
	if len(times) > 0 {
		before = times[len(times)-1]
	}
	for i := range n {
		times = append(times, before+(at-before)*float64(i+1)/float64(n))
	}
	return times
}

// interpolated spreads n tokens from the first event to the last.
func interpolated(first, last float64, n int) []float64 {
	times := make([]float64, 0, n)
	for i := range n {
		at := first
		if n > 1 && last > first {
			at += (last - first) / float64(n-1) * float64(i)
		}
		times = append(times, at)
	}
	return times
}

// afterFirst counts the tokens that came after the first token's moment.
func afterFirst(times []float64) int {
	n := 0
	for _, at := range times {
		if at > times[0] {
			n++
		}
	}
	return n
}

// peak returns the most tokens in a window of a second; over less than a second the tokens over the time.
func peak(times []float64) float64 {
	const window = 1
	times = slices.Sorted(slices.Values(times))
	if took := times[len(times)-1] - times[0]; took > 0 && took < window {
		return float64(len(times)) / took
	}
	most, first := 0, 0
	for i, at := range times {
		for first < i && times[first] <= at-window {
			first++
		}
		most = max(most, i-first+1)
	}
	return float64(most) / window
}
