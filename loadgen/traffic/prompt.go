package traffic

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"unicode/utf8"
)

// Texts below this many tokens, or twice those of the instruction, are words only: the instruction would be most of the
// text, and with single-byte tokens it would leave no word by which prompts differ.
const shortestInstructed = 64

const (
	// opening makes the first word like all others, with a space before it: tokenizers have
	// tokens of their own for words at the start of a text.
	opening = "Words:"
	// instruction asks for a long answer, so that a real model does not end before the output cap.
	instruction = ".\n\nWrite a long and detailed story that uses these words in this order."
)

// Streams of draws outside the phases.
const (
	sharedStream = "/shared"
	blockStream  = "/block"
)

// Message is one message of a chat.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Prompt is the content of one request.
type Prompt struct {
	// Before are the messages before the text.
	Before []Message
	// Text is the user's message, the last one.
	Text string
	// TokenIDs are token ids, of a prompt without text.
	IDs []uint32
	// Tokens is the length of the whole prompt by the scale in use, without the server's template.
	Tokens int
	// OutputTokens is the requested length of the answer in tokens; 0 if the prompt does not set it.
	OutputTokens int
	// SharedBytes is how many bytes of the text's beginning it shares with the other prompts, SharedIDs how many ids.
	SharedBytes int
	SharedIDs   int
	// RepeatedTokens is how many tokens at its beginning the load also sends in other prompts, by design, so that a
	// prefix cache may answer them.
	RepeatedTokens int
	// Opening is the part that depends on the run.
	Opening Opening
	// Plain is the prompt as the seed alone makes it, where the part that depends on the run is not described by Opening;
	// nil means that it is.
	Plain *Prompt
}

// OfRun reports whether a part of the prompt depends on the run.
func (p Prompt) OfRun() bool { return p.Plain != nil || p.Opening.Len > 0 }

// Clip shortens the text, from its end, until the prompt has about the given number of tokens by the scale of texts
// from files; false if the messages before the text are longer already.
func (p Prompt) Clip(tokens int, scale TokenScale) (Prompt, bool) {
	if o := p.Opening; o.Len > 0 { // the run's own words must not move the end
		shared, clipped := p.SharedBytes, p.Seeded()
		clipped, fits := clipped.Clip(tokens, scale)
		clipped.Text = clipped.Text[:o.At] + p.Text[o.At:o.At+o.Len] + clipped.Text[o.At+len(o.Seeded):]
		clipped.SharedBytes, clipped.Opening = shared, o
		return clipped, fits
	}
	excess := p.Tokens - tokens
	if excess <= 0 {
		return p, true
	}
	// One byte more: the count is rounded up.
	left := len(p.Text) - int(float64(excess)/scale.orAssumed().TokensPerByte) - 1
	for left > 0 && !utf8.RuneStart(p.Text[left]) {
		left--
	}
	if left <= p.SharedBytes {
		return p, false
	}
	p.Tokens -= scale.Count(p.Text) - scale.Count(p.Text[:left])
	p.Text = p.Text[:left]
	return p, true
}

// PromptSet is a set of prompts: endless, numbered, and equal for equal seed and scale.
type PromptSet struct {
	Seed uint64
	// Key is the run's key: the first words of each prompt depend on it too, so that no server has seen them. Without a
	// key, all words come from the seed alone.
	Key string
	// Lengths are the distributions of a prompt's length, each with the same probability; at least one.
	Lengths []Lengths
	// SharedTokens is the length in tokens of the text that all prompts begin with, added to their own.
	SharedTokens int
	Scale        TokenScale
}

// NewRandom returns the source of everything drawn for one request. All three arguments seed it, so a request's draws
// do not depend on the number of requests before it. Its state is derived by a hash: neighboring indices must not give
// related draws.
func NewRandom(seed uint64, stream string, index int) *rand.Rand {
	key := binary.LittleEndian.AppendUint64(nil, seed)
	key = binary.LittleEndian.AppendUint64(key, uint64(index))
	sum := sha256.Sum256(append(key, stream...))
	return rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[0:8]), binary.LittleEndian.Uint64(sum[8:16])))
}

