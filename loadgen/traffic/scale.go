package traffic

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// ScaleBasis is the source of a scale.
type ScaleBasis string

// The bases, weakest first.
const (
	// Assumed: the server gives no count.
	Assumed ScaleBasis = "assumed"
	// ByUsage: from usage.prompt_tokens of a few short requests before the run.
	ByUsage ScaleBasis = "usage"
	// ByTokenizer: from the server's tokenizer.
	ByTokenizer ScaleBasis = "tokenizer"
	// ByIDs: prompts are token ids, which need no count.
	ByIDs ScaleBasis = "ids"
)

// TokenScale is how many tokens texts have for the server's tokenizer.
type TokenScale struct {
	Basis ScaleBasis `json:"basis" pack:"word"`
	// Tokens of the parts of a text that this package makes.
	OpeningTokens     int `json:"opening_tokens"`
	InstructionTokens int `json:"instruction_tokens"`
	// TokensPerWord is the mean over the vocabulary.
	TokensPerWord float64 `json:"tokens_per_word"`
	// WordTokens has the tokens of each word of Words; nil if all words have one token, or if only the mean is known.
	WordTokens []int `json:"word_tokens,omitempty"`
	// TokensPerByte is the ratio for texts from a file.
	TokensPerByte float64 `json:"tokens_per_byte,omitempty"`
	// TemplateTokens is what the server, or --template, adds to a single message; nil is unknown.
	TemplateTokens *int `json:"template_tokens,omitempty"`
	// TokenIDs are the ids that prompts are made of, if they are not texts.
	IDs *TokenIDs `json:"ids,omitempty"`

	short int // tokens of the opening with the words of the short probe
}

// Assumption returns the scale of vocabularies in which every common word is one token, such as those of the Llama 3,
// Qwen and GPT models.
func Assumption() TokenScale {
	return TokenScale{Basis: Assumed, OpeningTokens: 2, InstructionTokens: 16, TokensPerWord: 1, TokensPerByte: 0.25}
}

// orAssumed returns the scale itself, or the assumption if the scale is not set.
func (s TokenScale) orAssumed() TokenScale {
	if s.TokensPerWord == 0 {
		return Assumption()
	}
	return s
}

// Exact reports whether the lengths of generated texts are the server's own count, not an estimate.
func (s TokenScale) Exact() bool {
	return s.IDs != nil || (s.Basis == ByUsage || s.Basis == ByTokenizer) && (s.TokensPerWord == 1 || s.WordTokens != nil)
}

// String describes, for manifests and reports, how lengths in tokens are determined.
func (s TokenScale) String() string {
	s = s.orAssumed()
	const template = "; what the server's chat template adds is not counted"
	switch {
	case s.IDs != nil:
		return "exact: prompts are token ids (" + s.IDs.String() + "), and the server counts as many; what they say is noise"
	case s.Exact() && s.Basis == ByTokenizer:
		return "exact: counted by the server's tokenizer" + template
	case s.Exact():
		return "exact: by the server's own count of probes every word used is one token" + template
	case s.Basis == Assumed:
		return "estimated: one token per common word is assumed, for want of a count of the server's" + template
	}
	return fmt.Sprintf("estimated: %.3f tokens per word, calibrated by the server's own count of probes (%s)%s", s.TokensPerWord, s.Basis, template)
}

// appendWords appends words of about the given number of tokens (exactly as many if the tokens of each word are known)
// and returns how many tokens it added.
func (s TokenScale) appendWords(text []byte, random *rand.Rand, tokens int) ([]byte, int) {
	if tokens <= 0 {
		return text, 0
	}
	if s.WordTokens == nil {
		return appendWords(text, random, int(math.Round(float64(tokens)/s.TokensPerWord))), tokens
	}
	left, cheapest := tokens, slices.Index(s.WordTokens, slices.Min(s.WordTokens))
	for left >= s.WordTokens[cheapest] {
		word := int(byte(random.Uint64()))
		if s.WordTokens[word] > left {
			word = cheapest
		}
		text = append(append(text, ' '), vocabulary[word]...)
		left -= s.WordTokens[word]
	}
	return text, tokens - left
}

