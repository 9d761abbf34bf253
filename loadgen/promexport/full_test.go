package promexport

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// Bounds of the page that the most results make, which those of the scrape have to leave room for.
const (
	mostOnPage  = 150_000 // samples
	longestPage = 24 << 20
)

// full has as many runs as are shown, and in every cell five before them, which they are scored by,
// each with every metric that runs are compared by and every line of the ledger, and of as many comparisons
// of two arms in all those metrics.
func full(t testing.TB) *bench {
	t.Helper()
	b := newBench(t)
	var some []compare.Run
	cell := b.PerCell + fewestBefore
	for i := range b.Most / b.PerCell * cell {
		o, s := whole(fmt.Sprintf("20261105T%06d-native-%04d", i, i), i)
		o.Labels["arm"], o.Labels["campaign"], o.Labels["iteration"] = fmt.Sprint("arm", i/cell), "night", fmt.Sprint(i%cell)
		o.Metrics = map[string]float64{}
		for n, m := range figure.Compared() {
			o.Metrics[m.Name] = float64(100*(n+1) + i%7)
		}
		for _, lines := range []map[string]float64{s.Memory.LedgerAt.Start, s.Memory.LedgerAt.Ready, s.Memory.LedgerAt.Peak} {
			for _, line := range ledger.Names() {
				lines[line] += float64(i)
			}
		}
		o.Ledger = *s.Memory.LedgerAt
		for n := range 60 {
			o.Facts = append(o.Facts, compare.Fact{Item: fmt.Sprint("container setting ", n), Value: "a value of some length, with its unit"})
		}
		b.put(Of(o, s))
		if i < 20 {
			o.Labels = map[string]string{"arm": fmt.Sprint("arm", i%2)}
			some = append(some, o)
		}
	}
	c, err := compare.Compare(some, compare.Options{By: "arm"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range mostComparisons {
		saved(t, b.Root, fmt.Sprint("night-", i), c)
	}
	return b
}

func TestThePageOfTheMostResultsIsBelowTheLimitsOfAScrape(t *testing.T) {
	b := full(t)
	page := b.page(t)
	samples := strings.Count("\n"+page, "\n") - strings.Count("\n"+page, "\n#") - 1
	shown := b.Look()
	t.Logf("%d samples, %d bytes, %d runs, %d comparisons", samples, len(page), len(shown.Runs), len(shown.Comparisons))
	if len(shown.Runs) != b.Most || len(shown.Comparisons) != mostComparisons || len(shown.Problems) > 0 {
		t.Errorf("%d runs, %d comparisons, %q", len(shown.Runs), len(shown.Comparisons), shown.Problems)
	}
	if samples < 50_000 || samples > mostOnPage || len(page) > longestPage {
		t.Errorf("%d samples, %d bytes", samples, len(page))
	}
}

func BenchmarkMostResults(b *testing.B) {
	results := full(b)
	now := noon
	results.Now = func() time.Time { now = now.Add(time.Minute); return now }
	handler := results.handler(b)
	for b.Loop() {
		if code, _ := get(b, handler, "/metrics"); code != 200 {
			b.Fatal(code)
		}
	}
}
