package comparison

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// Limits of the brief text for a terminal.
const (
	briefColumns = 100 // of every line
	widestArm    = 14  // of the name of an arm above a column
	mostNames    = 6   // of facts that differ, of lines of the ledger
)

// Brief prints the answer of a comparison for a terminal, in lines of at most 100 columns: a headline for each pair of
// arms, the metrics that decide and those beyond their margin, and one line each for memory, for what else differs, for
// the order of the runs and for the caveats. Text has the rest.
func Brief(w io.Writer, c compare.Comparison) error { return render.Text(w, brief(c)) }

func brief(c compare.Comparison) render.Document {
	var d render.Document
	headlines := Headlines(c)
	several := len(headlines) > 1
	i := 0
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			h := headlines[i]
			i++
			if several {
				d.Add(render.H3(strings.TrimPrefix(h.Where+": "+h.Pair, ": ")))
				d.Add(paragraphs(h.Text)...)
			} else {
				d.Add(paragraphs(h.Sentence())...)
			}
			t, left := briefTable(p)
			d.Add(t)
			if left > 0 {
				d.Add(line(fmt.Sprintf("%d other metrics are within their margin or not decided.", left)))
			}
			d.Add(briefFacts(s, p))
		}
	}
	if c.Simulated {
		d.Add(line("SIMULATED: not a measurement of a real machine"))
	}
	if codes := codesOf(slices.Concat(c.Warnings, warningsBelow(c))); len(codes) > 0 {
		d.Add(paragraphs(fmt.Sprintf("%s: %s", counted(len(codes), "caveat"), strings.Join(codes, ", ")))...)
	}
	if len(headlines) > 0 {
		d.Add(line("--all shows every metric with its spread and margin, the ledgers and the caveats in full."))
	}
	return d
}

// wrapped returns the lines of a text that is broken between words and after hyphens, which may stand in the column after
// the last one.
func wrapped(text string, columns int) []string {
	return strings.Split(ansi.Wordwrap(render.Printable(text), columns-1, ""), "\n")
}

func paragraphs(text string) []render.Block {
	var blocks []render.Block
	for _, one := range wrapped(text, briefColumns) {
		blocks = append(blocks, line(one))
	}
	return blocks
}

// briefTable has the metrics of the headline and those beyond their margin; left is the number of the others.
func briefTable(p compare.Pair) (t render.Table, left int) {
	t.Header = []string{"", ansi.Truncate(p.A, widestArm, "…"), ansi.Truncate(p.B, widestArm, "…"), "change [95 % CI]", "verdict"}
	for _, m := range p.Metrics {
		if !inHeadline(m) && !found(m) {
			left++
			continue
		}
		unit := figure.Unit(m.Unit)
		name := keyOf(m).title()
		if m.Primary {
			name = "* " + name
		}
		verdict := m.Verdict.Text()
		switch {
		case m.VerdictIgnoringOrder != "":
			verdict = "confounded"
		case lostToHolm(m):
			verdict += " (Holm)"
		}
		t.Add(name, format.Optional(m.A.Mean, unit.Text), format.Optional(m.B.Mean, unit.Text), SignedChange(m), verdict)
	}
	return foldNames(t), left
}

// SignedChange formats a difference with its 95 % interval in the same unit: +5.02 GiB [-16.58, +26.61].
func SignedChange(m compare.Metrics) string {
	c := changeOf(m)
	if c.text == nil {
		return format.None
	}
	text := plus(c.value) + c.text(c.value)
	if c.interval != nil {
		text += fmt.Sprintf(" [%s%s, %s%s]", plus(c.interval[0]), c.inUnit(c.interval[0], c.value), plus(c.interval[1]), c.inUnit(c.interval[1], c.value))
	}
	return text
}

func plus(v float64) string {
	if v > 0 {
		return "+"
	}
	return ""
}

// foldNames breaks names that would make the table wider than a line, between words, into rows of their own.
func foldNames(t render.Table) render.Table {
	room := briefColumns
	for column := 1; column < len(t.Header); column++ {
		widest := utf8.RuneCountInString(t.Header[column])
		for _, row := range t.Rows {
			widest = max(widest, utf8.RuneCountInString(row.Cells[column]))
		}
		room -= 2 + widest
	}
	folded := render.Table{Header: t.Header}
	for _, row := range t.Rows {
		for i, part := range wrapped(row.Cells[0], max(room-2, 2)) {
			if i == 0 {
				folded.Add(append([]string{part}, row.Cells[1:]...)...)
			} else {
				folded.Add(append([]string{"  " + part}, make([]string, len(t.Header)-1)...)...)
			}
		}
	}
	return folded
}

// briefFacts lists what is behind a verdict, one line each.
func briefFacts(s compare.Stratum, p compare.Pair) render.List {
	var l render.List
	add := func(text string) {
		for i, one := range wrapped(text, briefColumns-4) {
			l.Items = append(l.Items, []render.Span{render.Plain(strings.Repeat("  ", min(i, 1)) + one)})
		}
	}
	for _, m := range p.Metrics {
		if needed := m.NeededText(); m.Primary && needed != "" {
			add(keyOf(m).title() + ": " + needed)
		}
	}
	if text := ledgerWords(p); text != "" {
		add(text)
	}
	if differs, same := fairness(p); !differs.Empty() {
		var items []string
		for _, row := range differs.Rows[:min(len(differs.Rows), mostNames)] {
			items = append(items, row.Cells[0])
		}
		if left := len(differs.Rows) - len(items); left > 0 {
			items = append(items, fmt.Sprintf("%d more", left))
		}
		add(fmt.Sprintf("%d of %d known items differ besides: %s", len(differs.Rows), len(differs.Rows)+len(same.Rows), strings.Join(items, ", ")))
	}
	order := "order " + s.Order.Kind + ": " + sequence(s.Order.Sequence)
	if pairs := p.PairsText(); pairs != "" {
		order += "; " + pairs
	}
	add(order)
	return l
}

// ledgerWords returns the lines of the ledger that differ when the engine is ready, or at the peak where that is not
// known, the largest first; empty if none does.
func ledgerWords(p compare.Pair) string {
	moment, lines := "when ready", p.LedgerDifference.Ready
	if len(lines) == 0 {
		moment, lines = "at the peak", p.LedgerDifference.Peak
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(lines)), func(name string) bool { return math.Abs(lines[name]) < leastLedger })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(math.Abs(lines[b]), math.Abs(lines[a])) })
	var parts []string
	for _, name := range names[:min(len(names), mostNames)] {
		parts = append(parts, name+" "+signed(figure.Bytes, lines[name]))
	}
	if left := len(names) - len(parts); left > 0 {
		parts = append(parts, fmt.Sprintf("%d more", left))
	}
	if len(parts) == 0 {
		return ""
	}
	return "memory " + moment + ": " + strings.Join(parts, ", ")
}

// codesOf returns the codes of caveats, each once.
func codesOf(all []compare.Warning) []string {
	var codes []string
	for _, w := range all {
		if !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
