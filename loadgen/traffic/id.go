package traffic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// The range of ids that every vocabulary in use has as ordinary tokens. Special ones are at its beginning (Mistral's
// first thousand) or at its end (Llama 3's from 128,000 on); the smallest vocabularies, such as Llama 2's, have 32,000
// in all.
const (
	firstID = 1000
	lastID  = 30999
)

// fewestIDs is how many different ids a table needs: with fewer, blocks of unrelated prompts might be equal.
const fewestIDs = 64

// TokenIDs are the token ids that prompts are drawn from, if prompts are ids instead of texts: their length is then
// exact without a tokenizer. Their text is noise.
type TokenIDs struct {
	// Listed are ids of words from the server's own tokenizer; without any, ids are drawn from First to Last.
	Listed []uint32 `json:"listed,omitempty"`
	First  uint32   `json:"first,omitempty"`
	Last   uint32   `json:"last,omitempty"`
}

// NewTokenIDs returns the ids of those of Words that are a single token, from the tokenizer's counts, each once. Too
// few are an error.
func NewTokenIDs(words []uint32) (TokenIDs, error) {
	listed := slices.Clone(words)
	slices.Sort(listed)
	listed = slices.Compact(listed)
	if len(listed) < fewestIDs {
		return TokenIDs{}, fmt.Errorf("only %d words are a single token, %d are needed", len(listed), fewestIDs)
	}
	if len(listed) > len(vocabulary) {
		return TokenIDs{}, errors.New("more ids than words")
	}
	return TokenIDs{Listed: listed}, nil
}

// AnyTokenIDs returns the ids of the range that every large vocabulary has.
func AnyTokenIDs() TokenIDs { return TokenIDs{First: firstID, Last: lastID} }

// String describes the ids.
func (v TokenIDs) String() string {
	if len(v.Listed) > 0 {
		return fmt.Sprintf("%d of words, by the server's tokenizer", len(v.Listed))
	}
	return fmt.Sprintf("%d to %d", v.First, v.Last)
}

// draw appends n ids.
func (v TokenIDs) draw(ids []uint32, random *rand.Rand, n int) []uint32 {
	for range n {
		if len(v.Listed) > 0 {
			ids = append(ids, v.Listed[random.IntN(len(v.Listed))])
		} else {
			ids = append(ids, v.First+random.Uint32N(v.Last-v.First+1))
		}
	}
	return ids
}

// idStream separates the draws of the probe from all prompts.
const idStream = "/ids"

// Probe returns a prompt of n ids that is not in any run.
func (v TokenIDs) Probe(n int) []uint32 { return v.draw(nil, NewRandom(0, idStream, n), n) }

// ScaleOfIDs returns the scale of prompts that are ids.
func ScaleOfIDs(v TokenIDs) TokenScale { return TokenScale{Basis: ByIDs, TokensPerWord: 1, IDs: &v} }

// ids appends the ids of a prompt to the shared beginning.
func (s PromptSet) ids(random *rand.Rand, tokens int, own source) Prompt {
	all := make([]uint32, 0, s.SharedTokens+tokens)
	all = s.Scale.IDs.draw(all, NewRandom(s.Seed, sharedStream, 0), s.SharedTokens)
	o := s.replaceIDs(all, Opening{}, 0, source{sharedStream, 0})
	all = s.Scale.IDs.draw(all, random, tokens)
	o = s.replaceIDs(all, o, s.SharedTokens, own)
	return Prompt{IDs: all, Tokens: len(all), SharedIDs: s.SharedTokens, RepeatedTokens: s.SharedTokens, Opening: o}
}

// recordedIDs is Recorded for prompts that are ids.
func (s PromptSet) recordedIDs(stream string, index, tokens, blockTokens int, blocks []int64) Prompt {
	all, o := make([]uint32, 0, tokens), Opening{}
	for i, block := range blocks {
		if missing := min((i+1)*blockTokens, tokens) - len(all); missing > 0 {
			at := len(all)
			all = s.Scale.IDs.draw(all, NewRandom(s.Seed, blockStream, int(block)), missing)
			o = s.replaceIDs(all, o, at, source{blockStream, int(block)})
		}
	}
	at := len(all)
	all = s.Scale.IDs.draw(all, NewRandom(s.Seed, stream, index), tokens-at)
	o = s.replaceIDs(all, o, at, source{stream, index})
	return Prompt{IDs: all, Tokens: len(all), Opening: o}
}