// Prompt returns the text with the given index of a stream, such as a phase.
//
// Engines keep the KV cache of prefixes that requests share, in blocks of 16 tokens and more. The words are drawn from
// the first one on, eight bits each, so that apart from the shared beginning no two prompts of a run have a block in
// common. With a key, no prompt shares a block with a prompt of another run either.
func (s PromptSet) Prompt(stream string, index int) Prompt {
	random := NewRandom(s.Seed, stream, index)
	tokens := s.Lengths[random.IntN(len(s.Lengths))].Draw(random)
	if s.Scale.IDs != nil {
		return s.ids(random, tokens, source{stream, index})
	}
	return s.write(random, s.shared(tokens), tokens, source{stream, index})
}

// write appends a prompt of the given own length to the shared beginning.
func (s PromptSet) write(random *rand.Rand, beginning text, tokens int, own source) Prompt {
	body, p := beginning, Prompt{SharedBytes: len(beginning.bytes), RepeatedTokens: beginning.tokens}
	until := beginning.tokens + tokens
	if p.SharedBytes == 0 {
		body = s.open(body)
	}
	scale := s.Scale.orAssumed()
	ending := tokens >= max(shortestInstructed, 2*scale.InstructionTokens)
	if ending {
		until -= scale.InstructionTokens
	}
	body = s.words(body, random, until, own)
	if ending {
		body.bytes = append(body.bytes, instruction...)
		body.tokens += scale.InstructionTokens
	}
	p.Text, p.Tokens, p.Opening = string(body.bytes), body.tokens, body.opening
	return p
}

// text is a text under construction, with its length by the scale.
type text struct {
	bytes   []byte
	tokens  int
	opening Opening
}

// shared returns the beginning of all prompts, with capacity for the given number of tokens after it.
func (s PromptSet) shared(following int) text {
	t := text{bytes: make([]byte, 0, 6*(s.SharedTokens+following)+len(instruction))}
	if s.SharedTokens == 0 {
		return t
	}
	t = s.words(s.open(t), NewRandom(s.Seed, sharedStream, 0), s.SharedTokens, source{sharedStream, 0})
	t.opening.sharedShift = len(t.opening.Seeded) - t.opening.Len
	return t
}

// open appends the opening.
func (s PromptSet) open(t text) text {
	t.bytes = append(t.bytes, opening...)
	t.tokens += s.Scale.orAssumed().OpeningTokens
	return t
}

// words appends words until the text has the given number of tokens. Words of the source that are among the first of
// the prompt depend on the run.
func (s PromptSet) words(t text, random *rand.Rand, until int, of source) text {
	at, added := len(t.bytes), 0
	t.bytes, added = s.Scale.orAssumed().appendWords(t.bytes, random, until-t.tokens)
	t.tokens += added
	return s.replaceWords(t, at, of)
}

// Shared returns the text that all prompts begin with, for prompts that the set does not make; "" for none. It ends
// with an empty line.
func (s PromptSet) Shared() Prompt {
	if s.SharedTokens == 0 {
		return Prompt{}
	}
	t := s.shared(0)
	t.bytes = append(t.bytes, "\n\n"...)
	return Prompt{Text: string(t.bytes), Tokens: t.tokens + 1, SharedBytes: len(t.bytes), RepeatedTokens: t.tokens + 1, Opening: t.opening}
}

// Recorded returns a prompt of a trace: of the given length, its beginning made of named blocks of blockTokens each.
// Prompts that begin with the same names begin with the same text, up to the end of the shorter one. The text after the
// named blocks is the prompt's own.
func (s PromptSet) Recorded(stream string, index, tokens, blockTokens int, blocks []int64) Prompt {
	if s.Scale.IDs != nil {
		return s.recordedIDs(stream, index, tokens, blockTokens, blocks)
	}
	body := s.open(text{bytes: make([]byte, 0, 6*tokens+16)})
	for i, block := range blocks {
		body = s.words(body, NewRandom(s.Seed, blockStream, int(block)), min((i+1)*blockTokens, tokens), source{blockStream, int(block)})
	}
	body = s.words(body, NewRandom(s.Seed, stream, index), tokens, source{stream, index})
	return Prompt{Text: string(body.bytes), Tokens: body.tokens, Opening: body.opening}
}

// appendWords appends n words, each after a space. The vocabulary has 256 of them, so that one draw of 64 bits gives
// eight: speed matters, since prompts of a hundred thousand tokens are made during the run.
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
