package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEveryTokenIsInTheVocabularyOnce(t *testing.T) {
	words := newTokenizer()
	if sorted := slices.Sorted(slices.Values(words.tokens)); len(slices.Compact(sorted)) != vocabularySize || !slices.Contains(words.tokens, "Ġthe") {
		t.Errorf("%d tokens", len(words.tokens))
	}
}

func TestTheModelIsAsLongAsItsHeaderHasIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	size := sizes{width: 64, layers: 1, feedForward: 96, heads: 2, kvHeads: 1, context: 128, float: 2}
	words := newTokenizer()
	if err := writeGGUF(path, size, words); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	weights := 0
	for _, tensor := range size.tensors(len(words.tokens)) {
		weights += tensor.bytes() + len(padding(tensor.bytes()))
	}
	if !bytes.HasPrefix(b, []byte("GGUF\x03\x00\x00\x00")) || len(b)%ggufAlignment != 0 || len(b) < weights || len(b) > weights+256<<10 {
		t.Errorf("%d bytes, of which the weights are %d", len(b), weights)
	}
	for f, want := range map[float64]uint16{1: 0x3c00, -2: 0xc000, 0.02: 0x251e, 0: 0, 1e-9: 0, -1e-9: 0x8000, 65504: 0x7bff} {
		if got := float16(f); got != want {
			t.Errorf("%v is %#x, want %#x", f, got, want)
		}
	}
}
