package cell

import (
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/stats"
)

// Measured has the figures of a row by the tokens that the server computed and by the time in which all requests
// decode, of requests that ended ok. A figure that cannot be measured is nil.
type Measured struct {
	// Prefill is the computed prompt tokens per second: of one request at a time over its time to first token, of several
	// over the time from the first dispatch to the last first token.
	Prefill *Estimate
	// Decode is the output tokens per second while all requests of the batch decode, DecodeEach that of one request from
	// its first token to its last.
	Decode, DecodeEach *Estimate
	// TTFT is the time to first token from send, of single requests.
	TTFT *Range
	// Computed is the mean of computed prompt tokens of a request; nil where the server does not say how many it found
	// in its cache.
	Computed *float64
}

// Estimate is a figure over batches. Requests of one batch are not independent of each other, so they count as one.
type Estimate struct {
	N    int
	Mean float64
	// SD is that of the sample and Interval that of the mean at 95 %, by Student's t; nil for one batch.
	SD       *float64
	Interval *stats.Interval
}

// Range is the spread of a figure of single requests.
type Range struct {
	N              int
	Mean, Min, Max float64
}

const level = .95

// estimate returns nil without a value.
func estimate(values []float64) *Estimate {
	d, err := stats.Describe(values)
	if err != nil {
		return nil
	}
	e := &Estimate{N: d.N, Mean: d.Mean, SD: d.SD}
	if interval, err := stats.MeanInterval(values, level); err == nil {
		e.Interval = &interval
	}
	return e
}

// Measured computes the figures from the requests; all are absent for a row without any.
func (r Row) Measured() Measured {
	var prefill, decode, each, waits, computed []float64
	for _, batch := range r.Batches {
		ok := answered(batch)
		for _, request := range ok {
			waits = append(waits, seconds(*request.FirstTokenNS-*request.DispatchNS))
			if n, known := r.computed(request); known {
				computed = append(computed, float64(n))
			}
		}
		keep(&prefill, r.prefillRate(ok))
		keep(&each, meanOf(ok, decodeRate))
		keep(&decode, together(ok))
	}
	m := Measured{Prefill: estimate(prefill), Decode: estimate(decode), DecodeEach: estimate(each)}
	if r.Concurrency == 1 {
		m.Decode = m.DecodeEach
	}
	if d, err := stats.Describe(waits); err == nil {
		m.TTFT = &Range{N: d.N, Mean: d.Mean, Min: d.Min, Max: d.Max}
	}
	if d, err := stats.Describe(computed); err == nil && len(computed) == len(waits) {
		m.Computed = &d.Mean
	}
	return m
}

// keep appends a value unless it is absent.
func keep(values *[]float64, v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		*values = append(*values, v)
	}
}

// computed returns the prompt tokens of a request that the server did not find in its cache. A row that no prefix was
// sent ahead of has none there, unless the server says so.
func (r Row) computed(request openai.Record) (tokens int, known bool) {
	switch {
	case request.TokensIn == nil || request.TokensCached == nil && r.Cached:
		return 0, false
	case request.TokensCached == nil:
		return *request.TokensIn, true
	}
	return max(0, *request.TokensIn-*request.TokensCached), true
}

// prefillRate returns the computed prompt tokens of a batch per second until its last first token; NaN if it cannot be
// known.
func (r Row) prefillRate(ok []openai.Record) float64 {
	sent, last, tokens := int64(math.MaxInt64), int64(math.MinInt64), 0
	for _, request := range ok {
		n, known := r.computed(request)
		if !known {
			return math.NaN()
		}
		tokens += n
		sent, last = min(sent, *request.DispatchNS), max(last, *request.FirstTokenNS)
	}
	if len(ok) == 0 {
		return math.NaN()
	}
	return float64(tokens) / seconds(last-sent)
}

// meanOf returns the mean of a figure of requests, of those that have it; NaN if none has.
func meanOf(requests []openai.Record, figure func(openai.Record) float64) float64 {
	var values []float64
	for _, r := range requests {
		keep(&values, figure(r))
	}
	d, err := stats.Describe(values)
	if err != nil {
		return math.NaN()
	}
	return d.Mean
}

// decodeRate returns the output tokens of a request per second after its first arrival; NaN if it cannot be known.
func decodeRate(r openai.Record) float64 {
	s := streamOf(r)
	return s.rate(s.first(), s.last())
}

