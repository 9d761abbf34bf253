package render

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/umascope/umascope/exporter/ledger"
)

//go:embed page.html style.css live.js tip.js
var sources embed.FS

// templates returns page.html with the style sheet and the script as parts of it: a page has all that it needs in one file.
var templates = sync.OnceValues(func() (*template.Template, error) {
	page, err := sources.ReadFile("page.html")
	if err != nil {
		return nil, err
	}
	style, err := sources.ReadFile("style.css")
	if err != nil {
		return nil, err
	}
	script, err := tipScript()
	if err != nil {
		return nil, err
	}
	return template.New("render").Funcs(template.FuncMap{"tipHash": tipHash, "pathParts": pathParts}).Parse(
		`{{define "style"}}<style>` + "\n" + string(style) + bandColours() + `</style>{{end}}{{define "tip"}}<script>` + script + "</script>{{end}}" + string(page))
})

// bandColours returns a variable of the style sheet for each band of the ledger.
func bandColours() string {
	rule := ":root {"
	for _, band := range ledger.Bands() {
		rule += " --" + band.Name + ": " + band.Colour + ";"
	}
	return rule + " }\n"
}

// tipScript returns the script of tips as it is in a page: html/template leaves out comments.
var tipScript = sync.OnceValues(func() (string, error) {
	source, err := sources.ReadFile("tip.js")
	if err != nil {
		return "", err
	}
	alone, err := template.New("tip").Parse("<script>" + string(source) + "</script>")
	if err != nil {
		return "", err
	}
	var element strings.Builder
	err = alone.Execute(&element, nil)
	return strings.TrimSuffix(strings.TrimPrefix(element.String(), "<script>"), "</script>"), err
})

// tipHash returns the hash of the script, as a Content-Security-Policy names it.
func tipHash() (string, error) {
	script, err := tipScript()
	sum := sha256.Sum256([]byte(script))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:]), err
}

// Policy returns the Content-Security-Policy for a server of pages: it allows what a page allows itself, its styles and the
// script of its tips.
func Policy() string {
	policy := "default-src 'none'; style-src 'unsafe-inline'"
	if hash, err := tipHash(); err == nil { // on an error no page is written either
		policy += "; script-src '" + hash + "'"
	}
	return policy
}

// HTML writes a document as one self-contained page without an external resource. Every text goes through html/template
// and none is declared safe. A page with charts has one script, for their tips, and allows no other.
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

// pathParts splits a text behind each slash that ends a name: there a browser may break the line, instead of inside of a
// word.
func pathParts(text string) []string {
	var parts []string
	begin := ""
	for _, part := range strings.SplitAfter(text, "/") {
		if part == "/" {
			begin += part
			continue
		}
		parts, begin = append(parts, begin+part), ""
	}
	if begin != "" {
		parts = append(parts, begin)
	}
	return parts
}
