package engine

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
)

// Speculation are the counts of speculative decoding; nil is absent.
type Speculation struct {
	// Drafts are the drafts that the model verified, DraftTokens the tokens in them.
	Drafts, DraftTokens *float64
	// Accepted are the accepted tokens by their position in the draft, from 0 on; of an engine that does not count by
	// position, one value without a position.
	Accepted []PositionValue
	// AcceptedLength is the mean number of tokens of a step with a draft, where the counts do not give it.
	AcceptedLength *float64
}

// PositionValue is a value of a position in a draft.
type PositionValue struct {
	Position string // "" is all positions together
	Value    float64
}

// maxPositions is far above the length of any draft.
const maxPositions = 64

// accepted is a count that is not split by position.
func accepted(tokens *float64) []PositionValue {
	if tokens == nil {
		return nil
	}
	return []PositionValue{{Value: *tokens}}
}

// acceptedByPosition adds up the replicas' counts by position. It is nil unless all positions are small numbers.
func acceptedByPosition(v view, name, label string) []PositionValue {
	series := v.series(name)
	var found []PositionValue
	for _, position := range labelValues(series, label) {
		if at, err := strconv.Atoi(position); err != nil || at < 0 || at >= maxPositions || strconv.Itoa(at) != position {
			return nil
		}
		count := v.with(label, position).counter(name)
		if count == nil {
			return nil
		}
		found = append(found, PositionValue{position, *count})
	}
	slices.SortFunc(found, func(a, b PositionValue) int {
		return cmp.Or(cmp.Compare(len(a.Position), len(b.Position)), cmp.Compare(a.Position, b.Position))
	})
	return found
}

func vllmSpeculation(v view) Speculation {
	s := Speculation{
		Drafts: v.counter(metric.ForeignVLLMDrafts), DraftTokens: v.counter(metric.ForeignVLLMDraftTokens),
		Accepted: acceptedByPosition(v, metric.ForeignVLLMAcceptedByPos, metric.ForeignVLLMLabelPosition),
	}
	if total := v.counter(metric.ForeignVLLMAcceptedTokens); s.Accepted == nil {
		s.Accepted = accepted(total)
	}
	return s
}

// llamaSpeculation leaves accepted tokens out until something was drafted: before, the page has no positions, and a
// series without a position would end when they appear.
func llamaSpeculation(v view) Speculation {
	s := Speculation{
		Drafts: v.counter(metric.ForeignLlamaCPPDrafts), DraftTokens: v.counter(metric.ForeignLlamaCPPDraftTokens),
		Accepted: acceptedByPosition(v, metric.ForeignLlamaCPPAcceptedByPos, metric.ForeignLlamaCPPLabelPosition),
	}
	if total := v.counter(metric.ForeignLlamaCPPAcceptedTokens); s.Accepted == nil && aboveZero(s.DraftTokens) != nil {
		s.Accepted = accepted(total)
	}
	return s
}

// sglangSpeculation takes the mean length from a gauge: no counter has the accepted tokens. That of several replicas
// together is unknown.
func sglangSpeculation(v view) Speculation {
	s := Speculation{Drafts: v.counter(metric.ForeignSGLangVerifyCalls)}
	if len(v.replicas(metric.ForeignSGLangAcceptLength)) == 1 {
		s.AcceptedLength = aboveZero(v.gauge(metric.ForeignSGLangAcceptLength))
	}
	return s
}

// tensorRTLLMSpeculation takes the counts of iterations, else those of requests that ended. Both appear with the
// first token: without an accepted one, a page has drafted ones only. No counter has the drafts.
func tensorRTLLMSpeculation(v view) Speculation {
	s := Speculation{
		DraftTokens:    v.counter(metric.ForeignTensorRTLLMDraftTokens, metric.ForeignTensorRTLLMDraftTokensByPos),
		AcceptedLength: aboveZero(v.gauge(metric.ForeignTensorRTLLMAcceptanceLength)),
	}
	tokens := v.counter(metric.ForeignTensorRTLLMAcceptedTokens, metric.ForeignTensorRTLLMAcceptedTokensByPos)
	if tokens == nil && s.DraftTokens != nil {
		tokens = new(0.0)
	}
	s.Accepted = accepted(tokens)
	return s
}

// aboveZero is nil for 0, which engines write where nothing was drafted.
func aboveZero(value *float64) *float64 {
	if value == nil || *value <= 0 {
		return nil
	}
	return value
}
