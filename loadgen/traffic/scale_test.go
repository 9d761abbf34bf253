package traffic

import (
	"slices"
	"strings"
	"testing"
)

// tokenizer counts words with the given tokens each, punctuation apart; template is added to every text.
func tokenizer(template int, of func(word string) int) func(text string) int {
	return func(text string) int {
		n := template
		for _, word := range strings.Fields(text) {
			plain := strings.Trim(word, ".:")
			n += of(plain) + len(word) - len(plain)
		}
		return n
	}
}

func one(string) int { return 1 }

// twoForLong has two tokens for words of six letters and more.
func twoForLong(word string) int { return 1 + min(len(word)/6, 1) }

func counts(count func(string) int) ProbeCounts {
	p := NewProbes()
	return ProbeCounts{count(p.One), count(p.Short), count(p.Instructed), count(p.Whole)}
}

func TestLengthsAreExactWhereEveryWordIsOneToken(t *testing.T) {
	scale, err := NewTokenScale(ByUsage, counts(tokenizer(23, one)))
	if err != nil {
		t.Fatal(err)
	}
	if !scale.Exact() || !strings.HasPrefix(scale.String(), "exact") {
		t.Errorf("scale %+v", scale)
	}
	expectLengths(t, scale, tokenizer(0, one), 0)
}

// A tokenizer of single bytes takes more than 64 tokens for the instruction alone.
func TestPromptsDifferWhereEveryByteIsAToken(t *testing.T) {
	scale, err := NewTokenScale(ByUsage, counts(func(text string) int { return len(text) }))
	if err != nil {
		t.Fatal(err)
	}
	for _, tokens := range []string{"64", "80", "150", "300"} {
		s := set(t, 5, tokens)
		s.Scale = scale
		if a, b := s.Prompt("measure", 1), s.Prompt("measure", 2); a.Text == b.Text {
			t.Errorf("%s tokens: two prompts are %q", tokens, a.Text)
		}
	}
}

// The counts are those of llama.cpp (commit 0c1e570) with a vocabulary of single bytes, in which a space is
// three of them, and a few words.
func TestCountsOfATokenizerOfBytesAreAccepted(t *testing.T) {
	scale, err := NewTokenScale(ByUsage, ProbeCounts{One: 1, Short: 76, Instructed: 163, Whole: 1971})
	if err != nil {
		t.Fatal(err)
	}
	if scale.InstructionTokens != 87 || scale.TokensPerWord < 7.06 || scale.TokensPerWord > 7.07 {
		t.Errorf("scale %+v", scale)
	}
	for _, tokens := range []int{64, 512, 4000} {
		s := PromptSet{Seed: 9, Lengths: []Lengths{{Min: tokens, Max: tokens}}, Scale: scale}
		if p := s.Prompt("measure", 4); len(p.Text) > tokens {
			t.Errorf("%d tokens were asked for, the text has %d bytes", tokens, len(p.Text))
		}
	}
}

func TestLengthsAreExactWhereTheTokensOfEveryWordAreKnown(t *testing.T) {
	count := tokenizer(0, twoForLong)
	scale, err := NewTokenScale(ByTokenizer, counts(count))
	if err != nil {
		t.Fatal(err)
	}
	if scale.Exact() {
		t.Error("a mean is called exact")
	}
	var words []int
	for _, word := range Words() {
		words = append(words, count(word))
	}
	if scale, err = scale.WithWords(words); err != nil || !scale.Exact() {
		t.Fatalf("scale %+v, %v", scale, err)
	}
	if _, err := scale.WithWords(words[1:]); err == nil {
		t.Error("a word without a count was accepted")
	}
	expectLengths(t, scale, count, 0)
}

func TestLengthsAreCloseWhereOnlyTheMeanIsKnown(t *testing.T) {
	count := tokenizer(40, twoForLong)
	scale, err := NewTokenScale(ByUsage, counts(count))
	if err != nil {
		t.Fatal(err)
	}
	if scale.Exact() || !strings.Contains(scale.String(), "calibrated") {
		t.Errorf("scale %+v", scale)
	}
	expectLengths(t, scale, tokenizer(0, twoForLong), 0.02)
}

// A vocabulary of 4,000 entries has the first words of the alphabet whole, and splits most others.
func TestLengthsAreCloseWhereTheFirstWordsAreShorterThanTheMean(t *testing.T) {
	split := func(word string) int {
		if at := slices.Index(vocabulary[:], word); at >= probeWords {
			return 2
		}
		return 1
	}
	scale, err := NewTokenScale(ByUsage, counts(tokenizer(9, split)))
	if err != nil {
		t.Fatal(err)
	}
	expectLengths(t, scale, tokenizer(0, split), 0.02)
	var words []int
	for _, word := range Words() {
		words = append(words, tokenizer(0, split)(word))
	}
	if scale, err = scale.WithWords(words); err != nil || !scale.Exact() {
		t.Fatalf("scale %+v, %v", scale, err)
	}
	expectLengths(t, scale, tokenizer(0, split), 0)
}

func expectLengths(t *testing.T, scale TokenScale, count func(string) int, tolerance float64) {
	t.Helper()
	for _, tokens := range []int{30, 64, 2048, 50_000} {
		s := PromptSet{Seed: 9, Lengths: []Lengths{{Min: tokens, Max: tokens}}, Scale: scale, SharedTokens: 100}
		p := s.Prompt("measure", 4)
		got := count(p.Text)
		if allowed := int(tolerance*float64(tokens)) + min(int(1000*tolerance), 8); got < tokens+100-allowed || got > tokens+100+allowed || p.Tokens != tokens+100 {
			t.Errorf("%d tokens and 100 shared ones asked for: %d promised, the text has %d", tokens, p.Tokens, got)
		}
	}
}

func TestCountsThatAreNoTokenizersAreRefused(t *testing.T) {
	for _, c := range []ProbeCounts{{}, {1, 18, 34, 34}, {1, 18, 34, 100_000}, {1, 18, 18, 274}, {1, 1000, 1016, 1272}, {5, 5, 21, 277}, {-9, 18, 34, 290}} {
		if s, err := NewTokenScale(ByUsage, c); err == nil {
			t.Errorf("%+v became %+v", c, s)
		}
	}
}

func TestWithoutCountsTheScaleIsAnAssumption(t *testing.T) {
	if got := (TokenScale{}).String(); !strings.Contains(got, "assumed") || (TokenScale{}).Exact() || Assumption().Exact() {
		t.Errorf("%q", got)
	}
}

func FuzzNewScale(f *testing.F) {
	f.Add(1, 18, 34, 290, uint64(5))
	f.Add(24, 41, 57, 400, uint64(1000))
	f.Fuzz(func(t *testing.T, one, short, instructed, whole int, tokens uint64) {
		scale, err := NewTokenScale(ByUsage, ProbeCounts{one, short, instructed, whole})
		if err != nil {
			return
		}
		asked := int(tokens%5000) + 1
		p := PromptSet{Lengths: []Lengths{{Min: asked, Max: asked}}, Scale: scale}.Prompt("measure", 0)
		if p.Tokens < 1 || p.Tokens > max(asked, scale.OpeningTokens+scale.InstructionTokens) || len(p.Text) > 9*asked+200 {
			t.Fatalf("scale %+v, %d tokens asked for: %d in %d bytes", scale, asked, p.Tokens, len(p.Text))
		}
	})
}
