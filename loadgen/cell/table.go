package cell

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// Document returns the cells as tables of both columns: llama-benchy's figures and the measured ones, with the flags of
// each cell, their evidence, and why the columns part. Cells whose depth was sent ahead and cells whose depth came with
// the prompt are in tables of their own.
func Document(rows []Row) render.Document { return document(rows, textWidth, true) }

// document returns them with names of flags of so many characters a cell. Figures of the machine are beside the others,
// or else in tables of their own.
func document(rows []Row, flags int, beside bool) render.Document {
	d := render.Document{Title: "Cells"}
	if slices.ContainsFunc(rows, func(r Row) bool { return r.Simulated }) {
		d.Add(render.P(render.Strong("SIMULATED: not a measurement of a real machine")))
	}
	arms := byArm(rows)
	if len(arms) > 1 {
		most := len(arms)
		if !beside {
			most = mostArms
		}
		for _, part := range split(rows) {
			if inPart := byArm(part.rows); len(inPart) > 1 {
				d.Add(render.H2("By arm: " + strings.ToLower(part.title[:1]) + part.title[1:]))
				d.Add(part.sideBySide(inPart, most)...)
			}
		}
	}
	for _, of := range arms {
		name := ""
		if len(arms) > 1 {
			name = of[0].Arm + " on " + of[0].Model + ": "
		}
		for _, part := range split(of) {
			d.Add(render.H2(name + part.title))
			d.Add(part.table(flags, beside))
			if machine := part.machineTable(); machine != nil && !beside {
				d.Add(machine)
			}
			d.Add(part.notes()...)
		}
		if line, ok := PrefillLine(of); ok {
			d.Add(render.H2(name+"Prompt processing over length"), render.P(render.Plain(line.String())))
		}
	}
	return d
}

// part is the rows of one table.
type part struct {
	title string
	rows  []Row
}

// split divides rows by how their depth was sent. Those without a depth go with the ones whose depth was sent ahead,
// as llama-benchy has them.
func split(rows []Row) []part {
	ahead := part{title: "Depth in the prefix cache"}
	with := part{title: "Depth sent with the prompt"}
	var none []Row
	for _, r := range rows {
		switch {
		case r.caching():
			ahead.rows = append(ahead.rows, r)
		case r.Depth > 0:
			with.rows = append(with.rows, r)
		default:
			none = append(none, r)
		}
	}
	switch {
	case len(ahead.rows) == 0 && len(with.rows) == 0:
		return sorted(part{title: "Without a depth", rows: none})
	case len(with.rows) == 0:
		ahead.rows = append(ahead.rows, none...)
		return sorted(ahead)
	case len(ahead.rows) == 0:
		with.rows = append(with.rows, none...)
		return sorted(with)
	}
	return sorted(part{title: "Without a depth", rows: none}, ahead, with)
}

// sorted drops empty parts and orders the rows of the others: the context of a cell before its prompt.
func sorted(parts ...part) []part {
	parts = slices.DeleteFunc(parts, func(p part) bool { return len(p.rows) == 0 })
	for _, p := range parts {
		slices.SortStableFunc(p.rows, Row.before)
		p.number()
	}
	return parts
}

// number numbers the rows of a cell that several runs measured.
func (p part) number() {
	for first := 0; first < len(p.rows); {
		next := first + 1
		for next < len(p.rows) && p.rows[next].before(p.rows[first]) == 0 {
			next++
		}
		for i := first; i < next; i++ {
			p.rows[i].repetition = 0
			if next-first > 1 {
				p.rows[i].repetition = i - first + 1
			}
		}
		first = next
	}
}

// several reports whether any row has more than one request at a time: its concurrency is then part of the names.
func several(rows []Row) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Concurrency > 1 })
}

// table returns the table of both columns. Figures of the machine, if they are beside them, are in the line of the answers.
func (p part) table(flags int, machine bool) render.Table {
	t := render.Table{Header: []string{"test", "as llama-benchy, t/s", "measured, t/s", "n", "TTFT"}}
	var columns []machineColumn
	if machine {
		columns = machineColumns(p.rows)
	}
	for _, c := range columns {
		t.Header = append(t.Header, c.name)
	}
	if slices.ContainsFunc(p.rows, func(r Row) bool { return r.repetition > 0 }) {
		flags -= len(" #1")
	}
	t.Words = []int{len(t.Header)}
	t.Header = append(t.Header, "flags")
	for _, r := range p.rows {
		theirs, ours := r.LlamaBenchy(), r.Measured()
		prefill, decode := r.names(several(p.rows))
		first := []string{prefill, theirs.Prefill.text(), ours.Prefill.text(), ours.Prefill.count(), ttft(theirs, ours)}
		second := []string{decode, theirs.Decode.text(), ours.Decode.text(), ours.Decode.count(), ""}
		for _, c := range columns {
			first, second = append(first, ""), append(second, c.text(r))
		}
		t.Add(append(first, r.marks(prefillFlags, flags))...)
		t.Add(append(second, r.marks(decodeFlags, flags))...)
	}
	return t
}

// text returns a rate with its spread, in tokens per second.
func (m *Metric) text() string {
	if m == nil {
		return format.None
	}
	return fmt.Sprintf("%.2f ± %.2f", m.Mean, m.SD)
}

