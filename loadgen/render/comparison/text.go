// Package comparison shows a comparison: as text for a terminal, as Markdown, as CSV and as one page of HTML with its
// charts. It computes no figures that the comparison does not have, and treats every text in it as untrusted.
package comparison

import (
	"fmt"
	"io"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// Limits of the text for a terminal. The other formats are complete.
const (
	mostRows    = 48 // of metrics
	mostDiffers = 12 // of each pair
	mostOfCode  = 3  // warnings of one code
)

// Text prints a comparison for a terminal: the verdicts first, then what supports and weakens them.
func Text(w io.Writer, c compare.Comparison) error {
	return render.Text(w, terminal(c))
}

func terminal(c compare.Comparison) render.Document {
	runs, _ := runsIn(c)
	text := fmt.Sprintf("%s by %s", compare.Runs(runs), c.By)
	if len(c.Within) > 0 {
		text += " within " + strings.Join(c.Within, ", ")
	}
	var d render.Document
	d.Add(line(text + ", against " + c.Baseline))
	if made := madeLine(c); made != "" {
		d.Add(line(made))
	}
	if c.Simulated {
		d.Add(line("SIMULATED: not a measurement of a real machine"))
	}
	d.Add(verdictBlocks(c)...)
	d.Add(orderBlocks(c)...)
	d.Add(fairnessBlocks(c)...)
	d.Add(ledgerBlocks(c)...)
	if kv := overallKV(c); kv != nil {
		d.Add(line("KV cache: " + kv.Text))
	}
	d.Add(warningBlocks(c)...)
	return d
}

func line(text string) render.Paragraph { return render.P(render.Plain(text)) }

// runsIn counts the runs that enter figures, and the excluded ones.
func runsIn(c compare.Comparison) (runs, excluded int) {
	for _, s := range c.Strata {
		for _, a := range s.Arms {
			runs += len(a.Runs)
			excluded += len(a.Excluded)
		}
	}
	return runs, excluded
}

// verdictBlocks has a table for each pair. Where there are too many rows, only the metrics that decide and those that
// differ are shown.
func verdictBlocks(c compare.Comparison) []render.Block {
	rows := 0
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			rows += len(p.Metrics)
		}
	}
	var blocks []render.Block
	left := 0
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			g, without := verdictGrid(p, rows > mostRows)
			left += without
			blocks = append(blocks, render.H3(strings.TrimPrefix(stratumName(c, s)+": "+pairName(p), allRuns+": ")), g)
		}
	}
	if rows > 0 {
		blocks = append(blocks, line("* decides; sd: standard deviation of the runs, in the unit of their mean (in brackets by n, not n - 1); n: runs"))
	}
	if left > 0 {
		blocks = append(blocks, line(fmt.Sprintf("%d metrics without a finding are not shown; --md, --csv and --json have them", left)))
	}
	return blocks
}

// verdictGrid has the most important columns of the metrics of a pair, and returns the number of metrics left out.
func verdictGrid(p compare.Pair, short bool) (g render.Table, left int) {
	g = render.Table{Header: []string{"", p.A, "sd (population)", "n", p.B, "sd (population)", "n", "change", "95 % CI", "margin", "verdict"}}
	for _, m := range p.Metrics {
		if short && !m.Primary && !found(m) {
			left++
			continue
		}
		unit := figure.Unit(m.Unit)
		name := keyOf(m).title()
		if m.Primary {
			name = "* " + name
		}
		change, ci := format.Optional(m.Ratio, figure.Change), interval(m.RatioCI95, figure.Change)
		if m.RatioCI95 == nil && (m.CI95 != nil || m.Ratio == nil || !m.Margin.Relative) {
			signs := func(v float64) string { return signed(unit, v) }
			change, ci = format.Optional(m.Difference, signs), interval(m.CI95, signs)
		}
		g.Add(name, format.Optional(m.A.Mean, unit.Text), deviation(m.A, unit), fmt.Sprint(m.A.N), format.Optional(m.B.Mean, unit.Text), deviation(m.B, unit), fmt.Sprint(m.B.N),
			change, ci, "±"+m.Margin.Text(unit), VerdictText(m)+needed(m))
	}
	return g, left
}

// found reports whether the figures of a metric show a difference, whatever time may explain.
func found(m compare.Metrics) bool {
	return m.Verdict.IsDifference() || m.VerdictIgnoringOrder.IsDifference()
}

func needed(m compare.Metrics) string {
	if text := m.NeededText(); text != "" {
		return " (" + text + ")"
	}
	return ""
}

