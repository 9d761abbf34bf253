package render

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const hostileText = "<script>alert(1)</script>\"'`|[x](javascript:y)\x1b[31m\x07\n# *_~=cmd&\u202e"

// everything is a document with a text in every place of every kind of block.
func everything(text string) Document {
	drawing := func(width, height float64) *Drawing {
		f := NewFrame(width, height, LinearAxis(text, 0, 10, 1, 4), LinearAxis(text, 0, 1, 1, 4), text)
		f.Phases([]PhaseSpan{{Name: text, Start: 0, End: 10}})
		f.Series("c0", text, [][]Place{{{X: 0, Y: 0}, {X: 10, Y: 1}}})
		f.Cross(20, 20, text)
		return f.Drawing
	}
	figure := Figure{Title: text, Caption: text, Legend: []LegendItem{{Class: "c0", Text: text}}, File: "figures/" + text}.Draw(drawing)
	spans := []Span{Plain(text), Strong(text), Code(text), Tag(text), Badge(Good, text), Link(text, text), {Text: text, Style: "quote"}}
	table := Table{Header: []string{text, text}, Words: []int{1}}
	table.Add(text, text)
	table.AddIn(Bad, text, text)
	table.Rows[0].Address = text
	return Document{Title: text, Pages: []PageLink{{Text: text, Address: text, Here: true}, {Text: text, Address: text}}, RefreshSeconds: 5, Blocks: []Block{
		H2(text, Badge(Bad, text)), P(spans...), Notice(Note, spans...), List{Lead: spans, Items: [][]Span{spans, Coded(text, text)}},
		List{Tone: Bad, Lead: spans, Items: Items([]string{text})}, Facts{Of: text, Facts: []Fact{{text, text}}}, Facts{Tiles: true, Facts: []Fact{{text, text}}},
		table, Figures{figure}, Panels{text, figure.Legend, []Panel{{text, text, figure.Desk}}},
		Details{Summary: text, Blocks: []Block{Small(text)}}, Group{Class: "card", Blocks: []Block{H4(text)}}, Group{Class: "tables", Blocks: []Block{table}},
		Listing{"text", text},
	}}
}

// written is the document in every form.
func written(t testing.TB, d Document) (text, md, page string) {
	t.Helper()
	var forms [3]string
	for i, write := range []func(io.Writer, Document) error{Text, Markdown, HTML} {
		var out bytes.Buffer
		if err := write(&out, d); err != nil {
			t.Fatal(err)
		}
		forms[i] = out.String()
	}
	return forms[0], forms[1], forms[2]
}

func TestEveryFormHasEveryText(t *testing.T) {
	text, md, page := written(t, everything("word"))
	for form, c := range map[string]struct {
		text string
		want int
	}{"text": {text, 50}, "Markdown": {md, 50}, "page": {page, 90}} {
		if n := strings.Count(c.text, "word"); n < c.want {
			t.Errorf("%s: %d places, want %d at least:\n%s", form, n, c.want, c.text)
		}
	}
	for _, part := range []string{"<h2>word <span class=\"badge bad\">word</span></h2>", `<div class="notice note">`, `<tr class="bad">`, `<dl class="facts">`, `<th scope="row"><a href="word">word</a></th>`, "<summary>word</summary>", `<article class="card">`,
		`<nav class="bar"><a href="word" class="here">word</a> <a href="word">word</a> </nav>`, `<meta http-equiv="refresh" content="5">`} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
}

func TestABlankLineSetsTablesOffAndAHeadingStaysWithWhatIsBelowIt(t *testing.T) {
	table := Table{Header: []string{"a", "value"}}
	table.Add("long", "1")
	text, md, _ := written(t, Document{Title: "Title", Blocks: []Block{
		P(Plain("first")), P(Plain("second")), H2("part"), table, P(Plain("below")), List{Items: Items([]string{"- item"})}, Facts{Facts: []Fact{{"n", "3"}}}, Figures{}, H3("last"),
	}})
	if want := "first\nsecond\n\npart\na     value\nlong  1\n\nbelow\n  - item\n\nn  3\n\nlast\n"; text != want {
		t.Errorf("text:\n%s\nwant:\n%s", text, want)
	}
	if want := "# Title\n\nfirst\n\nsecond\n\n## part\n\n| a | value |\n| --- | --- |\n| long | 1 |\n\nbelow\n\n- \\- item\n\n| what | value |\n| --- | --- |\n| n | 3 |\n\n### last\n\n"; md != want {
		t.Errorf("Markdown:\n%s\nwant:\n%s", md, want)
	}
}

func TestEmptyBlocksAreNotWritten(t *testing.T) {
	_, md, page := written(t, Document{Title: "x", Blocks: []Block{
		Heading{}, P(), Small(""), List{Lead: []Span{Plain("lead")}}, Facts{}, Table{Header: []string{"header"}}, Figures{}, Panels{Title: "panels"},
		Details{Summary: "summary", Blocks: []Block{Table{}}}, Group{Class: "card", Blocks: []Block{Figures{}}}, Listing{},
	}})
	if md != "# x\n\n" || strings.Count(page, "<") != strings.Count(page[:strings.Index(page, "</h1>")], "<")+3 {
		t.Errorf("%q, %s", md, page[strings.Index(page, "<body>"):])
	}
}

func TestAListingEndsItsOwnFenceOnly(t *testing.T) {
	_, md, _ := written(t, Document{Blocks: []Block{Listing{"sh", "a\n````\n# b\n"}, P(Plain("after"))}})
	if !strings.Contains(md, "`````sh\na\n````\n# b\n`````\n\nafter") {
		t.Error(md)
	}
}

