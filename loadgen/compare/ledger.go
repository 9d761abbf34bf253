package compare

import "github.com/umascope/umascope/exporter/metric"

// ledgerDelta is b - a of the means of the runs, line by line: what an effect on memory is made of.
func ledgerDelta(a, b []*Run) LedgerDelta {
	return ledgerDeltaOf(a, b, func(r *Run) Ledger { return r.Ledger })
}

// ledgerDeltas are those of further machines that both arms measured; nil without any.
func ledgerDeltas(a, b []*Run) map[string]LedgerDelta {
	var all map[string]LedgerDelta
	for _, r := range b {
		for host := range r.Ledgers {
			d := ledgerDeltaOf(a, b, func(r *Run) Ledger { return r.Ledgers[host] })
			if len(d.Start)+len(d.Ready)+len(d.Peak) == 0 {
				continue
			}
			if all == nil {
				all = map[string]LedgerDelta{}
			}
			all[host] = d
		}
	}
	return all
}

func ledgerDeltaOf(a, b []*Run, of func(*Run) Ledger) LedgerDelta {
	between := func(at func(Ledger) map[string]float64) map[string]float64 {
		mean := func(r *Run) map[string]float64 { return at(of(r)) }
		x, y := meanLines(a, mean), meanLines(b, mean)
		keepShared(x, y)
		keepShared(y, x)
		var delta map[string]float64
		for line, v := range y {
			if delta == nil {
				delta = map[string]float64{}
			}
			delta[line] = v - x[line]
		}
		return delta
	}
	return LedgerDelta{
		Start: between(func(l Ledger) map[string]float64 { return l.Start }),
		Ready: between(func(l Ledger) map[string]float64 { return l.Ready }),
		Peak:  between(func(l Ledger) map[string]float64 { return l.Peak }),
	}
}

// keepShared keeps the lines that another ledger has too.
func keepShared(lines, other map[string]float64) {
	for line := range lines {
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

// meanLines are the lines over the runs that were observed at that moment. A line that only some of those
// have would be a mean of other runs than its neighbours: it is left out.
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
	for line, n := range count {
		if n != observed {
			leaveOut(sum, line)
		}
	}
	for line := range sum {
		sum[line] /= float64(observed)
	}
	return sum
}