func (e *Estimate) text() string {
	switch {
	case e == nil:
		return format.None
	case e.SD == nil:
		return fmt.Sprintf("%.2f", e.Mean)
	}
	return fmt.Sprintf("%.2f ± %.2f", e.Mean, *e.SD)
}

// count returns of how many batches an estimate is.
func (e *Estimate) count() string {
	if e == nil {
		return ""
	}
	return fmt.Sprint(e.N)
}

func ttft(theirs LlamaBenchy, ours Measured) string {
	switch {
	case ours.TTFT != nil:
		return format.Seconds(ours.TTFT.Mean)
	case theirs.TTFT != nil:
		return format.Seconds(theirs.TTFT.Mean / 1e3)
	}
	return format.None
}

// prefillFlags and decodeFlags are the flags that concern one half of a row; all others concern both and stand beside
// the first.
var (
	prefillFlags = []string{CacheMissed, EarlyRole}
	decodeFlags  = []string{PrefillInTG, ShortAnswers}
)

// marks returns the names of the flags beside a half of the row, as many as fit and how many more.
func (r Row) marks(of []string, width int) string {
	first := slices.Contains(of, CacheMissed)
	var names []string
	for _, f := range r.Flags() {
		if slices.Contains(of, f.Name) || first && !slices.Contains(decodeFlags, f.Name) {
			names = append(names, f.Name)
		}
	}
	names = slices.Compact(names)
	for fit := len(names); fit > 0; fit-- {
		text := strings.Join(names[:fit], ", ")
		if fit < len(names) {
			text += fmt.Sprintf(" +%d", len(names)-fit)
		}
		if len(text) <= width || fit == 1 {
			return text
		}
	}
	return ""
}

// notes returns the evidence of flags and the causes, by cell.
func (p part) notes() []render.Block {
	var flags, causes, peaks []string
	for _, r := range p.rows {
		prefill, decode := r.names(several(p.rows))
		for _, f := range r.Flags() {
			name := prefill
			if slices.Contains(decodeFlags, f.Name) {
				name = decode
			}
			flags = append(flags, fmt.Sprintf("%s: %s: %s", name, f.Name, f.Evidence))
		}
		for _, c := range r.Causes() {
			text := c.test(prefill, decode) + ": " + c.Text
			if c.Peak {
				peaks = append(peaks, text)
			} else {
				causes = append(causes, text)
			}
		}
	}
	var blocks []render.Block
	if len(flags) > 0 {
		blocks = append(blocks, render.List{Lead: []render.Span{render.Plain("Flags:")}, Items: render.Items(flags)})
	}
	if len(causes) > 0 {
		blocks = append(blocks, render.List{Lead: []render.Span{render.Plain(fmt.Sprintf("Where the columns differ by more than %s:", format.Ratio(Margin)))}, Items: render.Items(causes)})
	}
	if len(peaks) > 0 {
		blocks = append(blocks, render.List{Lead: []render.Span{render.Plain(fmt.Sprintf("Where llama-benchy's peak t/s, not shown above, is more than %s over the measured mean:", format.Ratio(Margin)))}, Items: render.Items(peaks)})
	}
	blocks = append(blocks, render.Small(p.legend()))
	if machine := p.machineLegend(); machine != "" {
		blocks = append(blocks, render.Small(machine))
	}
	return blocks
}

// legend says what the columns are.
func (p part) legend() string {
	if !slices.ContainsFunc(p.rows, func(r Row) bool { return len(r.Batches) > 0 }) {
		return "Figures as llama-benchy has them, ± divides by n. Measured figures need the requests, which its JSON, CSV and table lack."
	}
	return "As llama-benchy: to the definitions of version 0.4.0, ± divides by n. Measured: computed prompt tokens over the time to the last first token, " +
		"and output tokens while all requests decode; ± of the n batches divides by n - 1."
}

// Widths of text for a terminal.
const (
	textWidth = 100
	flagWidth = 24
)

// WriteText writes both columns for a terminal, at most 100 characters wide.
func WriteText(w io.Writer, rows []Row) error {
	d := document(rows, flagWidth, false)
	var blocks []render.Block
	for _, block := range d.Blocks {
		switch b := block.(type) {
		case render.Paragraph:
			for _, line := range wrapped(b.Spans, textWidth, "") {
				blocks = append(blocks, render.P(line...))
			}
			continue
		case render.List:
			items := b.Items
			b.Items = nil
			for _, item := range items {
				b.Items = append(b.Items, wrapped(item, textWidth-2, "  ")...)
			}
			block = b
		}
		blocks = append(blocks, block)
	}
	d.Blocks = blocks
	return render.Text(w, d)
}

// wrapped breaks a text into lines, the later ones indented.
func wrapped(spans []render.Span, width int, indent string) [][]render.Span {
	var lines [][]render.Span
	line := ""
	for _, span := range spans {
		for _, word := range strings.Fields(span.Text) {
			switch {
			case line == "":
				line = word
			case utf8.RuneCountInString(line+" "+word) > width:
				lines = append(lines, []render.Span{render.Plain(line)})
				line = indent + word
			default:
				line += " " + word
			}
		}
	}
	return append(lines, []render.Span{render.Plain(line)})
}
