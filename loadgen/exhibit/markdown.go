package exhibit

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
)

// Markdown writes everything that a comparison says. Text from elsewhere cannot break out of its cell, and
// is no markup or HTML.
func Markdown(w io.Writer, title string, c compare.Comparison) error {
	m := markdown{}
	m.line("# %s", cell(title))
	if c.Simulated {
		m.line("**SIMULATED: not a measurement of a real machine.**")
	}
	for _, v := range decisive(c) {
		m.line("**%s**: %s %s", cell(v.Where), cell(v.Text), cell(v.Means))
	}
	m.items(identity(c))
	m.list(c.Warnings)
	m.grid("Verdicts that decide", decisiveGrid(c))
	m.grid("Grades of the runs", gradesGrid(c))
	if kv := overallKV(c); kv != nil {
		m.line("## KV cache")
		m.line("%s", cell(kv.Says))
	}
	for _, s := range c.Strata {
		m.stratum(c, s)
	}
	_, err := io.WriteString(w, m.b.String())
	return err
}

type markdown struct{ b strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n\n", args...) }

func (m *markdown) items(items []item) {
	g := &grid{Header: []string{"what", "value"}}
	for _, i := range items {
		g.add("", i.Name, i.Value)
	}
	m.table(g)
}

// grid writes a table under its heading; nothing of an empty one.
func (m *markdown) grid(title string, g *grid) {
	if len(g.Rows) > 0 {
		m.line("### %s", cell(title))
		m.table(g)
	}
}

func (m *markdown) table(g *grid) {
	write := func(cells []string) {
		for _, text := range cells {
			m.b.WriteString("| " + cell(text) + " ")
		}
		m.b.WriteString("|\n")
	}
	write(g.Header)
	m.b.WriteString(strings.Repeat("| --- ", len(g.Header)) + "|\n")
	for _, row := range g.Rows {
		write(row.texts())
	}
	m.b.WriteString("\n")
}

func (m *markdown) list(warnings []compare.Warning) {
	for _, w := range warnings {
		fmt.Fprintf(&m.b, "- **%s**: %s\n", cell(w.Code), cell(w.Text))
	}
	if len(warnings) > 0 {
		m.b.WriteString("\n")
	}
}

func (m *markdown) stratum(c compare.Comparison, s compare.Stratum) {
	m.line("## %s", cell(stratumName(c, s)))
	m.line("%s", cell(orderWords(s.Order)))
	m.list(s.Warnings)
	for _, p := range s.Pairs {
		m.pair(p)
	}
	m.grid("Runs", runsGrid(c, s))
}

func (m *markdown) pair(p compare.Pair) {
	name := p.B + " against " + p.A
	m.grid(name, metricsGrid(p))
	m.list(p.Warnings)
	for _, note := range notes(p) {
		fmt.Fprintf(&m.b, "- %s\n", cell(note))
	}
	m.b.WriteString("\n")
	m.grid("Order, "+name, orderGrid(p))
	differs, same := fairness(p)
	m.grid("Not the same in both arms, "+name, differs)
	m.grid("The same in both arms, "+name, same)
	m.grid("Memory ledger, "+p.B+" less "+p.A, ledgerGrid(p.LedgerDifference, math.MaxInt))
	for _, host := range slices.Sorted(maps.Keys(p.LedgerDifferenceOn)) {
		m.grid("Memory ledger of "+host+", "+p.B+" less "+p.A, ledgerGrid(p.LedgerDifferenceOn[host], math.MaxInt))
	}
	m.grid("Runs that stand out, "+name, outlierGrid(p))
}

// cell makes any text safe in a table: nothing in it is markup, and it has no line break.
func cell(text string) string {
	return strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "#", `\#`, "~", `\~`,
		"<", "&lt;", ">", "&gt;", "&", "&amp;", "!", `\!`,
	).Replace(chart.Printable(text))
}
