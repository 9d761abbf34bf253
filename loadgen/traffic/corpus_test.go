package traffic

import (
	"bytes"
	"compress/bzip2"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
)

// pieces counts the pieces of at most so many bytes that the words of a text are cut into, as byte-pair tokenizers do.
func pieces(longest int) func(string) (int, error) {
	return func(text string) (int, error) {
		n := 0
		for word := range strings.FieldsSeq(text) {
			n += (len(word) + longest - 1) / longest
		}
		return n, nil
	}
}

func TestTheCorpusIsTheTextOfItsHash(t *testing.T) {
	text, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(opticks)))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != CorpusSHA256 {
		t.Errorf("the corpus has the hash %x", sum)
	}
	if n := len(loadCorpus().words); n < 100_000 {
		t.Errorf("%d words: a depth of 100,000 tokens would repeat the text", n)
	}
	if strings.ContainsAny(CorpusSample(), "_\n") {
		t.Error("the corpus has line breaks or marks of emphasis")
	}
}

func TestASliceHasExactlyTheTokensOfTheTokenizer(t *testing.T) {
	for longest := range 8 {
		count := pieces(longest + 1)
		slices := CorpusSlices{Set: PromptSet{Seed: 7, Key: "run"}, Count: count}
		for _, tokens := range []int{1, 2, 5, 31, 63, 64, 65, 100, 2048, 30_000} {
			for index := range 3 {
				slice, err := slices.Cut("depth", index, tokens, true, nil)
				if err != nil {
					t.Fatalf("pieces of %d bytes, %d tokens: %v", longest+1, tokens, err)
				}
				if n, _ := count(slice.Text); n != tokens || slice.Tokens != tokens {
					t.Errorf("pieces of %d bytes: a slice of %d tokens has %d", longest+1, tokens, n)
				}
			}
		}
	}
}

// TestFewCountsFindALongSlice: each count sends the whole text to the server.
func TestFewCountsFindALongSlice(t *testing.T) {
	asked, count := 0, pieces(4)
	slices := CorpusSlices{Set: PromptSet{Seed: 1}, Count: func(text string) (int, error) { asked++; return count(text) }}
	for index := range 20 {
		if _, err := slices.Cut("depth", index, 50_000, true, nil); err != nil {
			t.Fatal(err)
		}
	}
	if asked > 20*12 {
		t.Errorf("%d counts for 20 slices", asked)
	}
}

// joined counts pieces of a request that holds a text: every fourth character of the text that meets the request's own is
// one token with it, as byte-pair tokenizers join characters.
func joined(count func(string) (int, error)) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := count(text)
		if n += 20; text[0]%4 == 0 {
			n--
		}
		if text[len(text)-1]%4 == 0 {
			n--
		}
		return n, err
	}
}

func TestARequestHasExactlyTheTokensWhereItsTextMeetsTheTemplate(t *testing.T) {
	for longest := range 6 {
		count := pieces(longest + 1)
		whole := joined(count)
		for _, tokens := range []int{30, 64, 200, 4096} {
			for index := range 50 {
				slices := CorpusSlices{Set: PromptSet{Seed: 7, Key: "run"}, Count: count}
				surplus := func(text string) (int, error) { n, err := whole(text); return n - tokens, err }
				slice, err := slices.Cut("depth", index, tokens-20, index%2 == 0, surplus)
				if err != nil {
					t.Fatal(err)
				}
				if n, _ := whole(slice.Text); n-tokens != slice.Surplus || slice.Surplus != 0 {
					t.Errorf("pieces of %d bytes: a request of %d tokens has %d, %d too many by its slice", longest+1, tokens, n, slice.Surplus)
				}
			}
		}
	}
}

func TestTheNearestSliceIsTakenWhereNoneFits(t *testing.T) {
	odd := func(text string) (int, error) { n, err := pieces(4)(text); return 2*n + 1, err }
	surplus := func(text string) (int, error) { n, err := odd(text); return n - 100, err }
	slice, err := CorpusSlices{Count: pieces(4)}.Cut("s", 0, 50, false, surplus)
	if n, _ := odd(slice.Text); err != nil || n != 99 && n != 101 || slice.Surplus != n-100 {
		t.Errorf("%d tokens, %+v, %v", n, slice, err)
	}
	broken := errors.New("gone")
	if _, err := (CorpusSlices{Count: pieces(4)}).Cut("s", 0, 50, false, func(string) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestALongSliceBeginsTheTextAgain(t *testing.T) {
	tokens := 150_000
	slice, err := CorpusSlices{Set: PromptSet{Seed: 1}, Count: pieces(100)}.Cut("depth", 0, tokens, false, nil)
	if err != nil || len(strings.Fields(slice.Text)) != tokens {
		t.Errorf("%d words, %v", len(strings.Fields(slice.Text)), err)
	}
}

func TestSlicesDifferByIndexStreamSeedAndRun(t *testing.T) {
	count, scale := pieces(4), Assumption()
	for _, word := range Words() {
		n, _ := count(word)
		scale.WordTokens = append(scale.WordTokens, n)
	}
	cut := func(seed uint64, key, stream string, index int) Slice {
		t.Helper()
		slice, err := CorpusSlices{Set: PromptSet{Seed: seed, Key: key, Scale: scale}, Count: count}.Cut(stream, index, 200, true, nil)
		if err != nil {
			t.Fatal(err)
		}
		return slice
	}
	first := cut(1, "a", "s", 0)
	if again := cut(1, "a", "s", 0); again != first {
		t.Error("the same slice is another text the second time")
	}
	for name, other := range map[string]Slice{"index": cut(1, "a", "s", 1), "stream": cut(1, "a", "t", 0), "seed": cut(2, "a", "s", 0), "run": cut(1, "b", "s", 0)} {
		beginning := func(text string) string { return strings.Join(strings.Fields(text)[:openingWords+1], " ") }
		if beginning(other.Text) == beginning(first.Text) {
			t.Errorf("with another %s the text begins alike: %.60q", name, other.Text)
		}
		if (other.Seeded == first.Seeded) != (name == "run") {
			t.Errorf("with another %s the text of the seed alone: equal is %t", name, other.Seeded == first.Seeded)
		}
	}
}

func TestASliceThatNoTextCanHaveIsRefused(t *testing.T) {
	even := func(text string) (int, error) { return 2 * len(strings.Fields(text)), nil }
	if _, err := (CorpusSlices{Count: even}).Cut("s", 0, 33, false, nil); !errors.Is(err, errUncuttable) {
		t.Errorf("an odd number of tokens by an even tokenizer: %v", err)
	}
	broken := errors.New("the server has gone")
	if _, err := (CorpusSlices{Count: func(string) (int, error) { return 0, broken }}).Cut("s", 0, 33, true, nil); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func FuzzASliceIsExactOrRefused(f *testing.F) {
	f.Add(uint64(1), uint16(100), uint8(3), true)
	f.Add(uint64(9), uint16(0), uint8(0), false)
	f.Fuzz(func(t *testing.T, seed uint64, tokens uint16, longest uint8, opened bool) {
		count := pieces(int(longest) + 1)
		slice, err := CorpusSlices{Set: PromptSet{Seed: seed, Key: "k"}, Count: count}.Cut("s", int(longest), int(tokens), opened, nil)
		if err != nil {
			if !errors.Is(err, errUncuttable) {
				t.Fatal(err)
			}
			return
		}
		if n, _ := count(slice.Text); n != int(tokens) {
			t.Fatalf("%d tokens, asked for %d", n, tokens)
		}
	})
}
