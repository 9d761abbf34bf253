package render

import (
	"embed"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
)

//go:embed page.html style.css live.js
var sources embed.FS

// templates returns page.html with the style sheet as part of it: a page has all that it needs in one file.
var templates = sync.OnceValues(func() (*template.Template, error) {
	page, err := sources.ReadFile("page.html")
	if err != nil {
		return nil, err
	}
	style, err := sources.ReadFile("style.css")
	if err != nil {
		return nil, err
	}
	return template.New("render").Parse(`{{define "style"}}<style>` + "\n" + string(style) + "</style>{{end}}" + string(page))
})

// HTML writes a document as one self-contained page: no script, and no external resource. Every text goes through
// html/template and none is declared safe.
func HTML(w io.Writer, d Document) error { return execute(w, "page", d) }

func execute(w io.Writer, name string, view any) error {
	all, err := templates()
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := all.ExecuteTemplate(&text, name, view); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := io.WriteString(w, Printable(strings.TrimSuffix(line, "\n"))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// longestShort is the longest text, in bytes, that its cell shows on one line: a few of them leave room for figures.
const longestShort = 18

// IsShort reports whether a text takes one line of its cell.
func (t Table) IsShort(text string) bool { return len(text) <= longestShort }

// IsWords reports whether a column is text.
func (t Table) IsWords(column int) bool { return slices.Contains(t.Words, column) }

// Printable replaces characters that a terminal or a table would interpret: model names, labels and error texts are
// untrusted.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
