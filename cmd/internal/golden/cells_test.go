package golden

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The cells of a page are its content without its style: a line for each row of a table, heading, paragraph and
// figure, in their order, with tabs between cells. The first word of a line is what it is.

var (
	gap       = regexp.MustCompile(` {2,}|\t`)
	separator = regexp.MustCompile(`^\|[ :|-]*\|$`)
	pipe      = regexp.MustCompile(`(?:[^|\\]|\\.)*`)
	escaped   = regexp.MustCompile(`\\([[:punct:]])`)
	marks     = regexp.MustCompile(`^(?:[-*>] )|\*\*|` + "`")
)

// line is a row, with white space inside cells as single spaces.
func line(kind string, cells ...string) string {
	for i, cell := range cells {
		cells[i] = strings.Join(strings.Fields(cell), " ")
	}
	return strings.TrimRight(kind+"\t"+strings.Join(cells, "\t"), "\t") + "\n"
}

// textCells are the cells of a text for terminals: columns have two spaces between them at least.
func textCells(text string) string {
	var b strings.Builder
	for one := range strings.Lines(text) {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		cells := gap.Split(one, -1)
		kind := "row"
		if len(cells) == 1 {
			kind = "p"
		}
		b.WriteString(line(kind, cells...))
	}
	return b.String()
}

// markdownCells are the cells of Markdown, as they are shown.
func markdownCells(text string) string {
	var b strings.Builder
	shown := func(cells ...string) []string {
		for i, cell := range cells {
			cells[i] = escaped.ReplaceAllString(marks.ReplaceAllString(strings.TrimSpace(cell), ""), "$1")
		}
		return cells
	}
	for one := range strings.Lines(text) {
		one = strings.TrimSpace(one)
		switch {
		case one == "" || separator.MatchString(one):
		case strings.HasPrefix(one, "|"):
			b.WriteString(line("row", shown(pipe.FindAllString(strings.TrimSuffix(one[1:], "|"), -1)...)...))
		case strings.HasPrefix(one, "#"):
			heading := strings.TrimLeft(one, "#")
			b.WriteString(line(fmt.Sprintf("h%d", len(one)-len(heading)), shown(heading)...))
		default:
			b.WriteString(line("p", shown(one)...))
		}
	}
	return b.String()
}

// inline are elements that are a part of the text around them.
var inline = []atom.Atom{
	atom.A, atom.Abbr, atom.B, atom.Br, atom.Code, atom.Em, atom.I, atom.Kbd, atom.Mark, atom.Q, atom.S, atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Var, atom.Wbr, atom.Label, atom.U,
}

// htmlCells are the cells of a page. Of a figure it is its name that counts.
func htmlCells(t *testing.T, page string) string {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var w pageWriter
	w.walk(root, "p")
	w.flush("p")
	return w.out.String()
}

type pageWriter struct {
	out  strings.Builder
	text strings.Builder
	name string // of a list of names and values, whose value comes
	last string // figure
}

// figure writes a figure once that is there for wide and for narrow screens.
func (w *pageWriter) figure(name string) {
	if name != "" && name != w.last {
		w.out.WriteString(line("figure", name))
	}
	w.last = name
}

func (w *pageWriter) flush(kind string) {
	if text := strings.TrimSpace(w.text.String()); text != "" {
		w.out.WriteString(line(kind, text))
	}
	w.text.Reset()
}

// walk writes what a node holds; kind is that of the text directly inside.
func (w *pageWriter) walk(n *html.Node, kind string) {
	switch {
	case n.Type == html.TextNode:
		w.text.WriteString(n.Data)
		return
	case n.Type != html.ElementNode:
	case slices.Contains([]atom.Atom{atom.Style, atom.Script, atom.Meta, atom.Link, atom.Noscript}, n.DataAtom):
		return
	case n.Data == "svg":
		w.flush(kind)
		w.figure(figureName(n))
		return
	case n.DataAtom == atom.Img:
		w.flush(kind)
		w.figure(attribute(n, "alt"))
		return
	case n.DataAtom == atom.Br:
		w.text.WriteByte(' ')
		return
	case slices.Contains(inline, n.DataAtom):
	case n.DataAtom == atom.Tr:
		w.flush(kind)
		w.out.WriteString(line("row", rowCells(n)...))
		return
	case n.DataAtom == atom.Dt:
		w.flush(kind)
		w.name = cell(n)
		return
	case n.DataAtom == atom.Dd:
		w.flush(kind)
		w.out.WriteString(line("row", w.name, cell(n)))
		return
	case slices.Contains([]atom.Atom{atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Title, atom.Summary, atom.Figcaption, atom.Caption}, n.DataAtom):
		w.flush(kind)
		kind = n.Data
		defer w.flush(kind)
	default:
		w.flush(kind)
		defer w.flush(kind)
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		w.walk(child, kind)
	}
}

func rowCells(tr *html.Node) []string {
	var cells []string
	for child := tr.FirstChild; child != nil; child = child.NextSibling {
		if child.DataAtom == atom.Td || child.DataAtom == atom.Th {
			cells = append(cells, cell(child))
		}
	}
	return cells
}

// cell is all that stands in an element.
func cell(n *html.Node) string {
	var inside pageWriter
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		inside.walk(child, "")
	}
	inside.flush("")
	return inside.out.String()
}

// figureName is the label of a figure, or its title.
func figureName(svg *html.Node) string {
	if label := attribute(svg, "aria-label"); label != "" {
		return label
	}
	for child := range svg.Descendants() {
		if child.Data == "title" && child.FirstChild != nil {
			return child.FirstChild.Data
		}
	}
	return ""
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// workbookCells are the cells of a workbook, sheet by sheet, with numbers as they are and not as they are shown.
func workbookCells(t *testing.T, content []byte) string {
	t.Helper()
	book, err := excelize.OpenReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	var b strings.Builder
	for _, sheet := range book.GetSheetList() {
		b.WriteString(line("sheet", sheet))
		rows, err := book.GetRows(sheet, excelize.Options{RawCellValue: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			b.WriteString(line("row", row...))
		}
	}
	return b.String()
}
