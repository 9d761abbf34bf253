package exhibit

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
)

// Verdict is what is said of a metric that decides.
type Verdict struct {
	// Class is good, bad or note, Where the stratum.
	Class, Where, Text, Means string
}

// Verdicts are those that decide, in words.
func Verdicts(c compare.Comparison) []Verdict {
	var all []Verdict
	for _, v := range decisive(c) {
		all = append(all, Verdict(v))
	}
	return all
}

// Named is a figure with a name for its file.
type Named struct {
	Name string
	chart.Figure
}

// Figures are all figures of a comparison's page, in its order.
func Figures(c compare.Comparison) []Named {
	var all []Named
	add := func(where string, figures ...*chart.Figure) {
		for _, f := range figures {
			if f != nil {
				name := fmt.Sprintf("%02d-%s", len(all)+1, slug(strings.TrimSpace(where+" "+f.Title)))
				all = append(all, Named{name, *f})
			}
		}
	}
	p := newPage("", c)
	for _, figures := range [][]chart.Figure{p.Front, p.OverLoad} {
		for i := range figures {
			add("", &figures[i])
		}
	}
	if p.KV != nil {
		add("", p.KV.Figure)
	}
	for _, s := range p.Strata {
		for i := range s.Figures {
			add(s.Name, &s.Figures[i])
		}
		if s.KV != nil {
			add(s.Name, s.KV.Figure)
		}
		for _, pair := range s.Pairs {
			add(s.Name+" "+pair.Name, append([]*chart.Figure{pair.Forest}, pair.Ledgers...)...)
		}
	}
	return all
}

// slug is a text as the name of a file.
func slug(text string) string {
	name := strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.Trim(name[:min(len(name), 80)], "-")
}

// SVG writes a figure of a comparison as a file of its own.
func SVG(w io.Writer, f chart.Figure) error {
	_, style, _ := strings.Cut(pageText, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	return chart.WriteSVG(w, f, style)
}

// Cell is a text as it stands in a cell of Markdown: it cannot break out of it, and is no markup.
func Cell(text string) string { return cell(text) }
