package traffic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func set(t *testing.T, seed uint64, lengths ...string) PromptSet {
	t.Helper()
	s := PromptSet{Seed: seed}
	for _, text := range lengths {
		l, err := ParseLengths(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Lengths = append(s.Lengths, l)
	}
	return s
}

func TestPromptsAreTheSameForTheSameSeed(t *testing.T) {
	s := set(t, 1337, "512:2048")
	for index := range 50 {
		if again := set(t, 1337, "512:2048"); s.Prompt("measure", index).Text != again.Prompt("measure", index).Text {
			t.Fatalf("prompt %d differs from itself", index)
		}
	}
	if s.Prompt("measure", 3).Text == set(t, 1338, "512:2048").Prompt("measure", 3).Text {
		t.Error("another seed gave the same prompt")
	}
	if s.Prompt("measure", 3).Text == s.Prompt("warmup", 3).Text {
		t.Error("another stream gave the same prompt")
	}
	// Frozen: a workload of one version must be repeatable by the next.
	if got, want := set(t, 1337, "6").Prompt("measure", 0).Text, "Words: child body make child"; got != want {
		t.Errorf("prompt %q, frozen as %q", got, want)
	}
}

func TestNoTwoPromptsShareABlock(t *testing.T) {
	s, seen := set(t, 1, "512"), map[string]bool{}
	for index := range 20_000 {
		// Engines cache blocks of 16 tokens and more: the opening and fourteen words.
		head := strings.Join(strings.Fields(s.Prompt("measure", index).Text)[:15], " ")
		if seen[head] {
			t.Fatalf("prompt %d begins like another one: %q", index, head)
		}
		seen[head] = true
	}
}

func TestTextHasAsManyWordsAsItsLength(t *testing.T) {
	for _, tokens := range []string{"64", "100", "512", "4097"} {
		p := set(t, 5, tokens).Prompt("measure", 1)
		words := strings.TrimSuffix(strings.TrimPrefix(p.Text, opening), instruction)
		scale := Assumption()
		if got := len(strings.Fields(words)) + scale.OpeningTokens + scale.InstructionTokens; got != p.Tokens || tokens != fmt.Sprint(got) {
			t.Errorf("%s tokens asked for, %d promised, the text stands for %d", tokens, p.Tokens, got)
		}
		if !strings.HasSuffix(p.Text, instruction) {
			t.Errorf("%s tokens: no instruction at the end", tokens)
		}
	}
}

func TestVeryShortPromptsAreStillPrompts(t *testing.T) {
	for _, tokens := range []string{"1", "2", "3", "63"} {
		p := set(t, 5, tokens).Prompt("measure", 1)
		if !strings.HasPrefix(p.Text, opening) || strings.Contains(p.Text, instruction) || p.Tokens < 2 {
			t.Errorf("%s tokens: %+v", tokens, p)
		}
	}
}

func TestSharedTextComesFirstAndAddsToAPromptsLength(t *testing.T) {
	s := set(t, 5, "100")
	s.SharedTokens = 40
	first, second := s.Prompt("measure", 1), s.Prompt("warmup", 2)
	if first.Tokens != 140 || first.SharedBytes == 0 || first.Text[:first.SharedBytes] != second.Text[:second.SharedBytes] {
		t.Errorf("%d tokens, shared %q and %q", first.Tokens, first.Text[:first.SharedBytes], second.Text[:second.SharedBytes])
	}
	if words := len(strings.Fields(first.Text[:first.SharedBytes])); words != 40-Assumption().OpeningTokens+1 {
		t.Errorf("the shared text has %d words", words)
	}
	if own := first.Text[first.SharedBytes:]; own == second.Text[second.SharedBytes:] || !strings.HasPrefix(own, " ") {
		t.Errorf("what follows is %q", own)
	}
	other := s
	other.Seed++
	if got := other.Prompt("measure", 1); got.Text[:got.SharedBytes] == first.Text[:first.SharedBytes] {
		t.Error("another seed has the same shared text")
	}
}

func TestSharedTextForOtherPromptsIsThatOfTheSet(t *testing.T) {
	s := set(t, 5, "100")
	if got := s.Shared(); got.Text != "" || got.Tokens != 0 || got.SharedBytes != 0 {
		t.Errorf("a set that shares nothing shares %+v", got)
	}
	s.SharedTokens = 40
	p, made := s.Shared(), s.Prompt("measure", 1)
	if p.Text != made.Text[:made.SharedBytes]+"\n\n" || p.Tokens != 41 || p.SharedBytes != len(p.Text) {
		t.Errorf("%d tokens, %d bytes shared: %q", p.Tokens, p.SharedBytes, p.Text)
	}
}

func TestPromptsWithEqualBlocksBeginAlike(t *testing.T) {
	s := set(t, 3, "1")
	recorded := func(index, tokens int, blocks ...int64) string {
		p := s.Recorded("measure", index, tokens, 512, blocks)
		if p.Tokens != tokens {
			t.Fatalf("%d tokens, want %d", p.Tokens, tokens)
		}
		return p.Text
	}
	common := func(a, b string) int {
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		return len(strings.Fields(a[:n]))
	}
	long := recorded(0, 1400, 0, 7, 8)
	for _, c := range []struct {
		what        string
		other       string
		least, most int
	}{
		{"the same blocks, cut short", recorded(1, 1300, 0, 7, 8), 1298, 1300},
		{"two of them", recorded(2, 1400, 0, 7, 9), 1022, 1030},
		{"the first one", recorded(3, 1400, 0, 8, 7), 510, 518},
		{"none", recorded(4, 1400), 1, 4},
		{"the same, of another request", recorded(5, 1400, 0, 7, 8), 1399, 1399},
	} {
		if n := common(long, c.other); n < c.least || n > c.most {
			t.Errorf("%s: %d words in common, want %d to %d", c.what, n, c.least, c.most)
		}
	}
}

func TestMixedLengthsComeFromBothDistributions(t *testing.T) {
	s, long := set(t, 1, "100:200", "1000:2000"), 0
	const n = 2000
	for index := range n {
		tokens := s.Prompt("measure", index).Tokens
		if tokens >= 1000 {
			long++
		}
		if tokens < 100 || tokens > 2000 || tokens > 200 && tokens < 1000 {
			t.Fatalf("%d tokens", tokens)
		}
	}
	if share := float64(long) / n; math.Abs(share-0.5) > 0.05 {
		t.Errorf("%.2f of the prompts are long, want half", share)
	}
}

func TestLengthsHaveTheirMeanAndSpread(t *testing.T) {
	for _, c := range []struct {
		text     string
		mean, sd float64
	}{
		{"300", 300, 0},
		{"100:500", 300, 115.8}, // (401^2 - 1) / 12, square root
		{"1000,100", 1000, 98.7},
	} {
		l, err := ParseLengths(c.text)
		if err != nil {
			t.Fatal(err)
		}
		const n = 50_000
		var sum, squares float64
		random := NewRandom(4, "lengths", 0)
		for range n {
			v := float64(l.Draw(random))
			sum, squares = sum+v, squares+v*v
		}
		mean := sum / n
		sd := math.Sqrt(max(0, squares/n-mean*mean))
		if math.Abs(mean-c.mean) > 3 || math.Abs(sd-c.sd) > 2 {
			t.Errorf("%s: mean %.1f sd %.1f, want %.1f and %.1f", c.text, mean, sd, c.mean, c.sd)
		}
	}
}

func TestParseLengthsRefusesInvalidLengths(t *testing.T) {
	for _, text := range []string{"", "0", "-5", "x", "5:4", "0:4", "1:", ":", ",", "5,", "5,-1", "5,NaN", "5,Inf", "0,1", "2000000", "1:2:3", "1e3", "1.5"} {
		if l, err := ParseLengths(text); err == nil {
			t.Errorf("%q became %+v", text, l)
		}
	}
}

func TestClipLowersTheUpperBoundOrReportsThatNothingIsLeft(t *testing.T) {
	l := Lengths{Min: 100, Max: 1000}
	if got, ok := l.Clip(500); !ok || got.Max != 500 || got.Min != 100 {
		t.Errorf("clipped to %+v, %v", got, ok)
	}
	if got, ok := l.Clip(5000); !ok || got != l {
		t.Errorf("a limit above changed it to %+v, %v", got, ok)
	}
	if _, ok := l.Clip(99); ok {
		t.Error("a limit below the shortest was accepted")
	}
}

func TestVocabularyHasEachWordOnce(t *testing.T) {
	words := slices.Clone(vocabulary[:])
	slices.Sort(words)
	if len(slices.Compact(words)) != len(vocabulary) {
		t.Error("a word stands there twice")
	}
}

func FuzzParseLengths(f *testing.F) {
	for _, seed := range []string{"256", "512:2048", "1000,100", "1,1048576", "1:1", "5:4", "-1", "5,0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLengths(text)
		if err != nil {
			return
		}
		if l.Min < 1 || l.Max > MaxTokens || l.Min > l.Max {
			t.Fatalf("%q: bounds %d to %d", text, l.Min, l.Max)
		}
		random := NewRandom(1, text, 0)
		for range 20 {
			if n := l.Draw(random); n < l.Min || n > l.Max {
				t.Fatalf("%q drew %d", text, n)
			}
		}
		if clipped, ok := l.Clip(l.Min); !ok || clipped.Draw(random) != l.Min {
			t.Fatalf("%q: clipped to its least it drew something else", text)
		}
	})
}

func BenchmarkPrompt(b *testing.B) {
	for _, tokens := range []int{2048, MaxTokens} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			s := PromptSet{Seed: 1, Lengths: []Lengths{{Min: tokens, Max: tokens}}}
			b.ReportAllocs()
			for index := 0; b.Loop(); index++ {
				if p := s.Prompt("measure", index); p.Tokens != tokens {
					b.Fatal(p.Tokens)
				}
			}
			b.ReportMetric(float64(b.N)*float64(tokens)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
