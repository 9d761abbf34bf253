package promexport

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

func TestTheNewestComparisonsAreShown(t *testing.T) {
	b := newBench(t)
	for i := range mostComparisons + 5 {
		path := saved(t, b.Root, fmt.Sprintf("c%02d", i), twoArms())
		at := noon.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	damaged := saved(t, b.Root, "damaged", compare.Comparison{Schema: "umascope.comparison/9"})
	if err := os.Chtimes(damaged, noon.Add(time.Hour), noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	shown := b.Look()
	if n := len(shown.Comparisons); n != mostComparisons-1 || shown.Comparisons[0].Name != "c24" || shown.Comparisons[n-1].Name != "c06" {
		t.Errorf("%d comparisons", n)
	}
	if len(shown.Problems) != 1 || !strings.Contains(shown.Problems[0], damaged) || !strings.Contains(shown.Problems[0], "umascope.comparison/9") {
		t.Errorf("problems %q", shown.Problems)
	}
}

// compare --save puts a comparison beside the runs that it was told of: of one campaign, or of all.
func TestComparisonsOfFoldersBelowAreShownOnce(t *testing.T) {
	b := newBench(t)
	campaign := filepath.Join(b.Root, "night", "campaign")
	b.runs[filepath.Join(campaign, "run")] = Run{}
	saved(t, campaign, "of-the-campaign", twoArms())
	saved(t, filepath.Join(b.Root, "night"), "of-the-night", twoArms())
	saved(t, b.Root, "of-all", twoArms())
	saved(t, b.Root, "of-the-campaign", twoArms()) // a copy
	saved(t, filepath.Dir(b.Root), "of-others", twoArms())
	var names []string
	for _, c := range b.Look().Comparisons {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	if want := []string{"of-all", "of-the-campaign", "of-the-night"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestEngineReportedFiguresHaveNamesOfTheirOwn(t *testing.T) {
	c := twoArms()
	metrics := &c.Strata[0].Pairs[0].Metrics
	*metrics = append(*metrics, compare.Metrics{Name: figure.MemoryOccupiedWithoutKV, EngineReported: true, Ratio: new(2.)}, compare.Metrics{Name: "engine_reported_kv_bytes", EngineReported: true})
	var names []string
	for _, r := range ofComparison("c", c, noon).Rows {
		names = append(names, r.Metric)
	}
	if got := strings.Join(names, " "); got != "output_tokens_per_second memory_occupied_without_kv_bytes engine_reported_memory_occupied_without_kv_bytes engine_reported_kv_bytes" {
		t.Error(got)
	}
}

func TestAComparisonIsBounded(t *testing.T) {
	c := twoArms()
	for i := range mostRows {
		c.Strata[0].Pairs[0].Metrics = append(c.Strata[0].Pairs[0].Metrics, compare.Metrics{Name: fmt.Sprint("m", i)})
	}
	if kept := ofComparison("c", c, noon); len(kept.Rows) != mostRows || kept.left != 2 {
		t.Errorf("%d rows, %d left out", len(kept.Rows), kept.left)
	}
	for range mostPairs {
		c.Strata = append(c.Strata, c.Strata[0])
	}
	if kept := ofComparison("c", c, noon); len(kept.Rows) != mostRows || len(kept.series) > mostSeries || kept.left <= 2 {
		t.Errorf("%d rows, %d series, %d left out", len(kept.Rows), len(kept.series), kept.left)
	}
}

func TestAComparisonHasSoManyStrataAndPairsAtMost(t *testing.T) {
	var c compare.Comparison
	for i := range mostPairs + 5 {
		c.Strata = append(c.Strata, compare.Stratum{Within: map[string]string{"engine": fmt.Sprint(i)}, Pairs: make([]compare.Pair, 2)})
	}
	kept, left := bounded(c)
	pairs := 0
	for _, s := range kept.Strata {
		pairs += len(s.Pairs)
	}
	if len(kept.Strata) != mostPairs || pairs != mostPairs || left != 5+mostPairs || len(c.Strata[mostPairs-1].Pairs) != 2 {
		t.Errorf("%d strata, %d pairs, %d left", len(kept.Strata), pairs, left)
	}
	if of := ofComparison("c", c, noon); len(of.names) != mostPairs || of.left != left {
		t.Errorf("%d names, %d left", len(of.names), of.left)
	}
}

func FuzzSavedComparison(f *testing.F) {
	text, err := json.Marshal(twoArms())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema":"umascope.comparison/2","strata":[{"within":{"":"\u0000"},"pairs":[{"a":"","metrics":[{"name":"","ratio":1e308},{}]}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err := parseComparison(text)
		if err != nil {
			return
		}
		c := ofComparison("c", whole, noon)
		if len(c.Rows) > mostRows || len(c.series) > mostSeries {
			t.Errorf("%d rows, %d series", len(c.Rows), len(c.series))
		}
		b := &bench{Results: New("none", 1, 1)}
		b.find = func(string) ([]string, error) { return nil, nil }
		b.shown, b.looked = &Shown{Comparisons: []comparison{c}}, time.Now()
		page := b.page(t)
		if strings.Contains(page, "NaN") {
			t.Error(page)
		}
	})
}
