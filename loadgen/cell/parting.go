package cell

import (
	"fmt"
	"math"

	"github.com/umascope/umascope/loadgen/format"
)

// Margin is by how much a figure of llama-benchy must differ from the measured one for the difference to be explained.
const Margin = .03

// parts reports whether two figures differ by more than the margin.
func parts(theirs *Metric, ours *Estimate) bool {
	return theirs != nil && ours != nil && ours.Mean > 0 && math.Abs(theirs.Mean/ours.Mean-1) > Margin
}

// Cause is why a figure of llama-benchy and the measured one part.
type Cause struct {
	// Decode is true for a figure of tg, false for one of pp.
	Decode bool
	// Peak is true for one of llama-benchy's peak, which has no column.
	Peak bool
	Text string
}

// test returns the name of the half of the row that the cause is about.
func (c Cause) test(prefill, decode string) string {
	if c.Decode {
		return decode
	}
	return prefill
}

// Causes returns why the figures of llama-benchy and the measured ones part, a sentence each; none where they do not.
// A cause is named if it alone moves a figure by the margin.
func (r Row) Causes() []Cause {
	theirs, ours := r.LlamaBenchy(), r.Measured()
	var all []Cause
	add := func(decode bool, text string) {
		if text != "" {
			all = append(all, Cause{Decode: decode, Text: text})
		}
	}
	if len(r.Batches) > 0 && theirs.Prefill != nil && (ours.Prefill == nil || parts(theirs.Prefill, ours.Prefill)) {
		add(false, r.tokenisation(ours))
		add(false, r.role(theirs))
		add(false, r.network(theirs))
	}
	switch {
	case parts(theirs.Decode, ours.Decode):
		add(true, r.window(ours))
		add(true, r.spreading(theirs, ours))
	case theirs.Decode != nil && ours.Decode == nil && len(r.Batches) > 0:
		add(true, "prefill: there is no time in which all requests decode")
	}
	if parts(theirs.Peak, ours.Decode) && theirs.Peak.Mean > ours.Decode.Mean {
		all = append(all, Cause{Decode: true, Peak: true, Text: r.best(theirs, ours)})
	}
	return all
}

// tokenisation compares the prompt tokens that both count.
func (r Row) tokenisation(ours Measured) string {
	counted := r.countedPrompt()
	switch {
	case ours.Computed == nil:
		return fmt.Sprintf("tokens: pp counts %s tokens of a prompt; how many of them the server computed, it does not say", format.Digits(counted))
	case math.Abs(counted / *ours.Computed - 1) > Margin:
		return fmt.Sprintf("tokens: pp counts %s tokens of a prompt, the server computed %s", format.Digits(counted), format.Digits(*ours.Computed))
	}
	return ""
}

// countedPrompt returns the mean of the prompt tokens that llama-benchy counts for a request.
func (r Row) countedPrompt() float64 {
	sum, all := 0, r.requests()
	for _, request := range all {
		sum += benchyPrompt(request, r.prompt())
	}
	return float64(sum) / float64(max(1, len(all)))
}

// role compares the first event with the first token.
func (r Row) role(theirs LlamaBenchy) string {
	if r.Concurrency > 1 || theirs.FirstEvent == nil || theirs.TTFT == nil || theirs.FirstEvent.Mean > theirs.TTFT.Mean*(1-Margin) {
		return ""
	}
	return fmt.Sprintf("early role: pp ends at the first event, %s before the first token", format.Seconds((theirs.TTFT.Mean-theirs.FirstEvent.Mean)/1e3))
}

// network compares the latency that is taken off with the time of the prefill.
func (r Row) network(theirs LlamaBenchy) string {
	if r.Concurrency > 1 || theirs.FirstEvent == nil || !(r.LatencySeconds*1e3 > theirs.FirstEvent.Mean*Margin) {
		return ""
	}
	return fmt.Sprintf("network: pp of one request leaves out %s of latency, of %s until the first event", format.Seconds(r.LatencySeconds), format.Seconds(theirs.FirstEvent.Mean/1e3))
}

// window says what the time of tg (total) has in it besides the time in which all decode.
func (r Row) window(ours Measured) string {
	if r.Concurrency == 1 {
		return ""
	}
	if share, _ := r.prefillShare(); share > mostPrefill {
		return fmt.Sprintf("prefill: %s of tg's time is before the last first token; while all decode it is %s t/s", format.Ratio(share), format.Digits(ours.Decode.Mean))
	}
	return fmt.Sprintf("end: tg goes on until the last answer ends, when others have ended; while all decode it is %s t/s", format.Digits(ours.Decode.Mean))
}

// spreading says what llama-benchy does with tokens that come together, or without text.
func (r Row) spreading(theirs LlamaBenchy, ours Measured) string {
	if !parts(theirs.DecodeEach, ours.DecodeEach) {
		return ""
	}
	lost, tokens := 0, 0
	for _, request := range r.requests() {
		if !idsByArrival(request) {
			continue
		}
		for i, n := range request.ArrivalTokens {
			lost, tokens = lost+silent(request, i), tokens+n
		}
	}
	if lost > 0 {
		return fmt.Sprintf("client: %d of %d tokens in events without text are not counted: tg of a request is %s t/s with them", lost, tokens, format.Digits(ours.DecodeEach.Mean))
	}
	return fmt.Sprintf("client: tokens come several at once and are spread evenly, the first event's too: tg of a request is %s t/s by arrivals", format.Digits(ours.DecodeEach.Mean))
}

// best says over what the peak is.
func (r Row) best(theirs LlamaBenchy, ours Measured) string {
	of := "the tokens of the best second"
	if r.brief() {
		of = "n tokens over n - 1 steps, as all came within a second"
	}
	return fmt.Sprintf("%s t/s is %s; the mean is %s t/s", format.Digits(theirs.Peak.Mean), of, format.Digits(ours.Decode.Mean))
}

// brief reports whether the tokens of every batch came within a second.
func (r Row) brief() bool {
	for _, batch := range r.Batches {
		first, last := int64(math.MaxInt64), int64(math.MinInt64)
		for _, request := range answered(batch) {
			moments := arrivals(request)
			first, last = min(first, moments[0]), max(last, moments[len(moments)-1])
		}
		if last-first >= 1e9 {
			return false
		}
	}
	return true
}
