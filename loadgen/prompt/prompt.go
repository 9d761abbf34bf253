// Package prompt makes prompt texts and lengths: each a pure function of seed, stream and
// index, so that a run can be repeated, split or resumed without keeping its prompts.
//
// No tokenizer is linked: a model's own is in no format that a small static program can load
// for every model. Texts are built of short common words instead, most of which are one token
// in the vocabularies in use. What a length asks for is therefore a target and an estimate; what
// the server counted stands beside it in every record.
package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
)

// Estimate says, for manifests, how lengths in tokens come about.
const Estimate = "estimated: one token per common word, chat template not counted; not tokenised"

// Texts below this many tokens are words only: an instruction would be most of them.
const shortestInstructed = 64

// The tail asks for a long answer, so that a real model does not end before the output cap.
const (
	instruction       = ".\n\nWrite a long and detailed story that uses these words in this order."
	instructionTokens = 15
	// tagTokens is what tokenizers commonly make of the sixteen hexadecimal digits of a tag.
	tagTokens = 10
)

// Set is a set of prompts: endless, numbered, the same for the same seed.
type Set struct {
	Seed uint64
	// Lengths are the distributions that a prompt's length comes from, each with the same
	// chance; at least one.
	Lengths []Lengths
}

// Prompt is one text.
type Prompt struct {
	Text string
	// Tokens is the length asked for, by Estimate.
	Tokens int
}

// Random is the source of everything drawn for one request: seeded by all three arguments, so
// that no request's draws depend on how many came before it.
func Random(seed uint64, stream string, index int) *rand.Rand {
	random, _ := source(seed, stream, index)
	return random
}

// source derives generator and tag by a hash: neighbouring indices must not give related draws.
func source(seed uint64, stream string, index int) (*rand.Rand, [8]byte) {
	key := binary.LittleEndian.AppendUint64(nil, seed)
	key = binary.LittleEndian.AppendUint64(key, uint64(index))
	sum := sha256.Sum256(append(key, stream...))
	state := binary.LittleEndian.Uint64(sum[0:8])
	sequence := binary.LittleEndian.Uint64(sum[8:16])
	return rand.New(rand.NewPCG(state, sequence)), [8]byte(sum[16:24])
}

// Prompt returns the text with the given index of a stream, such as a phase.
//
// It begins with a tag of its own. Engines keep the KV cache of prefixes that requests share;
// without the tag, later requests would find part of their prompt there and the scenario would
// measure the cache. Two runs with one seed do share their prompts: the second one, on the same
// server process, is served from its cache unless the seed differs or the server is restarted.
func (s Set) Prompt(stream string, index int) Prompt {
	random, tag := source(s.Seed, stream, index)
	lengths := s.Lengths[random.IntN(len(s.Lengths))]
	tokens := lengths.Draw(random)
	text := make([]byte, 0, 6*tokens+len(instruction)+2*len(tag))
	text = hex.AppendEncode(text, tag[:])
	words := tokens - tagTokens
	if tokens >= shortestInstructed {
		words -= instructionTokens
	}
	text = appendWords(text, random, words)
	if tokens >= shortestInstructed {
		text = append(text, instruction...)
	}
	return Prompt{Text: string(text), Tokens: tokens}
}

// appendWords adds n words, each after a space. The vocabulary has 256 of them, so that one
// draw of 64 bits gives eight: prompts of a hundred thousand tokens are made while others wait.
func appendWords(text []byte, random *rand.Rand, n int) []byte {
	for n > 0 {
		bits := random.Uint64()
		for range min(n, 8) {
			text = append(text, ' ')
			text = append(text, vocabulary[byte(bits)]...)
			bits >>= 8
		}
		n -= 8
	}
	return text
}
