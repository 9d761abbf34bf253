package promexport

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// Memory is analysed as it is and not as a logarithm: its verdict rests on an interval of differences.
func TestADifferenceHasItsIntervalWhereTheRatioHasNone(t *testing.T) {
	const memory, tokens = "c|memory_occupied_without_kv_bytes|native|container|standard|llama-8b", "c|output_tokens_per_second|native|container|standard|llama-8b"
	kept := ofComparison("c", compared(t, "llama-8b"), noon)
	if lower := kept.of(&metric.ComparisonRatioLower); len(lower) != 1 || lower[tokens] == 0 {
		t.Fatalf("intervals of ratios: %v", lower)
	}
	difference, lower, upper := kept.of(&metric.ComparisonDifference), kept.of(&metric.ComparisonDifferenceLower), kept.of(&metric.ComparisonDifferenceUpper)
	means := kept.of(&metric.ComparisonMean)
	if d, want := difference[memory], means[memory+"|container"]-means[memory+"|native"]; math.Abs(d-want) > 1 || d < 8*gib {
		t.Errorf("memory differs by %v, its means by %v", d, want)
	}
	for _, row := range []string{memory, tokens} {
		if !(lower[row] < difference[row] && difference[row] < upper[row]) {
			t.Errorf("%s: %v is not between %v and %v", row, difference[row], lower[row], upper[row])
		}
	}
	// Of one run there is a difference and nothing to test it by.
	c := twoArms()
	c.Strata[0].Pairs[0].Metrics = []compare.Metrics{{Name: figure.MemoryOccupiedWithoutKV, Difference: new(-1.5), Verdict: compare.Undecided}}
	kept = ofComparison("c", c, noon)
	if d := kept.of(&metric.ComparisonDifference); d[memory] != -1.5 || len(kept.of(&metric.ComparisonDifferenceLower))+len(kept.of(&metric.ComparisonDifferenceUpper)) != 0 {
		t.Errorf("of one run: %v", kept.series)
	}
}

func TestThePrimaryMetricIsMarkedAndAnInconclusiveOneHasTheRunsItNeeds(t *testing.T) {
	kept := ofComparison("driver-upgrade", upgraded(t), noon)
	const row = "driver-upgrade|%s|580|590|standard|llama-8b"
	power, tokens := fmt.Sprintf(row, figure.GPUPowerMean), fmt.Sprintf(row, figure.OutputTokensPerSecond)
	if marked := kept.of(&metric.ComparisonPrimary); len(marked) != 2 || marked[tokens] != 1 || marked[power] != 0 {
		t.Errorf("decides: %v", marked)
	}
	if needed := kept.of(&metric.ComparisonNeededRuns); len(needed) != 1 || needed[tokens] < 4 || needed[tokens] > 1000 {
		t.Errorf("needed runs: %v of %v", needed, kept.of(&metric.ComparisonVerdict))
	}
}

// A panel chooses the newest comparison, and what its arms are called by, by its name.
func TestEveryNameOfAComparisonHasItsTimeAndItsLabel(t *testing.T) {
	kept := ofComparison("night", compared(t, "llama-8b", "qwen-72b"), noon)
	c := twoArms()
	c.By = "engine\x1b[31m"
	c.Strata = append(c.Strata, compare.Stratum{Within: map[string]string{"host": "spark-2"}})
	other := ofComparison("other", c, noon.Add(1500*time.Millisecond))
	for _, want := range []struct {
		of     comparison
		family *metric.Gauge
		found  map[string]float64
	}{
		{kept, &metric.ComparisonSavedTimestampSeconds, map[string]float64{"night": 1793880000}},
		{kept, &metric.ComparisonInfo, map[string]float64{"night|arm": 1}},
		{other, &metric.ComparisonSavedTimestampSeconds, map[string]float64{"other": 1793880001.5, "other host=spark-2": 1793880001.5}},
		{other, &metric.ComparisonInfo, map[string]float64{"other|" + shown(c.By): 1, "other host=spark-2|" + shown(c.By): 1}},
	} {
		if got := want.of.of(want.family); !maps.Equal(got, want.found) {
			t.Errorf("%s: %v, want %v", want.family.Def().Name, got, want.found)
		}
	}
	c.By = ""
	if found := ofComparison("c", c, noon).of(&metric.ComparisonInfo); len(found) != 0 {
		t.Errorf("by nothing: %v", found)
	}
}

func TestRunsOfAComparisonStandWithTheirGradeAlsoThoseThatWereLeftOut(t *testing.T) {
	runs := ofComparison("driver-upgrade", upgraded(t), noon).of(&metric.ComparisonRunInfo)
	for _, want := range []string{
		"driver-upgrade|standard|llama-8b|580|run-0|valid|order blocked",
		"driver-upgrade|standard|llama-8b|590|run-6|valid|order blocked",
		"driver-upgrade|standard|llama-8b|590|hot|invalid|thermal_throttle",
	} {
		if runs[want] != 1 {
			t.Errorf("no %q in %q", want, slices.Sorted(maps.Keys(runs)))
		}
	}
	if len(runs) != 8 {
		t.Errorf("%d runs", len(runs))
	}
}

// A run that stood twice under a name could be joined to nothing.
func TestEveryRunIsOnceUnderTheNameOfAComparison(t *testing.T) {
	c := twoArms()
	ref := func(run string, g compare.Grade) compare.RunRef { return compare.RunRef{Run: run, Grade: g} }
	long := ref("long", compare.GradeValid)
	long.Why = []string{strings.Repeat("x", 1000), "y"}
	c.Strata[0].Arms = map[string]compare.Arm{
		"native":    {Runs: []compare.RunRef{ref("a\x01b", compare.GradeDecision), ref("a b", compare.GradeValid), long}, Excluded: []compare.RunRef{ref("a b", compare.GradeInvalid)}},
		"container": {Runs: []compare.RunRef{ref("a b", compare.GradeValid)}},
	}
	kept := ofComparison("c", c, noon)
	runs := map[string]int{}
	for _, s := range kept.series {
		if s.family == &metric.ComparisonRunInfo {
			runs[s.labels[slices.Index(metric.ComparisonRunInfo.Def().Labels, metric.LabelRun)]]++
			if detail := s.labels[len(s.labels)-1]; len(detail) > longestText {
				t.Errorf("%d bytes of detail", len(detail))
			}
		}
	}
	if len(runs) != 2 || runs["a b"] != 1 || runs["long"] != 1 || kept.left != 0 {
		t.Errorf("%v, %d left", runs, kept.left)
	}
	var many compare.Arm
	for i := range mostRuns + 7 {
		many.Runs = append(many.Runs, ref(fmt.Sprint(i), compare.GradeValid))
	}
	c.Strata[0].Arms = map[string]compare.Arm{"native": many}
	if kept := ofComparison("c", c, noon); len(kept.of(&metric.ComparisonRunInfo)) != mostRuns || kept.left != 7 {
		t.Errorf("%d of %d runs, %d left", len(kept.of(&metric.ComparisonRunInfo)), mostRuns+7, kept.left)
	}
}
