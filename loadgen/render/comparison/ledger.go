package comparison

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// momentClasses are the colours of the moments of summary.Ledgers.
var momentClasses = [...]string{"c7", "c5", "c0"}

// leastLedger is the difference in bytes from which on a line is shown by itself where lines are folded.
const leastLedger = 32 << 20

// ledgers are those of both arms on one machine.
type ledgers struct {
	where      string // " of spark-2"; empty for the host of the runs
	pair       compare.LedgerPair
	difference summary.Ledgers
	differ     int // for folded ledgers, the number of lines that differ by leastLedger or more
}

// ledgersOf returns the ledgers of the host of the runs, then those of further machines by name.
func ledgersOf(p compare.Pair) []ledgers {
	all := []ledgers{{pair: p.Ledgers, difference: p.LedgerDifference}}
	for _, host := range slices.Sorted(maps.Keys(p.LedgerDifferenceOn)) {
		all = append(all, ledgers{where: " of " + host, pair: p.LedgersOn[host], difference: p.LedgerDifferenceOn[host]})
	}
	return all
}

// names returns the lines of all moments, in the order of the vocabulary; the folded line is the last.
func (l ledgers) names() []string {
	lines := map[string]bool{}
	for _, m := range l.difference.Moments() {
		for name := range *m.Ledger {
			lines[name] = true
		}
	}
	return ledger.InOrder(lines)
}

// folded returns the lines that differ by leastLedger or more at one moment, those in kept, and the sum of the others
// as one line.
func (l ledgers) folded(kept map[string]bool) ledgers {
	largest := map[string]float64{}
	for _, m := range l.difference.Moments() {
		for name, bytes := range *m.Ledger {
			largest[name] = max(largest[name], math.Abs(bytes))
		}
	}
	l.differ = 0
	maps.DeleteFunc(largest, func(name string, bytes float64) bool {
		differs := bytes >= leastLedger
		if differs {
			l.differ++
		}
		return !differs && !kept[name]
	})
	others := len(l.names()) - len(largest)
	if others < 2 { // a single line keeps its name
		return l
	}
	name := fmt.Sprintf("%d other lines", others)
	fold := func(lines ledger.Ledger) ledger.Ledger {
		if lines == nil {
			return nil
		}
		folded := ledger.Ledger{}
		for _, line := range ledger.InOrder(lines) {
			shown := line
			if _, differs := largest[line]; !differs {
				shown = name
			}
			folded[shown] += lines[line]
		}
		return folded
	}
	foldAll := func(d summary.Ledgers) summary.Ledgers {
		return summary.Ledgers{Start: fold(d.Start), Ready: fold(d.Ready), Peak: fold(d.Peak)}
	}
	l.difference = foldAll(l.difference)
	l.pair = compare.LedgerPair{A: foldAll(l.pair.A), B: foldAll(l.pair.B)}
	return l
}

// large returns the lines that are at least a hundredth of the pool of an arm at one moment.
func (l ledgers) large() map[string]bool {
	large := map[string]bool{}
	for _, arm := range []summary.Ledgers{l.pair.A, l.pair.B} {
		for _, m := range arm.Moments() {
			pool := m.Sum()
			for name, bytes := range *m.Ledger {
				large[name] = large[name] || bytes >= pool/100
			}
		}
	}
	return large
}

// ledgerTables returns a table for each observed moment: the lines of both arms and their difference, GiB, in the order
// of the vocabulary, and the pool that they add up to. Unless all is set, lines that are small and hardly differ are
// folded.
func ledgerTables(p compare.Pair, l ledgers, all bool) []render.Block {
	shown := l
	if !all {
		shown = l.folded(l.large())
	}
	var tables []render.Block
	inA, inB, differences := shown.pair.A.Moments(), shown.pair.B.Moments(), shown.difference.Moments()
	for i, m := range l.difference.Moments() {
		if len(*m.Ledger) == 0 {
			continue
		}
		columns := []ledger.Ledger{*inA[i].Ledger, *inB[i].Ledger, *differences[i].Ledger}
		t := render.Table{Header: []string{"at " + m.Moment, p.A, p.B, "difference"}}
		for _, name := range shown.names() {
			if _, known := columns[2][name]; known {
				t.Add(append([]string{ledger.Named(name).Title}, cells(columns, func(lines ledger.Ledger) (float64, bool) {
					v, there := lines[name]
					return v, there
				})...)...)
			}
		}
		if m.Whole() { // without it lines may be missing
			t.Add(append([]string{"pool"}, cells(columns, func(lines ledger.Ledger) (float64, bool) { return lines.Sum(), len(lines) > 0 })...)...)
		}
		tables = append(tables, t)
	}
	return tables
}

// cells formats the values of both arms and their difference.
func cells(columns []ledger.Ledger, of func(ledger.Ledger) (bytes float64, known bool)) []string {
	var all []string
	for i, lines := range columns {
		text := format.None
		if bytes, known := of(lines); known {
			gib := math.Round(bytes/(1<<30)*100) / 100
			text = strconv.FormatFloat(gib+0, 'f', 2, 64) // + 0 makes 0 of -0
			if i == 2 && gib > 0 {
				text = "+" + text
			}
		}
		all = append(all, text)
	}
	return all
}
