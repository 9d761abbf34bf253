package traffic

import (
	"bytes"
	"compress/bzip2"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
)

// opticks is Isaac Newton's "Opticks", fourth edition, 1730, as Project Gutenberg transcribed it: in the public domain,
// and without Project Gutenberg's own text. The file is that of Go's distribution, src/compress/bzip2/testdata.
//
//go:embed opticks.txt.bz2
var opticks []byte

// CorpusSHA256 is the hash of the text of the corpus before its line breaks and marks of emphasis are removed.
const CorpusSHA256 = "d4a9ac22462b35e7821a4f2706c211093da678620a8f9997989ee7cf8d507bbd"

// corpus is a natural text of 100,000 words. Speculative decoding guesses the words of noise worse than those of a
// text, and the experts of a model are chosen otherwise.
type corpus struct {
	words []string
	bytes int // mean length of a word with its space, rounded up
}

// loadCorpus unpacks the corpus once.
var loadCorpus = sync.OnceValue(func() corpus {
	text, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(opticks)))
	if err != nil {
		panic("the embedded corpus is damaged: " + err.Error()) // a test reads it
	}
	words := strings.Fields(strings.ReplaceAll(string(text), "_", ""))
	return corpus{words, len(text)/len(words) + 1}
})

// slice returns n words from the given one on. The text begins again after its end.
func (c corpus) slice(start, n int) string {
	var b strings.Builder
	b.Grow(n * c.bytes)
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.words[(start+i)%len(c.words)])
	}
	return b.String()
}

// sampleWords is how much of the corpus shows how many tokens its bytes have.
const sampleWords = 1500

// CorpusSample returns a text of the corpus.
func CorpusSample() string { return loadCorpus().slice(0, sampleWords) }

// CorpusSlices cuts texts of the corpus to exact lengths.
type CorpusSlices struct {
	Set PromptSet
	// Count returns the tokens of a text, by the server's tokenizer or by an estimate.
	Count func(text string) (int, error)
}

// Slice is a text of the corpus.
type Slice struct {
	Text   string
	Tokens int
	// Surplus is how many tokens the request with the text has too many, or too few if it is negative.
	Surplus int
	// Seeded is the text as the seed alone makes it, without the run's own words.
	Seeded string
}

// errUncuttable is the error for a tokenizer by which no text has the length.
var errUncuttable = errors.New("no slice of the corpus has exactly that length by the server's tokenizer")

// shortestOpened is the fewest tokens of a text that has words of its own: in a shorter one they would be most of it, and
// caches hold blocks of 16 tokens and more.
const shortestOpened = 64

// triedStarts is how many slices are tried for one text.
const triedStarts = 12

// triedSizes is how many lengths are tried for a slice whose request has too many tokens or too few.
const triedSizes = 4

// Cut returns the text with the given index of a stream: a slice from a random word on, with exactly as many tokens as
// asked for. An opened text begins with words of its own, which depend on the run too, so that no prefix cache has it.
//
// Surplus returns how many tokens a request with the text has too many, or too few if it is negative: the text is then
// as much shorter or longer. If it is nil, only the text counts. Where no text fits, the one that comes nearest is
// returned.
func (c CorpusSlices) Cut(stream string, index, tokens int, opened bool, surplus func(text string) (int, error)) (Slice, error) {
	random := NewRandom(c.Set.Seed, stream, index)
	source, own, seeded := loadCorpus(), "", ""
	if opened && tokens >= shortestOpened {
		own, seeded = c.Set.openingOf(stream, index)
	}
	nearest := math.MaxInt
	var found Slice
	for range triedStarts {
		start, size := random.IntN(len(source.words)), tokens
		for range triedSizes {
			text, err := c.cut(source, own, start, size)
			if errors.Is(err, errUncuttable) {
				break
			}
			over := 0
			if err == nil && surplus != nil {
				over, err = surplus(text)
			}
			if err != nil {
				return Slice{}, err
			}
			if max(over, -over) < nearest {
				nearest, found = max(over, -over), Slice{Text: text, Tokens: size, Surplus: over, Seeded: seeded + text[len(own):]}
			}
			if size -= over; over == 0 || size < 1 {
				break
			}
		}
		if nearest == 0 {
			return found, nil
		}
	}
	if nearest < math.MaxInt {
		return found, nil
	}
	return Slice{}, fmt.Errorf("%d tokens: %w", tokens, errUncuttable)
}

// cut finds the number of words whose text has the most tokens that are not too many, and fills it up. Tokens are almost
// proportional to words, so that each count comes close to the end of the search.
func (c CorpusSlices) cut(source corpus, own string, start, tokens int) (string, error) {
	low, high := 0, tokens+1 // words: a word has at least one token
	text, have := own, 0
	if own != "" {
		var err error
		if have, err = c.Count(own); err != nil {
			return "", err
		}
		if have > tokens {
			return "", errUncuttable
		}
	}
	perWord := max(1, c.Set.Scale.orAssumed().TokensPerByte*float64(source.bytes))
	for high-low > 1 {
		guess := min(max(low+int(math.Round(float64(tokens-have)/perWord)), low+1), high-1)
		longer := own + source.slice(start, guess)
		n, err := c.Count(longer)
		switch {
		case err != nil:
			return "", err
		case n == tokens:
			return longer, nil
		case n > tokens:
			high = guess
			perWord = max(1, float64(n-have)/float64(guess-low))
		default:
			perWord = max(1, float64(n-have)/float64(guess-low))
			low, have, text = guess, n, longer
		}
	}
	return c.fill(text, have, tokens)
}

// fillers are short texts of one token each for most tokenizers, of which a few take the place of the next word.
func fillers() []string { return []string{" and", " the", " of", ".", " a", ",", "a"} }

// fill appends fillers until the text has exactly the tokens.
func (c CorpusSlices) fill(text string, have, tokens int) (string, error) {
	for have < tokens {
		grown := false
		for _, filler := range fillers() {
			n, err := c.Count(text + filler)
			if err != nil {
				return "", err
			}
			if n > have && n <= tokens {
				text, have, grown = text+filler, n, true
				break
			}
		}
		if !grown {
			return "", errUncuttable
		}
	}
	return text, nil
}

// openingOf returns the words that a text begins with, and those of the seed alone: as many tokens by the scale.
func (s PromptSet) openingOf(stream string, index int) (own, seeded string) {
	random := NewRandom(s.Seed, openingStream+stream, index)
	text := appendWords([]byte(opening), random, openingWords)
	seeded = string(text) + "\n\n"
	if s.Key == "" {
		return seeded, seeded
	}
	drawn, scale := s.openingRandom(source{stream, index}), s.Scale.orAssumed()
	own = opening
	for _, word := range strings.Fields(string(text[len(opening):])) {
		own += " " + scale.like(word, drawn)
	}
	return own + "\n\n", seeded
}
