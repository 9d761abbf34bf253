// Package roofline computes how fast a machine can decode: each step reads the weights once and the KV cache of every
// sequence, and no step is shorter than memory takes for that. It also judges, by a run's telemetry, what held a run
// below that limit.
package roofline

import (
	"errors"
	"fmt"
)

// Range is a limit between two bounds; they are equal where nothing is unknown.
type Range struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Exact reports whether the bounds are equal.
func (r Range) Exact() bool { return r.Low == r.High }

// Load is a state of decoding.
type Load struct {
	// Concurrency is the number of sequences that decode at once, and Context the tokens of each, as a mean over the
	// answer: depth + prompt + half of the answer.
	Concurrency float64
	Context     float64
}

// Limit is what memory allows.
type Limit struct {
	// BytesPerStep are read for one token of each sequence.
	BytesPerStep Range `json:"bytes_per_step"`
	// BytesPerToken are those of a token: of the step, shared by the sequences.
	BytesPerToken Range `json:"bytes_per_token"`
	// TokensPerSecond are of all sequences together.
	TokensPerSecond Range `json:"tokens_per_second"`
	// KVShare is the share of the KV cache in what a step reads, at its most.
	KVShare float64 `json:"kv_share"`
}

// ErrUnknown is why a model has no limit.
var ErrUnknown = errors.New("the limit of memory is not known")

// Decode computes the limit of decoding at a bandwidth.
//
// A step reads all weights, the experts that its tokens use, and the KV cache of every sequence. Sequences may use the
// same experts or each its own, which gives a range; so do layers with a window and speculative decoding, in which a
// step gives between 1 and 1 + drafted tokens.
func Decode(m Model, l Load, bytesPerSecond float64) (Limit, error) {
	switch {
	case !finite(bytesPerSecond):
		return Limit{}, fmt.Errorf("%w: the bandwidth of the memory is not known", ErrUnknown)
	case !finite(m.WeightsBytes) && m.Experts > 0:
		return Limit{}, fmt.Errorf("%w: which share of the weights are experts is not known", ErrUnknown)
	case !finite(m.WeightsBytes):
		return Limit{}, fmt.Errorf("%w: the size of the weights is not known", ErrUnknown)
	case !finite(m.KVBytesPerToken):
		return Limit{}, fmt.Errorf("%w: the bytes of a token in the KV cache are not known", ErrUnknown)
	case !(l.Concurrency >= 1) || !(l.Context >= 0):
		return Limit{}, fmt.Errorf("%w: no sequence decodes", ErrUnknown)
	case m.ExpertBytes > 0 && (m.Experts < 1 || m.ExpertsUsed < 1 || m.ExpertsUsed > m.Experts):
		return Limit{}, fmt.Errorf("%w: the number of experts is not known", ErrUnknown)
	}
	kv := l.Concurrency * l.Context * m.KVBytesPerToken
	step := Range{m.WeightsBytes + kv, m.WeightsBytes + kv}
	if m.Windowed {
		step.Low -= kv
	}
	if m.ExpertBytes > 0 {
		each := m.ExpertBytes / float64(m.Experts)
		step.Low += each * float64(m.ExpertsUsed)
		step.High += each * min(float64(m.Experts), float64(m.ExpertsUsed)*l.Concurrency)
	}
	tokens := Range{l.Concurrency, l.Concurrency * float64(1+m.Drafted)}
	limit := Limit{
		BytesPerStep:    step,
		BytesPerToken:   Range{step.Low / tokens.High, step.High / tokens.Low},
		TokensPerSecond: Range{bytesPerSecond * tokens.Low / step.High, bytesPerSecond * tokens.High / step.Low},
		KVShare:         kv / step.High,
	}
	return limit, nil
}

// Share is how much of the limit a rate reaches; of a range, a range.
func (l Limit) Share(tokensPerSecond float64) Range {
	return Range{tokensPerSecond / l.TokensPerSecond.High, tokensPerSecond / l.TokensPerSecond.Low}
}

// String formats a share for people, such as "78 % of the memory limit".
func (r Range) String() string {
	if r.Exact() {
		return fmt.Sprintf("%.0f %%", r.Low*100)
	}
	return fmt.Sprintf("%.0f to %.0f %%", r.Low*100, r.High*100)
}
