package sim

import (
	"unicode"
	"unicode/utf8"
)

const (
	maxWordBytes  = 8
	maxDigitBytes = 3
)

// countTokens returns how many tokens a text has for the simulated engine.
//
// The tokenizer is its own, because every real one needs a vocabulary of megabytes: it cuts as byte-pair tokenizers do
// before they look anything up. A token is
//   - a run of ASCII letters with the one space before it, cut after every 8 letters;
//   - a run of up to 3 digits with the one space before it;
//   - a run of white space that is no such space;
//   - any other character, also each one of Chinese, with the one space before it.
//
// Every text is the concatenation of its tokens, and a text of an answer has exactly the tokens that it was composed
// of.
func countTokens(text string) int {
	count := 0
	for len(text) > 0 {
		text = text[tokenBytes(text):]
		count++
	}
	return count
}

// tokenBytes returns the length of the first token of a text that is not empty.
func tokenBytes(text string) int {
	lead := 0
	if text[0] == ' ' && len(text) > 1 && !startsWithSpace(text[1:]) {
		lead = 1
	}
	rest := text[lead:]
	switch {
	case isLetter(rest[0]):
		return lead + run(rest, isLetter, maxWordBytes)
	case isDigit(rest[0]):
		return lead + run(rest, isDigit, maxDigitBytes)
	case startsWithSpace(rest):
		return lead + spaceBytes(rest)
	}
	_, size := utf8.DecodeRuneInString(rest)
	return lead + size
}

// spaceBytes returns the length of the white space at the start; it leaves a last single space to the word that
// follows.
func spaceBytes(text string) int {
	length, last := 0, 0
	for length < len(text) && startsWithSpace(text[length:]) {
		_, last = utf8.DecodeRuneInString(text[length:])
		length += last
	}
	if length < len(text) && length > last && text[length-1] == ' ' {
		return length - 1
	}
	return length
}

func run(text string, belongs func(byte) bool, most int) int {
	n := 0
	for n < len(text) && n < most && belongs(text[n]) {
		n++
	}
	return n
}

func startsWithSpace(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsSpace(r)
}

func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func isDigit(b byte) bool { return '0' <= b && b <= '9' }
