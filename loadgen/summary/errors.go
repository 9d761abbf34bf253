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
	// mostErrors bounds the number of different errors that are counted; a server may write a new one each time.
	mostErrors = 64
	// shownErrors is the number of errors that are printed, the most frequent first; shownErrorBytes is the length at
	// which each is cut.
	shownErrors     = 3
	shownErrorBytes = 200
)

// errorCounts counts errors by their text. Texts that differ in numbers only, such as the tokens of a prompt, count as
// one.
type errorCounts map[string]errorCount

type errorCount struct {
	words string // of the first one
	n     int
}

// add counts the error of a record; a record that ended ok has none.
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

// errorWords returns the status of a request and its error, which begins with the HTTP status where the server answered
// with one.
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

// total returns the sum of the counts.
func (c errorCounts) total() int {
	total := 0
	for _, e := range c {
		total += e.n
	}
	return total
}

// String lists the most frequent errors, such as "HTTP 503: no engine (20), timeout: no first token within 10s (1)".
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