// together returns the output tokens per second while all requests decode: from the last first token to the first
// last one. Each request counts from its first arrival in that time to its last one, so that the rate does not depend
// on where in a step the time begins. It is NaN if they never decode together.
func together(ok []openai.Record) float64 {
	from, to := int64(math.MinInt64), int64(math.MaxInt64)
	streams := make([]stream, 0, len(ok))
	for _, r := range ok {
		s := streamOf(r)
		streams = append(streams, s)
		from, to = max(from, s.first()), min(to, s.last())
	}
	if len(streams) == 0 {
		return math.NaN()
	}
	total := 0.0
	for _, s := range streams {
		total += s.rate(from, to)
	}
	return total
}

// stream is the arrivals of an answer, those of one network read as one.
type stream struct {
	at     []int64
	tokens []float64
}

// streamOf returns the arrivals of an answer with its tokens. If the server does not count those of each, all have
// the same share of the answer's; a count below the arrivals is of something else, and no token is known.
func streamOf(r openai.Record) stream {
	var s stream
	read, counted, share := len(r.ReadIDs) == len(r.ArrivalsNS), tokensByArrival(r), 1.
	switch {
	case counted:
	case r.CountContradicted():
		share = 0
	case r.TokensOut != nil:
		share = float64(*r.TokensOut) / float64(len(r.ArrivalsNS))
	}
	for i, at := range arrivals(r) {
		tokens := share
		if counted {
			tokens = float64(r.ArrivalTokens[i])
		}
		if n := len(s.at); n > 0 && (s.at[n-1] == at || read && r.ReadIDs[i] == r.ReadIDs[i-1]) {
			s.tokens[n-1] += tokens
			continue
		}
		s.at, s.tokens = append(s.at, at), append(s.tokens, tokens)
	}
	return s
}

func (s stream) first() int64 { return s.at[0] }
func (s stream) last() int64  { return s.at[len(s.at)-1] }

// rate returns the tokens per second from the first arrival in a time to the last one; NaN if there are not two.
func (s stream) rate(from, to int64) float64 {
	first, last, tokens := -1, -1, 0.0
	for i, at := range s.at {
		switch {
		case at < from || at > to:
		case first < 0:
			first, last = i, i
		default:
			last = i
			tokens += s.tokens[i]
		}
	}
	if last <= first || tokens == 0 {
		return math.NaN()
	}
	return tokens / seconds(s.at[last]-s.at[first])
}

// Line is the time to first token as a line over the computed prompt tokens, of one request at a time.
type Line struct {
	// TokensPerSecond is the inverse of the slope; InterceptSeconds is the time that a prompt takes whatever its length:
	// network, scheduling and the first step of decoding.
	TokensPerSecond, InterceptSeconds float64
	Requests                          int
}

// String returns the line as a sentence. A constant below 0 is an error of the fit, and left out.
func (l Line) String() string {
	grows := "grows by"
	if constant := math.Round(l.InterceptSeconds*1e4) / 1e4; constant >= 0 {
		grows = "is " + format.Seconds(constant) + " and"
	}
	return fmt.Sprintf("TTFT of one request at a time %s 1 s for every %s computed tokens (%d requests).", grows, format.Digits(l.TokensPerSecond), l.Requests)
}

// PrefillLine fits the line by least squares over the requests of all cells with one request at a time whose whole prompt was computed:
// behind a depth a token takes longer. It needs lengths that differ by half.
func PrefillLine(rows []Row) (Line, bool) {
	var x, y []float64
	for _, r := range rows {
		if r.Concurrency != 1 {
			continue
		}
		for _, request := range r.requests() {
			if n, known := r.computed(request); known && request.TokensIn != nil && n == *request.TokensIn {
				x, y = append(x, float64(n)), append(y, seconds(*request.FirstTokenNS-*request.DispatchNS))
			}
		}
	}
	mx, errX := stats.Describe(x)
	my, errY := stats.Describe(y)
	if errX != nil || errY != nil || slices.Max(x) < 1.5*slices.Min(x) {
		return Line{}, false
	}
	var covariance, variance float64
	for i := range x {
		covariance += (x[i] - mx.Mean) * (y[i] - my.Mean)
		variance += (x[i] - mx.Mean) * (x[i] - mx.Mean)
	}
	slope := covariance / variance
	if !(slope > 0) || math.IsInf(slope, 0) {
		return Line{}, false
	}
	return Line{TokensPerSecond: 1 / slope, InterceptSeconds: my.Mean - slope*mx.Mean, Requests: len(x)}, true
}
