// Package exhibit shows a comparison: as text for a terminal, as Markdown, as CSV and as one page of HTML with
// its figures. It computes nothing that the comparison does not say, and every text in it is somebody else's.
package exhibit

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
)

// How much the terminal shows. All of it is in the other forms.
const (
	mostRows    = 48 // of metrics
	mostDiffers = 12 // of each pair
	mostLedger  = 8
	mostOfCode  = 3 // warnings of one code
)

// Text prints a comparison for a terminal: the verdicts first, then what speaks for and against them.
func Text(w io.Writer, c compare.Comparison) error {
	t := terminal{table: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.head(c)
	t.verdicts(c)
	t.order(c)
	t.fairness(c)
	t.ledger(c)
	if kv := overallKV(c); kv != nil {
		t.line("")
		t.line("KV cache: " + kv.Says)
	}
	t.warnings(c)
	return t.table.Flush()
}

// terminal writes lines and tables; Flush returns what goes wrong.
type terminal struct{ table *tabwriter.Writer }

// line writes cells of a row. Text from elsewhere cannot act on the terminal.
func (t terminal) line(cells ...string) {
	for i, text := range cells {
		cells[i] = chart.Printable(text)
	}
	fmt.Fprintln(t.table, strings.Join(cells, "\t"))
}

// part begins a part of its own, whose columns are not those of the one before.
func (t terminal) part(title string) {
	t.line("")
	t.line(title)
}

func (t terminal) grid(g *grid) {
	t.line(slices.Clone(g.Header)...)
	for _, r := range g.Rows {
		t.line(r.texts()...)
	}
}

// texts are the cells of a row.
func (r gridRow) texts() []string {
	var texts []string
	for _, c := range r.Cells {
		texts = append(texts, c.Text)
	}
	return texts
}

func (t terminal) head(c compare.Comparison) {
	text := fmt.Sprintf("%s by %s", compare.Runs(runsIn(c)), c.By)
	if len(c.Within) > 0 {
		text += " within " + strings.Join(c.Within, ", ")
	}
	t.line(text + ", against " + c.Baseline)
	if c.Simulated {
		t.line("SIMULATED: not a measurement of a real machine")
	}
}

// runsIn counts the runs that enter figures.
func runsIn(c compare.Comparison) int {
	n := 0
	for _, s := range c.Strata {
		for _, a := range s.Arms {
			n += len(a.Runs)
		}
	}
	return n
}

// verdicts has a table for each pair. Where there are too many rows, only what decides and what differs is
// shown.
func (t terminal) verdicts(c compare.Comparison) {
	rows := 0
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			rows += len(p.Metrics)
		}
	}
	left := 0
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			g, without := verdictGrid(p, rows > mostRows)
			left += without
			t.part(strings.TrimPrefix(stratumName(c, s)+": "+p.B+" against "+p.A, "All runs: "))
			t.grid(g)
		}
	}
	if rows > 0 {
		t.line("")
		t.line("* decides; sd: standard deviation of the runs, in the unit of their mean (in brackets by n, not n - 1); n: runs")
	}
	if left > 0 {
		t.line(fmt.Sprintf("%d metrics without a finding are not shown; --md, --csv and --json have them", left))
	}
}

// verdictGrid has what a person needs of the metrics of a pair, and the number of those left out.
func verdictGrid(p compare.Pair, short bool) (g *grid, left int) {
	g = &grid{Header: []string{"", p.A, "sd (population)", "n", p.B, "sd (population)", "n", "change", "95 % CI", "margin", "verdict"}}
	for _, m := range p.Metrics {
		if short && !m.Primary && !found(m) {
			left++
			continue
		}
		unit := compare.Unit(m.Unit)
		name := keyOf(m).title()
		if m.Primary {
			name = "* " + name
		}
		change, ci := chart.Optional(m.Ratio, compare.Change), ends(m.RatioCI95, compare.Change)
		if m.RatioCI95 == nil && (m.CI95 != nil || m.Ratio == nil || !m.Margin.Relative) {
			signs := func(v float64) string { return signed(unit, v) }
			change, ci = chart.Optional(m.Difference, signs), ends(m.CI95, signs)
		}
		g.add("", name, chart.Optional(m.A.Mean, unit.Text), deviation(m.A, unit), fmt.Sprint(m.A.N), chart.Optional(m.B.Mean, unit.Text), deviation(m.B, unit), fmt.Sprint(m.B.N),
			change, ci, "±"+m.Margin.Text(unit), VerdictText(m)+needed(m))
	}
	return g, left
}

// found says whether there is a finding.
func found(m compare.Metrics) bool {
	return slices.Contains([]compare.Verdict{compare.Better, compare.Worse, compare.Different}, m.Verdict)
}

