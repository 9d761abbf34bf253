package chart

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

// partsText is what pages have in common: how figures and tables are written, and the style.
//
//go:embed parts.html
var partsText string

// WritePage writes one self-contained page from the text of its template, which may use those of
// parts.html: no script, nothing loaded from elsewhere. Every text goes through html/template,
// nothing is declared safe, and characters that do not print are replaced on the way out, once for
// all.
func WritePage(w io.Writer, source string, view any) error {
	page, err := template.New("page").Parse(partsText + source)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := page.Execute(&text, view); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := io.WriteString(w, Printable(strings.TrimSuffix(line, "\n"))+"\n"); err != nil {
			return err
		}
	}
	return nil
}