func orderBlocks(c compare.Comparison) []render.Block {
	var t render.Table
	for _, s := range c.Strata {
		t.Add("  "+stratumName(c, s), s.Order.Kind, sequence(s.Order.Sequence))
		for _, p := range s.Pairs {
			if text := p.PairsText(); text != "" {
				t.Add("  "+pairName(p), text)
			}
		}
	}
	for _, r := range gradesGrid(c).Rows {
		t.Add("  runs of "+r.Cells[0], fmt.Sprintf("%s of decision grade, %s valid, %s invalid", r.Cells[1], r.Cells[2], r.Cells[3]), r.Cells[4])
	}
	return []render.Block{render.H3("order"), t}
}

func fairnessBlocks(c compare.Comparison) []render.Block {
	var counts render.Table
	var tables []render.Block
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			differs, same := fairness(p)
			counts.Add("  "+strings.TrimPrefix(stratumName(c, s)+", "+pairName(p), allRuns+", "), fmt.Sprintf("%d of %d known items differ", len(differs.Rows), len(differs.Rows)+len(same.Rows)))
			if left := len(differs.Rows) - mostDiffers; left > 0 {
				differs.Rows = differs.Rows[:mostDiffers]
				differs.Add(more(left))
			}
			if !differs.Empty() {
				tables = append(tables, render.H3("what differs besides, "+stratumName(c, s)), differs)
			}
		}
	}
	return append([]render.Block{render.H3("fairness"), counts}, tables...)
}

// more formats the number of lines that are not shown.
func more(left int) string { return fmt.Sprintf("  and %d more, which --md has", left) }

func ledgerBlocks(c compare.Comparison) []render.Block {
	var blocks []render.Block
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			for _, l := range ledgersOf(p) {
				if tables := ledgerTables(p, l, false); len(tables) > 0 {
					blocks = append(blocks, render.H3(fmt.Sprintf("memory ledger%s, GiB, %s", l.where, stratumName(c, s))))
					blocks = append(blocks, tables...)
				}
			}
		}
	}
	return blocks
}

// warningBlocks lists the warnings of the whole; then those of strata and pairs that the former do not sum up, a few of
// each code.
func warningBlocks(c compare.Comparison) []render.Block {
	var l render.List
	whole := map[string]bool{}
	for _, w := range c.Warnings {
		l.Items = append(l.Items, render.Coded(w.Code, w.Text))
		whole[w.Code] = true
	}
	var codes []string
	below := map[string][]string{}
	for _, w := range warningsBelow(c) {
		if below[w.Code] == nil && !whole[w.Code] {
			codes = append(codes, w.Code)
		}
		below[w.Code] = append(below[w.Code], w.Text)
	}
	for _, code := range codes {
		for i, text := range below[code] {
			if i == mostOfCode {
				l.Items = append(l.Items, []render.Span{render.Plain(strings.TrimSpace(more(len(below[code]) - mostOfCode)))})
				break
			}
			l.Items = append(l.Items, render.Coded(code, text))
		}
	}
	if l.Empty() {
		return nil
	}
	return []render.Block{render.H3("warnings"), l}
}

// warningsBelow returns the warnings of strata and pairs, with the name of each.
func warningsBelow(c compare.Comparison) []compare.Warning {
	var all []compare.Warning
	for _, s := range c.Strata {
		where := ""
		if len(c.Within) > 0 {
			where = stratumName(c, s) + ": "
		}
		for _, w := range s.Warnings {
			all = append(all, compare.Warning{Code: w.Code, Text: where + w.Text})
		}
		for _, p := range s.Pairs {
			for _, w := range p.Warnings {
				all = append(all, compare.Warning{Code: w.Code, Text: fmt.Sprintf("%s%s against %s: %s", where, p.B, p.A, w.Text)})
			}
		}
	}
	return all
}

// interval formats the ends of an interval.
func interval(i *compare.Interval, text func(float64) string) string {
	if i == nil {
		return format.None
	}
	return text(i[0]) + " to " + text(i[1])
}

// deviation formats the standard deviation of the sample in the unit of its mean, and that of a population: both are
// published.
func deviation(m compare.Moments, unit figure.Unit) string {
	if m.SD == nil || m.PopulationSD == nil {
		return format.None
	}
	return unit.InUnitOf(*m.SD, *m.Mean) + " (" + unit.InUnitOf(*m.PopulationSD, *m.Mean) + ")"
}
