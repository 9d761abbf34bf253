package dashboards

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// memoryRow and tokensRow are lines of the golden comparison of native runs and containers.
const (
	memoryRow = `{metric="memory_occupied_without_kv_bytes", model="llama-8b", scenario="standard"}`
	tokensRow = `{metric="output_tokens_per_second", model="llama-8b", scenario="standard"}`
)

// ofGolden is what a figure of the table of verdicts answers of the golden comparisons.
func ofGolden(t *testing.T, comparison, baseline, candidate string, e expr.Expr) map[string]float64 {
	t.Helper()
	a := stored(t, map[string]string{"runs": ".+", "comparison": comparison, "baseline": baseline, "candidate": candidate}, finished(t)...)
	return a.ask(t, e, time.Minute)
}

// A verdict that is shown without what it rests on has to be believed.
func TestEveryVerdictHasTheIntervalThatItRestsOn(t *testing.T) {
	everything := expr.Matches(metric.LabelMetric, ".+")
	lower := func(all []figure) map[string]float64 {
		return ofGolden(t, "native-container", "native", "container", all[1].expr)
	}
	ratios, differences := lower(verdictRatios(everything, "")), lower(verdictDifferences(everything, ""))
	if len(ratios) != 1 || ratios[tokensRow] == 0 || len(differences) != 1 || differences[memoryRow] < 1<<30 {
		t.Errorf("ratios %v, differences %v: want one of each line", ratios, differences)
	}
	bytes := verdictDifferences(expr.Matches(metric.LabelMetric, ".+_bytes"), metric.Bytes)
	var ends []float64
	for _, f := range bytes {
		if unit := f.expr.Unit(); unit.Base != metric.Bytes {
			t.Errorf("%s is in %s", f.title, unit)
		}
		ends = append(ends, ofGolden(t, "native-container", "native", "container", f.expr)[memoryRow])
	}
	if len(ends) != 3 || !(ends[1] < ends[0] && ends[0] < ends[2]) {
		t.Errorf("difference and interval of memory: %v", ends)
	}
}

func TestRunsOfAComparisonHaveTheirQualityAndTheirTimesIfTheyAreShown(t *testing.T) {
	runs := ofGolden(t, "driver-upgrade", "580", "590", runsOfPair())
	if len(runs) != 8 || runs[`{arm="590", detail="thermal_throttle", grade="invalid", model="llama-8b", run="hot", scenario="standard"}`] != 1 {
		t.Errorf("runs %v", runs)
	}
	started := ofGolden(t, "driver-upgrade", "580", "590", timesOfPair(metric.RunStartTimestampSeconds))
	same(t, "started", started, map[string]float64{
		`{run="hot"}`: 1793880480e3, `{run="run-5"}`: 1793880300e3, `{run="run-6"}`: 1793880360e3, // run-0 to run-4 are too old to be shown
	})
	// Runs of an arm that was not chosen stay away.
	other := ofGolden(t, "driver-upgrade", "580", "570", runsOfPair())
	for labels := range other {
		if !strings.Contains(labels, `arm="580"`) {
			t.Errorf("%s", labels)
		}
	}
	if len(other) != 4 {
		t.Errorf("%d runs of the baseline", len(other))
	}
}

func TestEveryGradeOfARunHasAWord(t *testing.T) {
	_, listed, _ := strings.Cut(metric.ComparisonRunInfo.Def().Help, "may be used for: ")
	listed, _, _ = strings.Cut(listed, ", which")
	words := map[string]bool{}
	for _, s := range worthShades() {
		words[s.value] = s.text != "" && s.color != ""
	}
	all := regexp.MustCompile(`[a-z]+`).FindAllString(strings.ReplaceAll(listed, " or ", " "), -1)
	for _, grade := range all {
		if !words[grade] {
			t.Errorf("no word for %s", grade)
		}
	}
	if len(all) != 3 || len(words) != len(all) {
		t.Errorf("%q in the help, %d words", all, len(words))
	}
}
