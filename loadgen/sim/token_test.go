package sim

import (
	"slices"
	"strings"
	"testing"
)

// cut is the list of tokens, for tests that want to see them.
func cut(text string) []string {
	var tokens []string
	for len(text) > 0 {
		n := tokenBytes(text)
		tokens = append(tokens, text[:n])
		text = text[n:]
	}
	return tokens
}

func TestTextsAreCutAsDocumented(t *testing.T) {
	for text, want := range map[string][]string{
		"":                      nil,
		"hello":                 {"hello"},
		"hello world.":          {"hello", " world", "."},
		"instruction":           {"instruct", "ion"},
		"in 2026":               {"in", " 202", "6"},
		"a1b":                   {"a", "1", "b"},
		"a  b":                  {"a", " ", " b"},
		"a\n\n b":               {"a", "\n\n", " b"},
		"a \n b":                {"a", " \n", " b"},
		"end ":                  {"end", " "},
		"   ":                   {"   "},
		"日本 語":                  {"日", "本", " 語"},
		"it's":                  {"it", "'", "s"},
		"\xff\xfe":              {"\xff", "\xfe"},
		"Grüße\u00a0\u00a0 you": {"Gr", "ü", "ß", "e", "\u00a0\u00a0", " you"},
	} {
		if got := cut(text); !slices.Equal(got, want) {
			t.Errorf("%q is cut into %q, want %q", text, got, want)
		}
		if got := countTokens(text); got != len(want) {
			t.Errorf("%q counts %d tokens, want %d", text, got, len(want))
		}
	}
}

func TestEveryEntryOfTheVocabularyIsOneTokenInAnyContext(t *testing.T) {
	for _, first := range vocabulary {
		for _, second := range vocabulary {
			if got := cut(first + second); !slices.Equal(got, []string{first, second}) {
				t.Fatalf("%q then %q are cut into %q", first, second, got)
			}
		}
	}
	for i, entry := range vocabulary {
		if beginsWithSpace := entry[0] == ' '; beginsWithSpace != (uint64(i) < wordsOnly) {
			t.Errorf("entry %d, %q, is on the wrong side of wordsOnly", i, entry)
		}
	}
}

// FuzzTokensPartitionTheText: tokens are never empty and together are the text; a text with
// something after it never has fewer tokens; a word more is a token more.
func FuzzTokensPartitionTheText(f *testing.F) {
	for _, seed := range []string{"", " ", "hello world", "a  b\r\n\tc", "日本 語", "\xff \xc3", "12345 67.8e9", strings.Repeat(" ", 9) + "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := cut(text)
		if strings.Join(tokens, "") != text {
			t.Fatalf("%q became %q", text, tokens)
		}
		if slices.Contains(tokens, "") || len(tokens) > len(text) {
			t.Fatalf("%q has empty tokens: %q", text, tokens)
		}
		if got := countTokens(text + "."); got < len(tokens) {
			t.Fatalf("%q loses tokens when it grows: %d, then %d", text, len(tokens), got)
		}
		if text != "" && !strings.HasSuffix(text, " ") && countTokens(text+" word") != len(tokens)+1 {
			t.Fatalf("%q and one word more: not one token more", text)
		}
	})
}
