package compare_test

import (
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

// A line that is known of some runs alone is unattributed in the others: there it goes for all, and the differences still add
// up to that of the pools.
func TestTheLinesOfALedgerDifferenceAddUpToThatOfThePools(t *testing.T) {
	var e experiment
	for i, arm := range order("abba") {
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) {
			size := map[string]float64{"a": 7, "b": 11}[arm] + float64(i%3)
			lines := map[string]float64{"free": 100 - size, "anon": size, "unattributed": 0}
			if i%2 == 0 { // no privilege: the line is not known
				lines["managed"], lines["unattributed"] = 3, -3
			}
			if arm == "b" {
				lines["zfs_arc"], lines["unattributed"] = 5, lines["unattributed"]-5
			}
			r.Ledger.Ready = lines
		})
	}
	p := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0]
	d := p.LedgerDifference.Ready
	sum := 0.0
	for _, bytes := range d {
		sum += bytes
	}
	if len(d) != 3 || d["anon"] <= 0 || sum != 0 {
		t.Errorf("%v, in all %v", d, sum)
	}
	for arm, l := range map[string]summary.Ledgers{"a": p.Ledgers.A, "b": p.Ledgers.B} {
		pool := 0.0
		for line, bytes := range l.Ready {
			if pool += bytes; p.Ledgers.B.Ready[line]-p.Ledgers.A.Ready[line] != d[line] {
				t.Errorf("%s differs by %v, not by the difference of %+v", line, d[line], p.Ledgers)
			}
		}
		if len(l.Ready) != len(d) || pool != 100 {
			t.Errorf("arm %s: %v, in all %v of 100", arm, l.Ready, pool)
		}
	}
}

// Of an engine on two machines, what differs on the second is not the business of the first.
func TestTheLedgerDifferenceOfFurtherMachinesIsOfThoseThatBothArmsMeasured(t *testing.T) {
	var e experiment
	for i, arm := range order("abba") {
		page := 10.
		if arm == "b" {
			page = 25
		}
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) {
			r.Ledger.Ready = map[string]float64{"page_cache": 1 * gib}
			r.Ledgers = map[string]summary.Ledgers{"spark-2": {Ready: map[string]float64{"page_cache": page * gib}}}
			if arm == "b" {
				r.Ledgers["spark-3"] = summary.Ledgers{Ready: map[string]float64{"page_cache": gib}}
			}
		})
	}
	p := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0]
	if p.LedgerDifference.Ready["page_cache"] != 0 || len(p.LedgerDifferenceOn) != 1 || p.LedgerDifferenceOn["spark-2"].Ready["page_cache"] != 15*gib ||
		p.LedgersOn["spark-2"].A.Ready["page_cache"] != 10*gib || p.LedgersOn["spark-2"].B.Ready["page_cache"] != 25*gib {
		t.Errorf("%+v and %+v", p.LedgerDifference, p.LedgerDifferenceOn)
	}
	for i := range e.runs {
		e.runs[i].Ledgers = nil
	}
	if p := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0]; p.LedgerDifferenceOn != nil {
		t.Errorf("%+v of runs on one machine", p.LedgerDifferenceOn)
	}
}
