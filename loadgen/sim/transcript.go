package sim

import (
	"encoding/binary"
	"strings"
)

// transcript is the text that the model reads and writes, token by token, with the key of every full block of it. The
// key is a hash of everything before the end of the block (FNV-1a, 64 bits), so that two texts share exactly the blocks
// up to their first difference.
type transcript struct {
	perBlock int
	tokens   int
	keys     []uint64 // of the full blocks
	hash     uint64
	text     strings.Builder
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// newTranscript returns an empty one. Texts with different salts share no block.
func newTranscript(perBlock int, salt string) *transcript {
	s := &transcript{perBlock: perBlock, hash: fnvOffset}
	if salt != "" {
		s.mix(salt)
		s.mix("\xfe")
	}
	return s
}

func (s *transcript) mix(text string) {
	for i := range len(text) {
		s.hash = (s.hash ^ uint64(text[i])) * fnvPrime
	}
}

// next ends a token whose content is in the hash.
func (s *transcript) next() {
	s.tokens++
	if s.tokens%s.perBlock == 0 {
		s.keys = append(s.keys, s.hash)
	}
}

// special writes one token that is not text. The byte before it occurs in no UTF-8 text, so that its spelling in a
// prompt differs.
func (s *transcript) special(name string) {
	s.text.WriteString(name)
	s.mix("\xff")
	s.mix(name)
	s.next()
}

// write writes a text.
func (s *transcript) write(text string) {
	s.text.WriteString(text)
	for len(text) > 0 {
		n := tokenBytes(text)
		s.mix(text[:n])
		s.next()
		text = text[n:]
	}
}

// id writes a token given by its number.
func (s *transcript) id(number uint32) {
	var bytes [5]byte
	bytes[0] = 0xfd
	binary.LittleEndian.PutUint32(bytes[1:], number)
	s.mix(string(bytes[:]))
	s.next()
}

// Special tokens of the template, as in Llama 3.
const (
	textBegin = "<|begin_of_text|>"
	headBegin = "<|start_header_id|>"
	headEnd   = "<|end_header_id|>"
	headLines = "\n\n"
	endOfTurn = "<|eot_id|>"
)

// chat writes messages as the Llama 3 chat template does, up to the beginning of the answer. Special tokens and roles
// are one token each, as in the real tokenizer, unlike countTokens of their spelling. An answer that ended by itself
// and comes back as a message continues the same text, so that its blocks are found again.
func (s *transcript) chat(messages []message) {
	s.special(textBegin)
	for _, m := range messages {
		s.head(m.Role)
		s.write(string(m.Content))
		s.special(endOfTurn)
	}
	s.head(assistant)
}

func (s *transcript) head(role string) {
	for _, token := range []string{headBegin, role, headEnd, headLines} {
		s.special(token)
	}
}
