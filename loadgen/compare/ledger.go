package compare

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/summary"
)

// ledgersOf returns the mean ledgers of both arms at each moment, with the lines that both have.
func ledgersOf(a, b []*Run, of func(*Run) summary.Ledger) LedgerPair {
	var p LedgerPair
	ofA, ofB := p.A.Moments(), p.B.Moments()
	for i := range ofA {
		lines := func(r *Run) map[string]float64 {
			l := of(r)
			return *l.Moments()[i]
		}
		x, y := meanLines(a, lines), meanLines(b, lines)
		keepShared(x, y)
		keepShared(y, x)
		if len(x) > 0 {
			*ofA[i], *ofB[i] = x, y
		}
	}
	return p
}

// setLedgers sets the ledgers of both arms and their differences: those of the host of the runs, and of the further
// machines that both arms measured.
func (p *Pair) setLedgers(a, b []*Run) {
	p.Ledgers = ledgersOf(a, b, func(r *Run) summary.Ledger { return r.Ledger })
	p.LedgerDifference = p.Ledgers.difference()
	for _, r := range b {
		for host := range r.Ledgers {
			l := ledgersOf(a, b, func(r *Run) summary.Ledger { return r.Ledgers[host] })
			if l.B.Empty() {
				continue
			}
			if p.LedgersOn == nil {
				p.LedgersOn, p.LedgerDifferenceOn = map[string]LedgerPair{}, map[string]summary.Ledger{}
			}
			p.LedgersOn[host], p.LedgerDifferenceOn[host] = l, l.difference()
		}
	}
}

// difference returns b - a, line by line: the parts of an effect on memory.
func (p LedgerPair) difference() summary.Ledger {
	var delta summary.Ledger
	to := delta.Moments()
	for i, of := range p.B.Moments() {
		a, b := *p.A.Moments()[i], *of
		if len(b) == 0 {
			continue
		}
		lines := map[string]float64{}
		for line, v := range b {
			lines[line] = v - a[line]
		}
		*to[i] = lines
	}
	return delta
}

// keepShared keeps the lines that the other ledger has too.
func keepShared(lines, other map[string]float64) {
	for _, line := range metric.InLedgerOrder(lines) {
		if _, shared := other[line]; !shared {
			leaveOut(lines, line)
		}
	}
}

// leaveOut takes a line out of a ledger: its bytes are unattributed then, so that the lines still add up to the pool.
func leaveOut(lines map[string]float64, line string) {
	if _, known := lines[metric.LineUnattributed]; known && line != metric.LineUnattributed {
		lines[metric.LineUnattributed] += lines[line]
	}
	delete(lines, line)
}

// meanLines returns the means of the lines over the runs that were observed at that moment. It leaves out a line that
// only some of those runs have: its mean would be over other runs than that of its neighbours.
func meanLines(runs []*Run, at func(*Run) map[string]float64) map[string]float64 {
	sum, count, observed := map[string]float64{}, map[string]int{}, 0
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
	for _, line := range metric.InLedgerOrder(count) { // sums in the same order each time, so that the result does not vary
		if count[line] != observed {
			leaveOut(sum, line)
		}
	}
	for line := range sum {
		sum[line] /= float64(observed)
	}
	return sum
}
