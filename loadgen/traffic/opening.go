package traffic

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// openingWords is how many words, or token ids, at the beginning of a prompt belong to its run. Engines chain the
// hashes of their cache's blocks, so a prompt that begins with different words shares no block with an earlier one, at
// any block size. Eight words of 256 are 64 bits.
const openingWords = 8

// openingStream separates the draws of opening words from those of the seed alone.
const openingStream = "/opening/"

// Opening is the part of a prompt that depends on its run: Len bytes of the text from At on, or as many ids. Seeded, or
// SeededIDs, is that part as the seed alone makes it.
type Opening struct {
	At, Len   int
	Seeded    string
	SeededIDs []uint32
	words     int
	// sharedShift is by how many bytes the shared part is longer when the seed alone makes it.
	sharedShift int
}

// Seeded returns the prompt as the seed alone makes it, without the run's own words.
func (p Prompt) Seeded() Prompt {
	o := p.Opening
	switch {
	case p.Plain != nil:
		return *p.Plain
	case o.Len == 0:
		return p
	}
	if p.Opening = (Opening{}); len(p.IDs) > 0 {
		p.IDs = slices.Concat(p.IDs[:o.At], o.SeededIDs, p.IDs[o.At+o.Len:])
		return p
	}
	p.Text = p.Text[:o.At] + o.Seeded + p.Text[o.At+o.Len:]
	p.SharedBytes += o.sharedShift
	return p
}

// CommonTokens returns the most tokens that two prompts of different runs share at their beginning without being
// designed to: those of the server's chat template, of the opening, and of the opening words, some of which may agree
// by chance. It returns false if the template's tokens are unknown.
func (s TokenScale) CommonTokens() (int, bool) {
	if s.IDs != nil {
		return openingWords, true
	}
	if s.TemplateTokens == nil {
		return 0, false
	}
	s = s.orAssumed()
	return *s.TemplateTokens + s.OpeningTokens + int(math.Ceil(openingWords*s.TokensPerWord)), true
}

// openingRandom returns the source of the opening words of a prompt, or of a text that several prompts begin with.
func (s PromptSet) openingRandom(of source) *rand.Rand {
	return NewRandom(s.Seed, openingStream+strconv.Quote(s.Key)+of.stream, of.index)
}

// source names a text, or a list of ids, that is drawn: its words depend on it and on the seed.
type source struct {
	stream string
	index  int
}

// replaceWords replaces the words from the given position on by words of the run with as many tokens, as far as they
// are among the first of the prompt.
func (s PromptSet) replaceWords(t text, at int, of source) text {
	if s.Key == "" || t.opening.words == openingWords || at == len(t.bytes) {
		return t
	}
	random, scale, end := s.openingRandom(of), s.Scale.orAssumed(), at
	var drawn []byte
	for t.opening.words < openingWords && end < len(t.bytes) {
		next := len(t.bytes)
		if space := bytes.IndexByte(t.bytes[end+1:], ' '); space >= 0 {
			next = end + 1 + space
		}
		drawn = append(append(drawn, ' '), scale.like(string(t.bytes[end+1:next]), random)...)
		t.opening.words++
		end = next
	}
	if t.opening.Len == 0 {
		t.opening.At = at
	}
	t.opening.Len += len(drawn)
	t.opening.Seeded += string(t.bytes[at:end])
	t.bytes = slices.Replace(t.bytes, at, end, drawn...)
	return t
}

// like draws a word with as many tokens as the given one.
func (s TokenScale) like(word string, random *rand.Rand) string {
	if s.WordTokens == nil {
		return vocabulary[byte(random.Uint64())]
	}
	at, _ := slices.BinarySearch(vocabulary[:], word)
	var alike []string
	for i, tokens := range s.WordTokens {
		if tokens == s.WordTokens[at] {
			alike = append(alike, vocabulary[i])
		}
	}
	return alike[random.IntN(len(alike))]
}

// replaceIDs is replaceWords for prompts that are ids.
func (s PromptSet) replaceIDs(ids []uint32, o Opening, at int, of source) Opening {
	n := min(openingWords-o.words, len(ids)-at)
	if s.Key == "" || n <= 0 {
		return o
	}
	if o.Len == 0 {
		o.At = at
	}
	o.SeededIDs = append(o.SeededIDs, ids[at:at+n]...)
	s.Scale.IDs.draw(ids[:at], s.openingRandom(of), n)
	o.words, o.Len = o.words+n, o.Len+n
	return o
}
