package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/summary"
)

// answer returns what the runs show together: whether they are valid, the range of throughput and of the time to the
// first token, and where the best of each is.
func (g Group) answer() string {
	sentences := []string{strings.TrimSuffix(g.Verdict, ".")}
	var ranges []string
	for _, f := range []struct {
		name, best string
		of         func(*summary.Summary) *float64
		format     func(float64) string
		better     func(a, b float64) bool
	}{
		{"output tokens per second", "highest", func(s *summary.Summary) *float64 { return s.Throughput.OutputTokensPerSecond }, format.Digits, func(a, b float64) bool { return a > b }},
		{"TTFT p50", "shortest", func(s *summary.Summary) *float64 {
			return groupLatencies()[0].value(s, groupQuantiles()[0].of)
		}, format.Seconds, func(a, b float64) bool { return a < b }},
	} {
		if text := g.rangeOf(f.name, f.best, f.of, f.format, f.better); text != "" {
			ranges = append(ranges, text)
		}
	}
	if len(ranges) > 0 {
		text := strings.Join(ranges, "; ")
		sentences = append(sentences, strings.ToUpper(text[:1])+text[1:])
	}
	if text := g.otherWork(); text != "" {
		sentences = append(sentences, text)
	}
	return strings.Join(sentences, ". ") + "."
}

// otherWork names the runs that are not compared with the others.
func (g Group) otherWork() string {
	var names []string
	for _, m := range g.Members {
		if m.OtherWork {
			names = append(names, strconv.Quote(m.Name))
		}
	}
	const shown = 5
	switch text := strings.Join(names[:min(len(names), shown)], ", "); {
	case len(names) == 0:
		return ""
	case len(g.Members)-len(names) < 2:
		return "No two runs did the same work, so they are not compared"
	case len(names) > shown:
		return fmt.Sprintf("Other work, so not compared: %s and %d more", text, len(names)-shown)
	default:
		return "Other work, so not compared: " + text
	}
}

// rangeOf formats the range of a figure over the valid runs and the run with the best; empty for fewer than two figures.
func (g Group) rangeOf(name, word string, of func(*summary.Summary) *float64, format func(float64) string, better func(a, b float64) bool) string {
	var low, high, best float64
	var where string
	n := 0
	for _, m := range g.Members {
		if m.Summary == nil || !m.Summary.Valid || m.OtherWork {
			continue
		}
		v := of(m.Summary)
		if v == nil {
			continue
		}
		if n == 0 || better(*v, best) {
			best, where = *v, m.Name
		}
		if n == 0 {
			low, high = *v, *v
		}
		low, high = min(low, *v), max(high, *v)
		n++
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%s %s to %s, %s at %s %s", name, format(low), format(high), word, g.Over, where)
}
