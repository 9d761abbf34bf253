package render

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// Markdown writes a document as Markdown for GitHub and CommonMark, without its charts. It escapes all markup and HTML,
// and line breaks in cells.
func Markdown(w io.Writer, d Document) error {
	var m markdown
	m.blocks(append([]Block{Heading{Level: 1, Text: d.Title}}, d.Blocks...))
	_, err := io.WriteString(w, m.String())
	return err
}

type markdown struct{ strings.Builder }

func (m *markdown) line(text string) { m.WriteString(text + "\n") }

func (m *markdown) blocks(blocks []Block) {
	for _, block := range blocks {
		if block.Empty() {
			continue
		}
		switch b := block.(type) {
		case Heading:
			m.line(strings.Repeat("#", b.Level) + " " + EscapeMarkdown(strings.Join(append([]string{b.Text}, badges(b.Badges)...), " ")))
		case Paragraph:
			m.line(begun(marked(b.Spans)))
		case List:
			if len(b.Lead) > 0 {
				m.line(begun(marked(b.Lead)) + "\n")
			}
			for _, item := range b.Items {
				m.line("- " + begun(marked(item)))
			}
		case Facts:
			m.table(b.table(cmp.Or(b.Of, "what")))
		case Table:
			m.table(b)
		case Details:
			m.blocks(append([]Block{H4(b.Summary)}, b.Blocks...))
			continue
		case Group:
			m.blocks(b.Blocks)
			continue
		case Listing:
			m.listing(b)
		default: // only pages have charts
			continue
		}
		m.line("")
	}
}

func (m *markdown) table(t Table) {
	header := t.Header
	if header == nil {
		header = make([]string, len(t.Rows[0].Cells))
	}
	write := func(cells []string) {
		for _, text := range cells {
			m.WriteString("| " + EscapeMarkdown(text) + " ")
		}
		m.line("|")
	}
	write(header)
	m.line(strings.Repeat("| --- ", len(header)) + "|")
	for _, row := range t.Rows {
		write(row.Cells)
	}
}

// listing writes fences that are longer than any in the listing.
func (m *markdown) listing(l Listing) {
	fence := "```"
	for strings.Contains(l.Text, fence) {
		fence += "`"
	}
	m.line(fence + l.Language)
	for line := range strings.Lines(l.Text) {
		m.line(Printable(strings.TrimSuffix(line, "\n")))
	}
	m.line(fence)
}

// marked returns spans with their styles.
func marked(spans []Span) string {
	text := ""
	for _, s := range spans {
		part := EscapeMarkdown(s.Text)
		switch {
		case strings.TrimSpace(s.Text) == "":
		case s.Address != "" && plainAddress.MatchString(s.Address):
			part = "[" + part + "](" + s.Address + ")"
		case s.Style == "strong" || s.Style == "tag":
			part = "**" + part + "**"
		case s.Style == "code":
			part = "`" + strings.ReplaceAll(Printable(s.Text), "`", "'") + "`"
		case s.Style == "quote":
			part = "“" + part + "”"
		case s.Style == "badge":
			part = "(" + part + ")"
		}
		text += part
	}
	return text
}

// plainAddress matches addresses that need no escaping in a link; it matches no script URL.
var plainAddress = regexp.MustCompile(`^(https?://)?[A-Za-z0-9._~/%-]*$`)

// EscapeMarkdown makes any text safe in a line and in a cell: nothing in it is markup, and it has no line break.
func EscapeMarkdown(text string) string { return escaper.Replace(Printable(text)) }

var escaper = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "!", `\!`,
)

// begins matches a list, a rule or a heading at the beginning of a line.
var begins = regexp.MustCompile(`^(\s*)([-+=]|\d+[.)])`)

// begun escapes the beginning of a line, so that it is plain text.
func begun(line string) string {
	at := begins.FindStringSubmatchIndex(line)
	if at == nil {
		return strings.TrimLeft(line, " ")
	}
	end := at[5]
	return fmt.Sprintf(`%s\%s`, line[at[4]:end-1], line[end-1:])
}
