package prompt

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func set(t *testing.T, seed uint64, lengths ...string) Set {
	t.Helper()
	s := Set{Seed: seed}
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
		if again := set(t, 1337, "512:2048"); s.Prompt("measure", index) != again.Prompt("measure", index) {
			t.Fatalf("prompt %d differs from itself", index)
		}
	}
	if s.Prompt("measure", 3) == set(t, 1338, "512:2048").Prompt("measure", 3) {
		t.Error("another seed gave the same prompt")
	}
	if s.Prompt("measure", 3) == s.Prompt("warmup", 3) {
		t.Error("another stream gave the same prompt")
	}
	// Frozen: a workload of one version must be repeatable by the next.
	if got, want := set(t, 1337, "14").Prompt("measure", 0).Text, "42a66f6cacaa3649 child body make child"; got != want {
		t.Errorf("prompt %q, frozen as %q", got, want)
	}
}

func TestNoTwoPromptsShareTheirBeginning(t *testing.T) {
	s, seen := set(t, 1, "512"), map[string]bool{}
	for index := range 20_000 {
		// Engines cache blocks of 16 tokens and more; the tag alone is the first 16 characters.
		head := s.Prompt("measure", index).Text[:16]
		if seen[head] {
			t.Fatalf("prompt %d begins like another one: %q", index, head)
		}
		seen[head] = true
	}
}

func TestTextHasTheWordsThatItsLengthAsksFor(t *testing.T) {
	for _, tokens := range []string{"64", "100", "512", "4097"} {
		p := set(t, 5, tokens).Prompt("measure", 1)
		words := len(strings.Fields(p.Text)) - 1 // without the tag
		// The instruction has as many words as tokens, but for its punctuation.
		if got := words + tagTokens; math.Abs(float64(got-p.Tokens)) > 3 {
			t.Errorf("%s tokens asked for, text stands for %d", tokens, got)
		}
		if !strings.HasSuffix(p.Text, instruction) {
			t.Errorf("%s tokens: no instruction at the end", tokens)
		}
	}
}

func TestVeryShortPromptsAreStillPrompts(t *testing.T) {
	for _, tokens := range []string{"1", "10", "11", "63"} {
		p := set(t, 5, tokens).Prompt("measure", 1)
		if len(p.Text) < 16 || strings.Contains(p.Text, instruction) {
			t.Errorf("%s tokens: %q", tokens, p.Text)
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
		random := Random(4, "lengths", 0)
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

func TestParseLengthsRefusesWhatIsNoLength(t *testing.T) {
	for _, text := range []string{"", "0", "-5", "x", "5:4", "0:4", "1:", ":", ",", "5,", "5,-1", "5,NaN", "5,Inf", "0,1", "2000000", "1:2:3", "1e3", "1.5"} {
		if l, err := ParseLengths(text); err == nil {
			t.Errorf("%q became %+v", text, l)
		}
	}
}

func TestClipLowersTheUpperBoundOrSaysThatNothingIsLeft(t *testing.T) {
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

func TestVocabularyHasNoWordTwice(t *testing.T) {
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
		random := Random(1, text, 0)
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

func BenchmarkPrompt2048(b *testing.B) {
	s := Set{Seed: 1, Lengths: []Lengths{{Min: 2048, Max: 2048}}}
	b.ReportAllocs()
	for index := 0; b.Loop(); index++ {
		if p := s.Prompt("measure", index); !utf8.ValidString(p.Text) {
			b.Fatal("not text")
		}
	}
}
