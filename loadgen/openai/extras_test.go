package openai

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// knownCounts are the counts of the known engines.
func knownCounts() []AnswerCount {
	var all []AnswerCount
	for _, count := range supported.Engines().AnswerCounts() {
		all = append(all, AnswerCount{Counted(count.Of), count.Path})
	}
	return all
}

// knownExtras fails if an engine has a count of another kind.
func knownExtras(t *testing.T) *extras {
	t.Helper()
	tree, err := extrasOf(knownCounts())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// FuzzCountsOfEnginesAreFoundAtTheirPath puts a number at a path that no object of OpenAI has, in the answer, a choice or usage.
func FuzzCountsOfEnginesAreFoundAtTheirPath(f *testing.F) {
	f.Add("", "a/b", uint16(4))
	f.Add("usage", "a", uint16(0))
	f.Add("choices", "a/a/a/a", uint16(9))
	f.Fuzz(func(t *testing.T, top, joined string, number uint16) {
		var path []string
		for _, name := range strings.Split(joined, "/")[:min(4, strings.Count(joined, "/")+1)] {
			path = append(path, fmt.Sprintf("x%x", name))
		}
		last := len(path) - 1
		other := append(slices.Clone(path[:last]), path[last]+"_2")
		text := strconv.Itoa(int(number))
		for _, name := range slices.Backward(path) {
			text = fmt.Sprintf(`{"other":[{}],%q:%s}`, name, text)
		}
		switch top {
		case "choices":
			path, other, text = slices.Insert(path, 0, top), slices.Insert(other, 0, top), fmt.Sprintf(`{%q:[%s]}`, top, text)
		case "usage":
			path, other, text = slices.Insert(path, 0, top), slices.Insert(other, 0, top), fmt.Sprintf(`{%q:%s}`, top, text)
		}
		tree, err := extrasOf([]AnswerCount{{Of: CountedDrafts, Path: path}, {Of: CountedCached, Path: other}})
		if err != nil {
			t.Fatal(err)
		}
		k := chunk{extras: tree}
		if !k.decode([]byte(text)) || k.extra.drafts != (count{int(number), true}) || k.extra.cached.known {
			t.Errorf("%s: %+v", text, k.extra)
		}
		if unknown := (&chunk{}); !unknown.decode([]byte(text)) || unknown.extra != (usage{}) {
			t.Errorf("%s without engines: %+v", text, unknown.extra)
		}
	})
}
