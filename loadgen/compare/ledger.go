package compare

import "github.com/umascope/umascope/exporter/metric"

// ledgersOf returns the mean ledgers of both arms at each moment, with the lines that both have.
func ledgersOf(a, b []*Run, of func(*Run) Ledger) LedgerPair {
	shared := func(at func(Ledger) map[string]float64) (x, y map[string]float64) {
		mean := func(r *Run) map[string]float64 { return at(of(r)) }
		x, y = meanLines(a, mean), meanLines(b, mean)
		keepShared(x, y)
		keepShared(y, x)
		if len(x) == 0 {
			return nil, nil
		}
		return x, y
	}
	var p LedgerPair
	p.A.Start, p.B.Start = shared(func(l Ledger) map[string]float64 { return l.Start })
	p.A.Ready, p.B.Ready = shared(func(l Ledger) map[string]float64 { return l.Ready })
	p.A.Peak, p.B.Peak = shared(func(l Ledger) map[string]float64 { return l.Peak })
	return p
}

// ledgersOfMachines returns the ledgers of further machines that both arms measured; nil without any.
func ledgersOfMachines(a, b []*Run) map[string]LedgerPair {
	var all map[string]LedgerPair
	for _, r := range b {
		for host := range r.Ledgers {
			p := ledgersOf(a, b, func(r *Run) Ledger { return r.Ledgers[host] })
			if len(p.B.Start)+len(p.B.Ready)+len(p.B.Peak) == 0 {
				continue
			}
			if all == nil {
				all = map[string]LedgerPair{}
			}
			all[host] = p
		}
	}
	return all
}

// difference returns b - a, line by line: the parts of an effect on memory.
func (p LedgerPair) difference() LedgerDelta {
	less := func(b, a map[string]float64) map[string]float64 {
		var delta map[string]float64
		for line, v := range b {
			if delta == nil {
				delta = map[string]float64{}
			}
			delta[line] = v - a[line]
		}
		return delta
	}
	return LedgerDelta{Start: less(p.B.Start, p.A.Start), Ready: less(p.B.Ready, p.A.Ready), Peak: less(p.B.Peak, p.A.Peak)}
}

// differences returns the difference of each machine; nil without any.
func differences(ledgers map[string]LedgerPair) map[string]LedgerDelta {
	var all map[string]LedgerDelta
	for host, p := range ledgers {
		if all == nil {
			all = map[string]LedgerDelta{}
		}
		all[host] = p.difference()
	}
	return all
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
