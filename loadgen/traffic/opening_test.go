package traffic

import (
	"slices"
	"strings"
	"testing"
)

// openingScales are those of tokenizers of every kind, with a count of a text's tokens where it is exact.
func openingScales(t testing.TB) map[string]struct {
	scale TokenScale
	count func(string) int
} {
	t.Helper()
	of := func(each func(string) int, words bool) TokenScale {
		count := tokenizer(0, each)
		scale, err := NewTokenScale(ByTokenizer, counts(count))
		if err != nil {
			t.Fatal(err)
		}
		if words {
			var tokens []int
			for _, word := range Words() {
				tokens = append(tokens, count(word))
			}
			if scale, err = scale.WithWords(tokens); err != nil {
				t.Fatal(err)
			}
		}
		return scale
	}
	perByte := func(word string) int { return len(word) }
	return map[string]struct {
		scale TokenScale
		count func(string) int
	}{
		"assumed":        {TokenScale{}, tokenizer(0, one)},
		"one each":       {of(one, false), tokenizer(0, one)},
		"every word":     {of(twoForLong, true), tokenizer(0, twoForLong)},
		"bytes":          {of(perByte, true), tokenizer(0, perByte)},
		"mean":           {of(twoForLong, false), nil},
		"ids of a range": {ScaleOfIDs(AnyTokenIDs()), nil},
	}
}

// head is the beginning of a prompt: enough of it for the first blocks of any engine.
func head(p Prompt) string {
	if len(p.IDs) > 0 {
		var b strings.Builder
		for _, id := range p.IDs[:min(len(p.IDs), openingWords)] {
			b.WriteString(string(rune(id)))
		}
		return b.String()
	}
	fields := strings.Fields(p.Text)
	return strings.Join(fields[:min(len(fields), 1+openingWords)], " ")
}

// FuzzOpenings: prompts of other runs, streams and numbers begin with other words, have as many tokens as by the seed
// alone, and differ from that in their opening words only.
func FuzzOpenings(f *testing.F) {
	f.Add(uint64(1337), "20261101T000000Z-default-abcdef 2026-11-01T00:00:00Z", "r1", "measure", 0, uint16(512), uint8(0))
	f.Add(uint64(0), "", "x", "A", 7, uint16(3), uint8(0))
	f.Add(uint64(9), "a", "a/b", "b/measure", 1, uint16(128), uint8(64))
	f.Add(uint64(9), "a", "b", "measure", 1, uint16(128), uint8(5))
	all := openingScales(f)
	f.Fuzz(func(t *testing.T, seed uint64, one, two, stream string, index int, length uint16, shared uint8) {
		tokens := int(length%3000) + 1
		for name, of := range all {
			s := PromptSet{Seed: seed, Lengths: []Lengths{{Min: tokens, Max: tokens}}, SharedTokens: int(shared), Scale: of.scale}
			seeded := s.Prompt(stream, index)
			s.Key = "k" + one
			p := s.Prompt(stream, index)
			if p.Tokens != seeded.Tokens || p.SharedIDs != seeded.SharedIDs || p.RepeatedTokens != seeded.RepeatedTokens {
				t.Fatalf("%s: %d tokens, %d by the seed alone", name, p.Tokens, seeded.Tokens)
			}
			if of.count != nil && of.count(p.Text) != of.count(seeded.Text) {
				t.Fatalf("%s: counted as %d tokens, %d by the seed alone", name, of.count(p.Text), of.count(seeded.Text))
			}
			if back := p.Seeded(); back.Text != seeded.Text || !slices.Equal(back.IDs, seeded.IDs) || back.SharedBytes != seeded.SharedBytes {
				t.Fatalf("%s: without its opening it is %q, by the seed alone %q", name, back.Text, seeded.Text)
			}
			if again := s.Prompt(stream, index); again.Text != p.Text || !slices.Equal(again.IDs, p.IDs) {
				t.Fatalf("%s: a prompt differs from itself", name)
			}
			words := strings.Count(seeded.Text, " ")
			if len(p.IDs) > 0 {
				words = len(p.IDs)
			}
			if words < openingWords+20 {
				continue // too short to be sure that it differs
			}
			others := []Prompt{seeded}
			if one != two {
				other := s
				other.Key = "k" + two
				others = append(others, other.Prompt(stream, index))
			}
			if s.SharedTokens == 0 {
				others = append(others, s.Prompt(stream, index+1), s.Prompt(stream+"/", index))
			}
			for i, other := range others {
				if head(p) == head(other) {
					t.Fatalf("%s: prompt %d begins like another one: %q", name, i, head(p))
				}
			}
		}
	})
}