// Count returns the estimated tokens of a text from a file, rounded up.
func (s TokenScale) Count(text string) int {
	return int(math.Ceil(float64(len(text)) * s.orAssumed().TokensPerByte))
}

// probeWords is how many words the short probe has.
const probeWords = 16

// Probes are texts whose counts by the server's tokenizer make a scale.
type Probes struct {
	// One is one token in every vocabulary.
	One string
	// Short is the opening with a few words; Instructed the same with the instruction; Whole the
	// latter with each word of the vocabulary once more.
	Short, Instructed, Whole string
}

// NewProbes returns the probes.
func NewProbes() Probes {
	words := " " + strings.Join(vocabulary[:probeWords], " ")
	return Probes{
		One: "a", Short: opening + words, Instructed: opening + words + instruction,
		Whole: opening + words + " " + strings.Join(vocabulary[:], " ") + instruction,
	}
}

// ProbeCounts are the tokens of the probes.
type ProbeCounts struct{ One, Short, Instructed, Whole int }

// NewTokenScale makes a scale from counts that were taken with the same addition to each, such as that of a chat
// template. The whole probe has each word of the vocabulary once more than the instructed one, and no word has less
// than one token: a difference of as many tokens as there are words proves that each has one.
func NewTokenScale(basis ScaleBasis, c ProbeCounts) (TokenScale, error) {
	perWord := float64(c.Whole-c.Instructed) / float64(len(vocabulary))
	s := TokenScale{
		Basis: basis, InstructionTokens: c.Instructed - c.Short, TokensPerWord: perWord,
		TokensPerByte: Assumption().TokensPerByte, short: c.Short - (c.One - 1),
	}
	// The first words may have fewer tokens than the mean: the remainder for the opening is an estimate.
	s.OpeningTokens = max(s.short-int(math.Round(probeWords*perWord)), 1)
	if c.One < 1 || perWord < 1 || perWord > mostPerWord || s.InstructionTokens < 1 || s.InstructionTokens > mostTokens(instruction) ||
		s.short <= probeWords || s.OpeningTokens > mostTokens(opening) {
		return TokenScale{}, fmt.Errorf("counts of %d, %d, %d and %d tokens for texts of %d to %d words are no tokenizer's", c.One, c.Short, c.Instructed, c.Whole, 1, len(vocabulary)+probeWords)
	}
	return s, nil
}

// WithWords returns the scale, made by NewTokenScale, with the tokens of each word of Words. The opening, which was
// estimated from the first words by the mean, is then exact too.
func (s TokenScale) WithWords(tokens []int) (TokenScale, error) {
	if len(tokens) != len(vocabulary) || slices.Min(tokens) < 1 || slices.Max(tokens) > mostPerWord {
		return s, errors.New("the words' counts are no tokenizer's")
	}
	s.OpeningTokens = s.short
	for _, n := range tokens[:probeWords] {
		s.OpeningTokens -= n
	}
	if s.OpeningTokens < 0 || s.OpeningTokens > mostTokens(opening) {
		return s, errors.New("the words' counts do not agree with those of whole texts")
	}
	s.WordTokens = tokens
	return s, nil
}

// mostPerWord bounds the counts that are accepted: a tokenizer of single bytes that writes a space as the three bytes
// of ▁ has 10 for the longest word.
const mostPerWord = 10

// mostTokens returns the most tokens that a text can have: one a byte, three a space, and a space that tokenizers put
// before it.
func mostTokens(text string) int { return len(text) + 2*strings.Count(text, " ") + 3 }

// Words returns each word of the vocabulary in the form it has in a text, for a tokenizer to count.
func Words() []string {
	words := make([]string, len(vocabulary))
	for i, word := range vocabulary {
		words[i] = " " + word
	}
	return words
}
