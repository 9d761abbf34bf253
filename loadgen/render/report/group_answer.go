package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
)

// answer returns what the runs show together: whether they are valid, the range of throughput and of the time to the
// first token, and where the best of each is.
func (g Group) answer() string {
	sentences := []string{strings.TrimSuffix(g.Verdict, ".")}
	var ranges []string
	for _, of := range []struct{ title, best, figure string }{{"output tokens per second", "highest", figure.OutputTokensPerSecond}, {"TTFT p50", "shortest", figure.TimeToFirstToken}} {
		if text := g.rangeOf(of.title, of.best, of.figure); text != "" {
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
func (g Group) rangeOf(title, word, name string) string {
	f, _ := figure.Find(name)
	var low, high, best float64
	var where string
	n := 0
	for _, m := range g.Members {
		if m.Summary == nil || !m.Summary.Valid || m.OtherWork {
			continue
		}
		v := f.Get(m.Summary)
		if v == nil {
			continue
		}
		if n == 0 || *v != best && (f.Direction == figure.HigherIsBetter) == (*v > best) {
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
	return fmt.Sprintf("%s %s to %s, %s at %s %s", title, f.Unit.Rounded(low), f.Unit.Rounded(high), word, g.Over, where)
}
