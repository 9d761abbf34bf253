// Package render writes documents: as text for a terminal, as Markdown and as one page of HTML. The builder of a
// document decides its contents; the writers handle blocks and are independent of runs. It draws charts as plain
// shapes: axes and marks; callers decide what is drawn.
//
// Every text of a document is untrusted. The writers replace control characters and escape all markup.
package render

import "slices"

// Document is a list of blocks with a title. A terminal shows no title.
type Document struct {
	Title  string
	Blocks []Block
	// Pages is the bar of links above a page that is served among others; a page in a file has none.
	Pages []PageLink
	// RefreshSeconds is how often a browser loads the page anew, 0 for never.
	RefreshSeconds int
}

// PageLink leads to a page of the bar. Here marks the part of the site that the page belongs to.
type PageLink struct {
	Text, Address string
	Here          bool
}

// Add appends blocks.
func (d *Document) Add(blocks ...Block) { d.Blocks = append(d.Blocks, blocks...) }

// Drawn reports whether the document has a chart.
func (d Document) Drawn() bool { return anyDrawn(d.Blocks) }

func anyDrawn(blocks []Block) bool {
	return slices.ContainsFunc(blocks, func(b Block) bool {
		switch b := b.(type) {
		case Figures, Panels:
			return !b.Empty()
		case Details:
			return anyDrawn(b.Blocks)
		case Group:
			return anyDrawn(b.Blocks)
		}
		return false
	})
}

// Block is one of the types below. A block that is empty is not written.
type Block interface {
	Kind() string
	Empty() bool
}

// Tone colours a block or a row; the words next to it always state the same.
type Tone string

const (
	Good Tone = "good"
	Bad  Tone = "bad"
	Note Tone = "note"
)

// Span is some words in one style; one with an address is a link.
type Span struct {
	Text    string
	Style   string // "", strong, code, quote; tag and badge are boxes on a page
	Tone    Tone   // of a badge
	Address string
}

func Plain(text string) Span            { return Span{Text: text} }
func Strong(text string) Span           { return Span{Text: text, Style: "strong"} }
func Code(text string) Span             { return Span{Text: text, Style: "code"} }
func Tag(text string) Span              { return Span{Text: text, Style: "tag"} }
func Badge(tone Tone, text string) Span { return Span{Text: text, Style: "badge", Tone: tone} }
func Link(text, address string) Span    { return Span{Text: text, Address: address} }

// Heading begins a section. Level 1 is the title of the document.
type Heading struct {
	Level  int
	Text   string
	Badges []Span
}

func H2(text string, badges ...Span) Heading { return Heading{Level: 2, Text: text, Badges: badges} }
func H3(text string) Heading                 { return Heading{Level: 3, Text: text} }
func H4(text string) Heading                 { return Heading{Level: 4, Text: text} }

// Paragraph is one line of text. One with a tone is a notice on a page.
type Paragraph struct {
	Spans []Span
	Tone  Tone
	Class string // small, lead, big, beside, quoted, or none
}

func P(spans ...Span) Paragraph                 { return Paragraph{Spans: spans} }
func Notice(tone Tone, spans ...Span) Paragraph { return Paragraph{Tone: tone, Spans: spans} }

// Small returns a remark; for an empty text a block that is not written.
func Small(text string) Paragraph {
	if text == "" {
		return Paragraph{}
	}
	return Paragraph{Class: "small", Spans: []Span{Plain(text)}}
}

// List has an item a line, below a line of its own. One with a tone is a notice on a page.
type List struct {
	Lead  []Span
	Items [][]Span
	Tone  Tone
	Class string // small, files, or none
}

// Items converts texts to items.
func Items(texts []string) [][]Span {
	var items [][]Span
	for _, text := range texts {
		items = append(items, []Span{Plain(text)})
	}
	return items
}

// Coded returns an item whose first word is emphasized, such as the code of a warning.
func Coded(code, text string) []Span { return []Span{Strong(code), Plain(": " + text)} }