func needed(m compare.Metrics) string {
	if m.NeedN == nil {
		return ""
	}
	return fmt.Sprintf(" (about %s of each arm needed)", compare.Runs(*m.NeedN))
}

func (t terminal) order(c compare.Comparison) {
	t.part("order")
	for _, s := range c.Strata {
		t.line("  "+stratumName(c, s), s.Order.Kind, sequence(s.Order.Sequence))
	}
	for _, r := range gradesGrid(c).Rows {
		cells := r.texts()
		text := fmt.Sprintf("%s of decision grade, %s valid, %s invalid", cells[1], cells[2], cells[3])
		t.line("  runs of "+cells[0], text, cells[4])
	}
}

func (t terminal) fairness(c compare.Comparison) {
	t.part("fairness")
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			differs, same := fairness(p)
			where := strings.TrimPrefix(stratumName(c, s)+", "+p.B+" against "+p.A, "All runs, ")
			t.line("  "+where, fmt.Sprintf("%d of %d known items differ", len(differs.Rows), len(differs.Rows)+len(same.Rows)))
		}
	}
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			if differs, _ := fairness(p); len(differs.Rows) > 0 {
				t.part(fmt.Sprintf("what differs besides, %s", stratumName(c, s)))
				left := len(differs.Rows) - mostDiffers
				differs.Rows = differs.Rows[:min(len(differs.Rows), mostDiffers)]
				t.grid(differs)
				t.more(left)
			}
		}
	}
}

// more says how much is not shown.
func (t terminal) more(left int) {
	if left > 0 {
		t.line(fmt.Sprintf("  and %d more, which --md has", left))
	}
}

func (t terminal) ledger(c compare.Comparison) {
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			if g := ledgerGrid(p.LedgerDifference, mostLedger); len(g.Rows) > 0 {
				t.part(fmt.Sprintf("memory ledger, %s less %s, %s", p.B, p.A, stratumName(c, s)))
				t.grid(g)
			}
			for _, host := range slices.Sorted(maps.Keys(p.LedgerDifferenceOn)) {
				t.part(fmt.Sprintf("memory ledger of %s, %s less %s, %s", host, p.B, p.A, stratumName(c, s)))
				t.grid(ledgerGrid(p.LedgerDifferenceOn[host], mostLedger))
			}
		}
	}
}

// ledgerGrid has the lines of a ledger difference, the largest first.
func ledgerGrid(d compare.LedgerDelta, most int) *grid {
	moments := []map[string]float64{d.Start, d.Ready, d.Peak}
	largest := map[string]float64{}
	for _, lines := range moments {
		for name, v := range lines {
			largest[name] = max(largest[name], math.Abs(v))
		}
	}
	names := slices.SortedFunc(maps.Keys(largest), func(a, b string) int {
		return cmp.Or(cmp.Compare(largest[b], largest[a]), cmp.Compare(a, b))
	})
	g := &grid{Header: []string{"line", "start", "ready", "peak"}}
	for _, name := range names[:min(len(names), most)] {
		cells := []string{name}
		for _, lines := range moments {
			if v, known := lines[name]; known {
				cells = append(cells, signed(compare.UnitBytes, v))
			} else {
				cells = append(cells, chart.None)
			}
		}
		g.add("", cells...)
	}
	return g
}

// warnings lists those of the whole; then those of strata and pairs that the former do not sum up, a few
// of each code.
func (t terminal) warnings(c compare.Comparison) {
	told := map[string]bool{}
	var codes []string
	below := map[string][]string{}
	for _, w := range warningsBelow(c) {
		if below[w.Code] == nil {
			codes = append(codes, w.Code)
		}
		below[w.Code] = append(below[w.Code], w.Text)
	}
	if len(c.Warnings)+len(codes) > 0 {
		t.part("warnings")
	}
	for _, w := range c.Warnings {
		t.line("  " + w.Code + ": " + w.Text)
		told[w.Code] = true
	}
	for _, code := range codes {
		if told[code] {
			continue
		}
		for _, text := range below[code][:min(len(below[code]), mostOfCode)] {
			t.line("  " + code + ": " + text)
		}
		t.more(len(below[code]) - mostOfCode)
	}
}

// warningsBelow are those of strata and pairs, with where they are of.
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

// ends are those of an interval.
func ends(i *compare.Interval, text func(float64) string) string {
	if i == nil {
		return chart.None
	}
	return text(i[0]) + " to " + text(i[1])
}

// deviation is the standard deviation of the sample in the unit of its mean, with that of a population
// beside it: both are published.
func deviation(m compare.Moments, unit compare.Unit) string {
	if m.SD == nil || m.PopulationSD == nil {
		return chart.None
	}
	return unit.Beside(*m.SD, *m.Mean) + " (" + unit.Beside(*m.PopulationSD, *m.Mean) + ")"
}