func TestOpeningWordsAreAtTheBeginningOfTheSharedText(t *testing.T) {
	s := set(t, 5, "100")
	s.SharedTokens, s.Key = 40, "r1"
	first, second := s.Prompt("measure", 1), s.Prompt("measure", 2)
	if first.Text[:first.SharedBytes] != second.Text[:second.SharedBytes] || first.RepeatedTokens != 40 {
		t.Errorf("shared %q and %q", first.Text[:first.SharedBytes], second.Text[:second.SharedBytes])
	}
	other := s
	other.Key = "r2"
	if p := other.Prompt("measure", 1); p.Text[p.SharedBytes:] != first.Text[first.SharedBytes:] || head(p) == head(first) {
		t.Error("another run has the same shared text, or other words of its own behind it")
	}
	if file := s.Shared(); file.Text != first.Text[:first.SharedBytes]+"\n\n" || file.Seeded().Text == file.Text {
		t.Errorf("before prompts of a file it is %q", file.Text)
	}
	// What is shared may be shorter than the opening.
	s.SharedTokens = 6
	for i, p := range []Prompt{s.Prompt("measure", 1), s.Prompt("measure", 2)} {
		if p.Opening.words != openingWords || p.Opening.At != len(opening) {
			t.Errorf("prompt %d: %+v", i, p.Opening)
		}
	}
}

func TestOnlyTheFirstTurnOfAConversationHasAnOpening(t *testing.T) {
	s := set(t, 5, "100")
	seeded := []Prompt{s.Turn("measure", 3, 0), s.Turn("measure", 3, 1)}
	s.Key = "r1"
	first, second := s.Turn("measure", 3, 0), s.Turn("measure", 3, 1)
	if first.Text == seeded[0].Text || first.Seeded().Text != seeded[0].Text || second.Text != seeded[1].Text {
		t.Errorf("turns %q, %q", first.Text, second.Text)
	}
}

func TestPromptsOfATraceWithOneFirstBlockHaveOneOpening(t *testing.T) {
	for name, of := range openingScales(t) {
		s := PromptSet{Seed: 3, Scale: of.scale, Key: "r1"}
		recorded := func(s PromptSet, index int, blocks ...int64) Prompt {
			return s.Recorded("measure", index, 700, 512, blocks)
		}
		first, second, third := recorded(s, 0, 1, 2), recorded(s, 1, 1, 3), recorded(s, 2)
		other := s
		other.Key = "r2"
		if head(first) != head(second) || head(first) == head(third) || head(first) == head(recorded(other, 0, 1, 2)) {
			t.Errorf("%s: %q, %q and %q", name, head(first), head(second), head(third))
		}
	}
}

func TestPromptsOfDifferentRunsShareTemplateAndOpeningOnly(t *testing.T) {
	if n, known := (TokenScale{}).CommonTokens(); known {
		t.Errorf("%d tokens, and the template's are unknown", n)
	}
	for name, want := range map[string]int{"one each": 30 + 1 + 1 + 8, "bytes": 30 + 6 + 32, "ids of a range": 8} {
		scale := openingScales(t)[name].scale
		scale.TemplateTokens = new(30)
		if n, known := scale.CommonTokens(); !known || n < want || name != "bytes" && n != want {
			t.Errorf("%s: %d tokens, want %d", name, n, want)
		}
	}
}

// A text is cut by its bytes: the words of a run must not move the end of what follows them.
func TestAClippedPromptIsThatOfTheSeedButForItsOpening(t *testing.T) {
	s := set(t, 5, "100")
	s.SharedTokens = 30
	behind := func(s PromptSet) Prompt {
		p := s.Shared()
		p.Text += strings.Repeat("The text of the user. ", 20)
		p.Tokens += Assumption().Count(strings.Repeat("The text of the user. ", 20))
		return p
	}
	for key := range 20 {
		s.Key = strings.Repeat("k", key)
		for most := 20; most < 140; most += 7 {
			seeded := s
			seeded.Key = ""
			want, fitted := behind(seeded).Clip(most, TokenScale{})
			got, fits := behind(s).Clip(most, TokenScale{})
			if fits != fitted || got.Tokens != want.Tokens || got.Seeded().Text != want.Text || got.Seeded().SharedBytes != want.SharedBytes {
				t.Fatalf("key %q, %d tokens: %v %+v, want %v %+v", s.Key, most, fits, got, fitted, want)
			}
		}
	}
}

func TestTheVocabularyIsSorted(t *testing.T) {
	if !slices.IsSorted(vocabulary[:]) {
		t.Error("words cannot be looked up in it")
	}
}