// Facts are figures and properties with their names.
type Facts struct {
	Of    string // heading of the names where facts become a table
	Facts []Fact
	Tiles bool // large on a page
}

type Fact struct{ Name, Value string }

// Table has a column of names and columns of figures, flush right on a page, unless they are Words.
type Table struct {
	Header []string
	Rows   []Row
	Words  []int
}

// Row is a row of a table. Its first cell is a link if there is an address.
type Row struct {
	Cells   []string
	Tone    Tone
	Address string
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, Row{Cells: cells}) }

// AddIn appends a row in a tone.
func (t *Table) AddIn(tone Tone, cells ...string) {
	t.Rows = append(t.Rows, Row{Cells: cells, Tone: tone})
}

// Shared takes out of some columns those with one text in all rows, and returns these as facts: a table on a page is wide.
// A single row keeps its columns.
func (t Table) Shared(columns ...int) (Table, Facts) {
	rest, shared := Table{}, Facts{}
	var kept []int
	for i, name := range t.Header {
		if len(t.Rows) > 1 && slices.Contains(columns, i) && !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[i] != t.Rows[0].Cells[i] }) {
			if text := t.Rows[0].Cells[i]; text != "" {
				shared.Facts = append(shared.Facts, Fact{name, text})
			}
			continue
		}
		if t.IsWords(i) {
			rest.Words = append(rest.Words, len(kept))
		}
		rest.Header, kept = append(rest.Header, name), append(kept, i)
	}
	for _, r := range t.Rows {
		row := Row{Tone: r.Tone, Address: r.Address}
		for _, i := range kept {
			row.Cells = append(row.Cells, r.Cells[i])
		}
		rest.Rows = append(rest.Rows, row)
	}
	return rest, shared
}

// Figures are charts with their words; only a page shows them, those that are drawn.
type Figures []Figure

// Panels are small charts on one scale; only a page shows them.
type Panels struct {
	Title  string
	Legend []LegendItem
	Panels []Panel
}

type Panel struct {
	Name, Caption string
	Drawing       *Drawing
}

// Details are blocks that a page shows on request.
type Details struct {
	Summary string
	Open    bool
	Blocks  []Block
}

// Group holds blocks that a page shows together.
type Group struct {
	Class  string // tables, cards, card, finding, or none
	Blocks []Block
}

// Listing is lines to be typed or copied.
type Listing struct{ Language, Text string }

func (Heading) Kind() string   { return "heading" }
func (Paragraph) Kind() string { return "paragraph" }
func (List) Kind() string      { return "list" }
func (Facts) Kind() string     { return "facts" }
func (Table) Kind() string     { return "table" }
func (Figures) Kind() string   { return "figures" }
func (Panels) Kind() string    { return "panels" }
func (Details) Kind() string   { return "details" }
func (Group) Kind() string     { return "group" }
func (Listing) Kind() string   { return "listing" }

func (h Heading) Empty() bool   { return h.Text == "" }
func (p Paragraph) Empty() bool { return len(p.Spans) == 0 }
func (l List) Empty() bool      { return len(l.Items) == 0 }
func (f Facts) Empty() bool     { return len(f.Facts) == 0 }
func (t Table) Empty() bool     { return len(t.Rows) == 0 }
func (f Figures) Empty() bool   { return !slices.ContainsFunc(f, Figure.Drawn) }
func (p Panels) Empty() bool    { return len(p.Panels) == 0 }
func (d Details) Empty() bool   { return allEmpty(d.Blocks) }
func (g Group) Empty() bool     { return allEmpty(g.Blocks) }
func (l Listing) Empty() bool   { return l.Text == "" }

func allEmpty(blocks []Block) bool {
	for _, b := range blocks {
		if !b.Empty() {
			return false
		}
	}
	return true
}

// plain returns the text of spans, without their styles.
func plain(spans []Span) string {
	text := ""
	for _, s := range spans {
		text += s.Text
	}
	return text
}
