package render

import (
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// Text writes a document for a terminal: tables in columns, no charts.
//
// Columns are those of text/tabwriter: a package of tables would add borders, colours and wrapping, which are not
// needed here, and another rule for the width of a letter.
func Text(w io.Writer, d Document) error {
	t := terminal{w: w}
	t.blocks(d.Blocks)
	return t.err
}

// TextTable writes a table for a terminal, its heading even if it has no rows.
func TextTable(w io.Writer, table Table) error {
	t := terminal{w: w}
	t.table(table)
	return t.err
}

type terminal struct {
	w    io.Writer
	last string // kind of the block before
	err  error
}

func (t *terminal) line(text string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.w, text+"\n")
	}
}

func (t *terminal) blocks(blocks []Block) {
	for _, block := range blocks {
		if block.Empty() {
			continue
		}
		switch b := block.(type) {
		case Group:
			t.blocks(b.Blocks)
			continue
		case Details:
			t.blocks(append([]Block{H4(b.Summary)}, b.Blocks...))
			continue
		case Figures, Panels:
			continue
		}
		t.space(block)
		switch b := block.(type) {
		case Heading:
			t.line(Printable(strings.Join(append([]string{b.Text}, badges(b.Badges)...), " ")))
		case Paragraph:
			t.line(Printable(plain(b.Spans)))
		case List:
			if len(b.Lead) > 0 {
				t.line(Printable(plain(b.Lead)))
			}
			for _, item := range b.Items {
				t.line("  " + Printable(plain(item)))
			}
		case Facts:
			t.table(b.table(""))
		case Table:
			t.table(b)
		case Listing:
			for line := range strings.Lines(b.Text) {
				t.line("  " + Printable(strings.TrimSuffix(line, "\n")))
			}
		}
		t.last = block.Kind()
	}
}

// space separates a heading from the block above it, and tables from text.
func (t *terminal) space(b Block) {
	prose := func(kind string) bool { return kind == "paragraph" || kind == "list" }
	if t.last != "" && (b.Kind() == "heading" || t.last != "heading" && !(prose(t.last) && prose(b.Kind()))) {
		t.line("")
	}
}

func (t *terminal) table(table Table) {
	if t.err != nil {
		return
	}
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, cells := range table.lines() {
		for i, text := range cells {
			cells[i] = Printable(text)
		}
		_, _ = io.WriteString(out, strings.Join(cells, "\t")+"\n") // a strings.Builder fails no write
	}
	_ = out.Flush()
	for one := range strings.Lines(text.String()) {
		t.line(strings.TrimRight(one, " \n")) // empty cells at the end of a row are padded
	}
}

// Split divides a table among several of at most width columns of a terminal, unless a single column is wider: each has
// the first column and the next ones that fit.
func (t Table) Split(width int) []Block {
	lines := t.lines()
	if len(lines) == 0 || len(lines[0]) < 2 {
		return []Block{t}
	}
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, text := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	part := func(from, to int) Table {
		columns := func(cells []string) []string { return append([]string{cells[0]}, cells[from:to]...) }
		var p Table
		if t.Header != nil {
			p.Header = columns(t.Header)
		}
		for _, row := range t.Rows {
			p.Rows = append(p.Rows, Row{Cells: columns(row.Cells), Tone: row.Tone, Address: row.Address})
		}
		return p
	}
	var all []Block
	for from := 1; from < len(widths); {
		to, used := from+1, widths[0]+2+widths[from]
		for to < len(widths) && used+2+widths[to] <= width {
			used += 2 + widths[to]
			to++
		}
		all = append(all, part(from, to))
		from = to
	}
	return all
}

// lines returns the heading, if there is one, and the rows; the caller may change them.
func (t Table) lines() [][]string {
	var lines [][]string
	if t.Header != nil {
		lines = append(lines, append([]string(nil), t.Header...))
	}
	for _, row := range t.Rows {
		lines = append(lines, append([]string(nil), row.Cells...))
	}
	return lines
}

// table has a row for each fact, below a heading if its first word is given.
func (f Facts) table(name string) Table {
	var t Table
	if name != "" {
		t.Header = []string{name, "value"}
	}
	for _, fact := range f.Facts {
		t.Add(fact.Name, fact.Value)
	}
	return t
}

func badges(spans []Span) []string {
	var all []string
	for _, s := range spans {
		all = append(all, "("+s.Text+")")
	}
	return all
}
