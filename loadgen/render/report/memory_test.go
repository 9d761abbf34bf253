package report

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// Areas over time are the pool at every moment, whatever is above or below zero.
func TestAreasOverTimeAddUpToThePool(t *testing.T) {
	log := example(t, 40*time.Second).Telemetry
	for _, name := range []string{"spark-1", "gb10-load"} {
		track := track{log, log.Source(name), 40, nil}
		f := track.freeView()
		if !f.Drawn() || len(f.Legend) != 3 || !strings.Contains(f.Caption, "The stack is the pool") {
			t.Fatalf("%s: %+v", name, f)
		}
		for _, b := range slices.Concat(track.balances()...) {
			sum := 0.0
			for _, v := range b.bands {
				sum += v
			}
			if math.Abs(sum-b.pool) > 1 {
				t.Fatalf("%s: the bands are %v of a pool of %v", name, sum, b.pool)
			}
		}
	}
}

// The table of memory ends with the pool, and the lines of every moment before it are as much.
func TestTheTableOfMemoryAddsUpAndEndsWithThePool(t *testing.T) {
	m := &summary.Memory{
		Origin: summary.Origin{Source: "spark", Mode: "simulated"}, Pool: new(100. * (1 << 30)), OccupiedWithoutKV: new(60.5 * (1 << 30)), UnavailablePeak: new(90. * (1 << 30)),
	}
	table := memoryTable(m, &summary.KV{CapacityBytes: new(30. * (1 << 30)), Source: "its page"}, " on spark")
	var rows []string
	for _, row := range table.Rows {
		rows = append(rows, strings.Join(row.Cells, "|"))
	}
	want := []string{
		"engine ready|occupied without KV cache|60.50|60.5 %", "|KV cache, by its page|30.00|30 %", "|free|9.50|9.5 %",
		"least available|unavailable|90.00|90 %", "|available|10.00|10 %", "all moments|pool|100.00|100 %",
	}
	if !slices.Equal(rows, want) || table.Header[0] != "memory on spark (simulated)" {
		t.Errorf("%q below %q", rows, table.Header)
	}
}

// Of an old run that lost lines of its ledger the pool is not known: its figures have a line for the rest, which has none.
func TestMemoryOfAPoolThatIsNotKnownHasALineForTheRest(t *testing.T) {
	gib := func(n float64) *float64 { return new(n * (1 << 30)) }
	m := &summary.Memory{
		Origin: summary.Origin{Source: "spark", Mode: "live"}, OccupiedWithoutKV: gib(60.5), UnavailablePeak: gib(90), CUDAFreeMin: gib(2),
		LedgerAt: &summary.Ledgers{Ready: map[string]float64{"anon": 3 << 30}, Peak: map[string]float64{"anon": 4 << 30, "page_cache": 1 << 30}},
	}
	s := summary.Summary{Memory: m, KV: &summary.KV{CapacityBytes: gib(30), Source: "its page"}}
	cells := func(table render.Table) (rows []string) {
		for _, row := range table.Rows {
			rows = append(rows, strings.Join(row.Cells, "|"))
		}
		return rows
	}
	if got, want := cells(measuredMemory(s)), []string{
		"engine ready|occupied without KV cache|60.50|–", "|KV cache, by its page|30.00|–", "|not recorded|–|–",
		"least available|unavailable|90.00|–", "|not recorded|–|–", "least free|free|2.00|–", "|not recorded|–|–", "all moments|pool|–|–",
	}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := cells(ledgerTable(m)), []string{"anonymous|3.00|4.00", "page cache|–|1.00", "not recorded|–|–", "pool|–|–"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, f := range runFacts(s) {
		if strings.Contains(strings.ToLower(f.Name), "memory") || f.Name == "KV cache" {
			t.Errorf("%s stands alone", f.Name)
		}
	}
}
