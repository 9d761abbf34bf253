package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
)

const (
	// mostErrors bounds the different errors that are counted; a server may write another one each time.
	mostErrors = 64
	// shownErrors is how many are printed, the commonest first, and shownErrorBytes how much of each.
	shownErrors     = 3
	shownErrorBytes = 200
)

// errorCounts counts errors by their words. Those that differ in numbers alone, such as the tokens of a
// prompt, are one.
type errorCounts map[string]errorCount

type errorCount struct {
	words string // of the first
	n     int
}

// add counts the error of a record, which has one unless it ended ok.
func (c errorCounts) add(r openai.Record) {
	if r.Status == openai.StatusOK {
		return
	}
	c.count(errorCount{errorWords(r), 1})
}

func (c errorCounts) count(more errorCount) {
	key := withoutNumbers(more.words)
	known, is := c[key]
	switch {
	case is:
		known.n += more.n
		c[key] = known
	case len(c) < mostErrors:
		c[key] = more
	}
}

func (c errorCounts) merge(o errorCounts) {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		c.count(o[key])
	}
}

// errorWords are the status of a request and its error, which begins with the status where the server
// answered with one.
func errorWords(r openai.Record) string {
	words := openai.Printable(r.Error, shownErrorBytes)
	switch {
	case words == "":
		return string(r.Status)
	case r.Status == openai.StatusHTTP:
		return words
	}
	return string(r.Status) + ": " + words
}

func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// String lists the commonest errors, such as "HTTP 503: no engine (20), timeout: no first token within 10s (1)".
func (c errorCounts) String() string {
	all := slices.SortedFunc(maps.Values(c), func(a, b errorCount) int {
		return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.words, b.words))
	})
	var parts []string
	for _, e := range all[:min(len(all), shownErrors)] {
		parts = append(parts, fmt.Sprintf("%s (%d)", e.words, e.n))
	}
	if len(all) > shownErrors {
		parts = append(parts, "and others")
	}
	return strings.Join(parts, ", ")
}
