package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"unicode/utf8"
)

// Values of Record.TokensSource: the source of the number of output tokens.
const (
	fromUsage    = "usage"
	fromLogprobs = "logprobs"
)

// TokensFromIDs is the source of counts that are lengths of lists of token ids.
const TokensFromIDs = "token_ids"

// TokensFromChunks is the Record.TokensSource of an answer without a token count: each payload chunk counts as one
// token, which is a lower bound.
const TokensFromChunks = "chunks"

// fill writes the answer into the record. maxTokens is the cap that was sent; 0 is none.
func (a *answer) fill(r *Record, maxTokens int) {
	if a.events > 0 {
		r.FirstEventNS, r.FirstEventType = new(a.firstAt), a.firstType
	}
	a.fillArrivals(r)
	if r.UsageFault = a.usageFault(maxTokens); r.UsageFault == "" {
		a.fillArrivalTokens(r)
		a.fillTokens(r)
	}
	r.UnknownMembers = slices.Clone(a.unknown)
	r.FinishReason = a.finish
	if r.ServerRequestID == "" {
		r.ServerRequestID = a.id
	}
	if len(a.output) > 0 {
		sum := sha256.Sum256(a.output)
		r.OutputChars, r.OutputSHA256 = utf8.RuneCount(a.output), hex.EncodeToString(sum[:])
	}
}

func (a *answer) fillArrivals(r *Record) {
	n := len(a.arrivals)
	if n == 0 {
		return
	}
	r.FirstTokenNS = new(a.arrivals[0].at)
	r.ArrivalsNS, r.ReadIDs = make([]int64, n), make([]int, n)
	kinds := make([]byte, n)
	var previous int64
	unclear := false // earlier text may or may not have been visible output
	for i, chunk := range a.arrivals {
		r.ArrivalsNS[i], r.ReadIDs[i], kinds[i] = chunk.at-previous, chunk.read, chunk.kind
		previous = chunk.at
		if unclear = unclear || chunk.kind == 'u'; chunk.kind != 'r' && !unclear && r.FirstVisibleNS == nil {
			r.FirstVisibleNS = new(chunk.at)
		}
	}
	r.ArrivalKinds = string(kinds)
}

// fillTokens writes the token counts that the server reports. Counting the tokens of the text again would merge and
// split them differently from the engine.
func (a *answer) fillTokens(r *Record) {
	r.TokensIn, r.TokensCached = a.usage.prompt.pointer(), a.usage.cached.pointer()
	r.TokensReasoning, r.TokensAccepted = a.usage.reasoning.pointer(), a.usage.accepted.pointer()
	r.TokensDrafted, r.Drafts = a.usage.drafted.pointer(), a.usage.drafts.pointer()
	r.TokensPerStep = a.perStep
	if t := a.usage.tiers; t != (tiers{}) {
		r.TokensCachedByTier = &TierTokens{Device: t.device.pointer(), Host: t.host.pointer(), Storage: t.storage.pointer()}
	}
	switch {
	case a.usage.completion.known && (a.usage.completion.n > 0 || len(a.arrivals) == 0):
		r.TokensOut, r.TokensSource = a.usage.completion.pointer(), fromUsage
	case a.ids.n > 0 && a.logged:
		r.TokensOut, r.TokensSource = a.ids.pointer(), fromLogprobs
	case a.ids.n > 0:
		r.TokensOut, r.TokensSource = a.ids.pointer(), TokensFromIDs
	case a.streamed && len(a.arrivals) > 0:
		r.TokensOut, r.TokensSource = new(len(a.arrivals)), TokensFromChunks
	}
}

// fillArrivalTokens writes the tokens of each payload chunk if the server reports all of them. Tokens without text (a
// special token, half a character) count towards the next chunk: the engine made them in the time before it.
func (a *answer) fillArrivalTokens(r *Record) {
	if r.ArrivalTokens = a.tokensByIDs(); r.ArrivalTokens == nil {
		if r.ArrivalTokens = a.tokensByUsage(); r.ArrivalTokens != nil {
			r.ArrivalTokensSource = fromUsage
		}
		return
	}
	if r.ArrivalTokensSource = TokensFromIDs; a.logged {
		r.ArrivalTokensSource = fromLogprobs
	}
	if slices.ContainsFunc(a.arrivals, func(chunk arrival) bool { return chunk.early > 0 }) {
		for _, chunk := range a.arrivals {
			r.SilentTokens = append(r.SilentTokens, chunk.early)
		}
	}
}

// tokensByIDs rejects lists that are all empty or that hold more than the usage reports, such as the whole answer again
// in every chunk.
func (a *answer) tokensByIDs() []int {
	if a.ids.n == 0 || a.usage.completion.known && a.ids.n > a.usage.completion.n {
		return nil
	}
	tokens := make([]int, 0, len(a.arrivals))
	for _, chunk := range a.arrivals {
		if !chunk.ids.known {
			return nil
		}
		tokens = append(tokens, chunk.ids.n)
	}
	return tokens
}

// tokensByUsage takes the differences of the completion tokens so far. A count of 0 in a chunk with output is ignored:
// a server or proxy fills the object in later.
func (a *answer) tokensByUsage() []int {
	tokens := make([]int, 0, len(a.arrivals))
	before := 0
	for _, chunk := range a.arrivals {
		if chunk.total.n == 0 || chunk.total.n < before {
			return nil
		}
		tokens = append(tokens, chunk.total.n-before)
		before = chunk.total.n
	}
	return tokens
}
