package compare_test

import (
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
)

// A line that is known of some runs alone is unattributed in the others: there it goes for all, and the differences still add
// up to that of the pools.
func TestTheLinesOfALedgerDifferenceAddUpToThatOfThePools(t *testing.T) {
	var e experiment
	for i, arm := range order("abba") {
		e.run(arm, map[string]float64{compare.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) {
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
	d := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0].LedgerDifference.Ready
	sum := 0.0
	for _, bytes := range d {
		sum += bytes
	}
	if len(d) != 3 || d["anon"] <= 0 || sum != 0 {
		t.Errorf("%v, in all %v", d, sum)
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
		e.run(arm, map[string]float64{compare.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) {
			r.Ledger.Ready = map[string]float64{"page_cache": 1 * gib}
			r.Ledgers = map[string]compare.Ledger{"spark-2": {Ready: map[string]float64{"page_cache": page * gib}}}
			if arm == "b" {
				r.Ledgers["spark-3"] = compare.Ledger{Ready: map[string]float64{"page_cache": gib}}
			}
		})
	}
	p := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0]
	if p.LedgerDifference.Ready["page_cache"] != 0 || len(p.LedgerDifferenceOn) != 1 || p.LedgerDifferenceOn["spark-2"].Ready["page_cache"] != 15*gib {
		t.Errorf("%+v and %+v", p.LedgerDifference, p.LedgerDifferenceOn)
	}
	for i := range e.runs {
		e.runs[i].Ledgers = nil
	}
	if p := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0]; p.LedgerDifferenceOn != nil {
		t.Errorf("%+v of runs on one machine", p.LedgerDifferenceOn)
	}
}