func TestAProgramIsNoLink(t *testing.T) {
	_, md, page := written(t, Document{Blocks: []Block{P(Link("x", "javascript:alert(1)")), P(Link("y", "runs/a_b.html"))}})
	if strings.Contains(md, "javascript") || strings.Contains(page, "javascript") {
		t.Error("a program can be followed")
	}
	if !strings.Contains(md, "[y](runs/a_b.html)") || !strings.Contains(page, `href="runs/a_b.html"`) {
		t.Errorf("a path cannot be followed: %s", md)
	}
}

func TestNothingIsDeclaredSafeForHTML(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, escape := range []string{"template.HTML", "template.JS", "template.CSS", "template.URL", "template.Srcset", "text/template"} {
			if strings.Contains(string(source), escape) {
				t.Errorf("%s uses %s", file.Name(), escape)
			}
		}
	}
}

var (
	tags   = regexp.MustCompile(`<[a-z/!][^>]*>`)
	values = regexp.MustCompile(`"[^"]*"`)

	drawn = regexp.MustCompile(`</?(path|text|title|circle|rect)[^>]*>\n?`)

	marks   = regexp.MustCompile("^(#+ |[-+=*] |\\d+[.)] |\\||```)?")
	escaped = regexp.MustCompile(`\\.`)
	code    = regexp.MustCompile("`[^`]*`")
)

// shape is the elements of a page without what stands in them, and without those that a drawing may have: a label that
// has no room is not drawn.
func shape(page string) string {
	all := values.ReplaceAllString(strings.Join(tags.FindAllString(page[strings.Index(page, "</style>"):], -1), "\n"), `""`)
	return drawn.ReplaceAllString(all, "")
}

// rows are the first characters of lines of Markdown, and how many cells those of a table have.
func rows(md string) string {
	var b strings.Builder
	for line := range strings.Lines(md) {
		mark := marks.FindString(line)
		line = code.ReplaceAllString(escaped.ReplaceAllString(line, ""), "")
		b.WriteString(mark + strings.Repeat("|", strings.Count(line, "|")) + "\n")
	}
	return b.String()
}

// FuzzDocument: no text makes an element, a row, a cell or a line, or drives a terminal, in any form.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{"word", hostileText, "- a", "1. b", "+ c", "=", "| --- |", "``` x", "a|b", `\`, `\|`, "</style>", "\"onload=\"", "--> x", "\u2028", "&lt;", "#"} {
		f.Add(seed)
	}
	harmless, harmlessMD, harmlessPage := written(f, everything("word"))
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" || strings.ContainsAny(text, "\n") {
			return // an empty text is an empty block, and a listing has lines
		}
		plain, md, page := written(t, everything(text))
		for form, written := range map[string]string{"text": plain, "Markdown": md, "page": page} {
			if at := strings.IndexFunc(written, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) && r != unicode.ReplacementChar }); at >= 0 {
				t.Errorf("%s: %q does not print", form, written[at:min(len(written), at+8)])
			}
		}
		if got, want := strings.Count(plain, "\n"), strings.Count(harmless, "\n"); got != want {
			t.Errorf("text has %d lines, want %d", got, want)
		}
		if strings.Contains(text, "```") {
			return // the fence of the listing is longer
		}
		body := func(md string) string { return md[:strings.LastIndex(md, "```text")] }
		if got, want := rows(body(md)), rows(body(harmlessMD)); got != want {
			t.Errorf("Markdown of %q is of another shape:\n%s", text, md)
		}
		if strings.Contains(code.ReplaceAllString(escaped.ReplaceAllString(body(md), ""), ""), "<") {
			t.Errorf("Markdown of %q has HTML", text)
		}
		if got, want := shape(strings.ReplaceAll(page, "<wbr>", "")), shape(harmlessPage); got != want {
			t.Errorf("the page of %q has other elements", text)
		}
	})
}

func TestALineMayBreakBehindTheNamesOfAPath(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8000/metrics": "http:/|/127.0.0.1:8000/|metrics",
		"/<script>":                     "/<script>", "plain": "plain", "": "", "a/": "a/|",
	} {
		if got := strings.Join(pathParts(text), "|"); got != want || strings.ReplaceAll(got, "|", "") != text {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What all rows share stands once, above the table, and words stay words in the columns that are left.
func TestColumnsThatAllRowsShareAreTakenOut(t *testing.T) {
	table := Table{Header: []string{"run", "arm", "model", "TTFT", "host"}, Words: []int{1, 2, 4}}
	table.Add("1", "native", "m", "3 ms", "spark")
	table.AddIn(Note, "2", "container", "m", "3 ms", "spark")
	rest, shared := table.Shared(1, 2, 4)
	if want := []Fact{{"model", "m"}, {"host", "spark"}}; !slices.Equal(shared.Facts, want) {
		t.Errorf("shared are %v, want %v", shared.Facts, want)
	}
	if !slices.Equal(rest.Header, []string{"run", "arm", "TTFT"}) || !slices.Equal(rest.Words, []int{1}) ||
		!slices.Equal(rest.Rows[1].Cells, []string{"2", "container", "3 ms"}) || rest.Rows[1].Tone != Note {
		t.Errorf("left are %+v", rest)
	}
	table.Rows = table.Rows[:1]
	if rest, shared := table.Shared(1, 2, 4); len(rest.Header) != 5 || len(shared.Facts) != 0 {
		t.Errorf("of one row: %+v, %+v", rest, shared)
	}
}
