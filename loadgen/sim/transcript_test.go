package sim

import (
	"slices"
	"strings"
	"testing"
)

func keysOf(salt, text string) []uint64 {
	s := newTranscript(4, salt)
	s.write(text)
	return s.keys
}

func TestTheKeyOfABlockDependsOnAllTextBeforeItsEnd(t *testing.T) {
	long := keysOf("", strings.Repeat(" a", 20))
	if short := keysOf("", strings.Repeat(" a", 11)); len(long) != 5 || !slices.Equal(short, long[:2]) {
		t.Errorf("%v is not the beginning of %v", short, long)
	}
	other := keysOf("", " b"+strings.Repeat(" a", 19))
	for i := range long {
		if slices.Contains(long, other[i]) || slices.Index(long, long[i]) != i {
			t.Fatalf("block %d is the same in another text, or another one of this", i)
		}
	}
}

func TestTheSpellingOfASpecialTokenIsNotTheToken(t *testing.T) {
	special, spelled := newTranscript(1, ""), newTranscript(1, "")
	special.special(endOfTurn)
	spelled.write(endOfTurn)
	if special.tokens != 1 || spelled.tokens == 1 || slices.Contains(spelled.keys, special.keys[0]) {
		t.Errorf("%v, %v", special.keys, spelled.keys)
	}
}

// FuzzKeysOfBlocks: one key for each full block, the same for the same text; those of a text go on
// in any longer one that is cut alike; nothing is shared with another salt.
func FuzzKeysOfBlocks(f *testing.F) {
	f.Add("", "x")
	f.Add("hello world. this is a long text, of more than one block", " and more")
	f.Add("\xff\xfe a b c d e f \xff", "<|eot_id|>")
	f.Fuzz(func(t *testing.T, text, more string) {
		keys := keysOf("", text)
		if len(keys) != countTokens(text)/4 || !slices.Equal(keys, keysOf("", text)) {
			t.Fatalf("%d keys for %d tokens", len(keys), countTokens(text))
		}
		salted := keysOf("salt", text)
		for i, key := range keys {
			if salted[i] == key {
				t.Fatalf("block %d is the same with another salt", i)
			}
		}
		longer := cut(text + more)
		for i, token := range cut(text) {
			if longer[i] != token {
				return // the last word goes on
			}
		}
		if !slices.Equal(keysOf("", text+more)[:len(keys)], keys) {
			t.Fatalf("%q does not go on in %q", text, text+more)
		}
	})
}
