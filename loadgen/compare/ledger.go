package compare

import (
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/summary"
)

// ledgersOf returns the mean ledgers of both arms at each moment, with the lines that both have.
func ledgersOf(a, b []*Run, of func(*Run) summary.Ledgers) LedgerPair {
	var p LedgerPair
	ofA, ofB := p.A.Moments(), p.B.Moments()
	for i := range ofA {
		lines := func(r *Run) ledger.Ledger {
			l := of(r)
			return *l.Moments()[i].Ledger
		}
		x, y := meanLines(a, lines), meanLines(b, lines)
		if x, y := x.Shared(y), y.Shared(x); len(x) > 0 {
			*ofA[i].Ledger, *ofB[i].Ledger = x, y
		}
	}
	return p
}

// setLedgers sets the ledgers of both arms and their differences: those of the host of the runs, and of the further
// machines that both arms measured.
func (p *Pair) setLedgers(a, b []*Run) {
	p.Ledgers = ledgersOf(a, b, func(r *Run) summary.Ledgers { return r.Ledger })
	p.LedgerDifference = p.Ledgers.B.Minus(p.Ledgers.A)
	for _, r := range b {
		for host := range r.Ledgers {
			l := ledgersOf(a, b, func(r *Run) summary.Ledgers { return r.Ledgers[host] })
			if l.B.Empty() {
				continue
			}
			if p.LedgersOn == nil {
				p.LedgersOn, p.LedgerDifferenceOn = map[string]LedgerPair{}, map[string]summary.Ledgers{}
			}
			p.LedgersOn[host], p.LedgerDifferenceOn[host] = l, l.B.Minus(l.A)
		}
	}
}

// meanLines returns the means of the lines over the runs that were observed at that moment. It leaves out a line that
// only some of those runs have: its mean would be over other runs than that of its neighbours.
func meanLines(runs []*Run, at func(*Run) ledger.Ledger) ledger.Ledger {
	sum, count, observed := ledger.Ledger{}, map[string]int{}, 0
	for _, r := range runs {
		lines := at(r)
		if lines == nil {
			continue
		}
		observed++
		for line, v := range lines {
			sum[line] += v
			count[line]++
		}
	}
	for _, line := range ledger.InOrder(count) { // sums in the same order each time, so that the result does not vary
		if count[line] != observed {
			sum.LeaveOut(line)
		}
	}
	for line := range sum {
		sum[line] /= float64(observed)
	}
	return sum
}
