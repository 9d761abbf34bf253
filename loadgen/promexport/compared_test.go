package promexport

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// of are the series of a family: the values of their labels, joined by |, and their values.
func (c comparison) of(family *metric.Gauge) map[string]float64 {
	found := map[string]float64{}
	for _, s := range c.series {
		if s.family == family {
			found[strings.Join(s.labels, "|")] = s.value
		}
	}
	return found
}

// A panel joins what a comparison says of a metric with whether it is simulated: by its name.
func TestEveryNameOfAComparisonHasWhetherItIsSimulated(t *testing.T) {
	c := twoArms()
	for _, engine := range []string{"vllm", "trtllm"} {
		c.Strata = append(c.Strata, compare.Stratum{Within: map[string]string{"scenario": "standard", "engine": engine}, Pairs: c.Strata[0].Pairs})
	}
	kept := ofComparison("night", c, noon)
	found := kept.of(&metric.ComparisonSimulated)
	if want := []string{"night", "night engine=vllm", "night engine=trtllm"}; len(found) != 3 || !slices.Equal(kept.names, want) {
		t.Errorf("simulated is said of %v, names are %q, want %q", found, kept.names, want)
	}
	for _, s := range kept.series {
		at := slices.Index(s.family.Def().Labels, metric.LabelComparison)
		if found[s.labels[at]] != 1 {
			t.Errorf("%s%q: nothing says that it is simulated", s.family.Def().Name, s.labels)
		}
	}
	if found := ofComparison("empty", compare.Comparison{}, noon).of(&metric.ComparisonSimulated); len(found) != 1 || found["empty"] != 0 {
		t.Errorf("a comparison of nothing: %v", found)
	}
}

func TestComparisonsOfOneNameMakeAPageThatCanBeRead(t *testing.T) {
	b := newBench(t)
	saved(t, b.Root, "a b", twoArms())
	saved(t, b.Root, "a\x01b", twoArms())
	page := b.page(t)
	if n := strings.Count(page, "\n"+metric.ComparisonSimulated.Def().Name+"{"); n != 1 {
		t.Errorf("%d comparisons in\n%s", n, page)
	}
	if problems := b.Look().Problems; len(problems) != 1 || !strings.Contains(problems[0], "a b") {
		t.Errorf("problems %q", problems)
	}
}

func TestNewComparisonsKeepTheirRoom(t *testing.T) {
	var shown Shown
	for i, n := range []int{mostSeriesInAll - 10, 20, 10, 1} {
		shown.Comparisons = append(shown.Comparisons, comparison{Name: fmt.Sprint("c", i), names: []string{fmt.Sprint("c", i)}, series: make([]series, n)})
	}
	shown.boundComparisons()
	if all := shown.Comparisons; len(all) != 2 || all[0].Name != "c0" || all[1].Name != "c2" || len(shown.Problems) != 2 {
		t.Errorf("%d comparisons, problems %q", len(all), shown.Problems)
	}
}

func TestFactsThatDifferComeFirstAndShort(t *testing.T) {
	c := twoArms()
	pair := &c.Strata[0].Pairs[0]
	for i := range mostFacts {
		pair.Fairness = append(pair.Fairness, compare.Fairness{Item: fmt.Sprint("same ", i), A: "x", B: "x"})
	}
	long := "\x1b[31m" + strings.Repeat("y", 1000)
	pair.Fairness = append(pair.Fairness, compare.Fairness{Item: "kernel", A: long, B: "z", Differs: true})
	facts := ofComparison("c", c, noon).of(&metric.ComparisonFairnessDiffers)
	differ := "c|native|container|standard|llama-8b|kernel|" + cut(long) + "|z"
	if facts[differ] != 1 || len(facts) != mostFacts || len(cut(long)) > longestFact {
		t.Errorf("%d facts, want one to be %q", len(facts), differ)
	}
	if same, there := facts["c|native|container|standard|llama-8b|same 0|x|x"]; !there || same != 0 {
		t.Errorf("what is the same: %v, %t", same, there)
	}
	if _, there := facts[fmt.Sprintf("c|native|container|standard|llama-8b|same %d|x|x", mostFacts-1)]; there {
		t.Error("the last fact found room, and one that differs took none")
	}
}

func TestUntestedEffectsOfOrderAreAbsent(t *testing.T) {
	c := twoArms()
	const tokens = figure.OutputTokensPerSecond
	c.Strata[0].Arms = map[string]compare.Arm{
		"native":    {Runs: make([]compare.RunRef, 2), Metrics: []compare.Series{{Name: tokens}}}, // too few
		"container": {Runs: make([]compare.RunRef, 9), Metrics: []compare.Series{{Name: tokens, Drift: compare.Drift{Spearman: new(-0.9), Significant: true}}}},
	}
	c.Strata[0].Pairs[0].Order = compare.PairOrder{AfterSwitch: []compare.AfterSwitch{
		{Metric: tokens, Arm: "native"}, {Metric: tokens, Arm: "container", P: new(0.4)}, {Metric: figure.MemoryOccupiedWithoutKV, Arm: "native", StandsOut: true},
	}}
	kept := ofComparison("c", c, noon)
	for family, want := range map[*metric.Gauge]map[string]float64{
		&metric.ComparisonRuns:                  {"c|native|container|standard|llama-8b|native": 2, "c|native|container|standard|llama-8b|container": 9},
		&metric.ComparisonDriftCorrelation:      {"c|" + tokens + "|native|container|standard|llama-8b|container": -0.9},
		&metric.ComparisonDriftSignificant:      {"c|" + tokens + "|native|container|standard|llama-8b|container": 1},
		&metric.ComparisonMean:                  {},
		&metric.ComparisonOrderInfo:             {},
		&metric.ComparisonLedgerDifferenceBytes: {},
		&metric.ComparisonAfterSwitchStandsOut: {
			"c|" + tokens + "|native|container|standard|llama-8b|container":                      0,
			"c|" + figure.MemoryOccupiedWithoutKV + "|native|container|standard|llama-8b|native": 1,
		},
	} {
		if got := kept.of(family); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", family.Def().Name, got, want)
		}
	}
}

// What stands out after a change of arms is known by the name of a metric alone.
func TestTheOrderOfAMeasuredMetricIsNotThatOfAnEngineReportedOne(t *testing.T) {
	c := twoArms()
	c.Strata[0].Arms = map[string]compare.Arm{"native": {Metrics: []compare.Series{
		{Name: figure.MemoryOccupiedWithoutKV, Drift: compare.Drift{Spearman: new(0.1)}},
		{Name: figure.MemoryOccupiedWithoutKV, EngineReported: true, Drift: compare.Drift{Spearman: new(0.8)}},
	}}}
	pair := &c.Strata[0].Pairs[0]
	pair.Metrics = append(pair.Metrics, compare.Metrics{Name: figure.MemoryOccupiedWithoutKV, EngineReported: true, A: compare.Moments{Mean: new(7.)}})
	pair.Order.AfterSwitch = []compare.AfterSwitch{{Metric: figure.MemoryOccupiedWithoutKV, Arm: "native", StandsOut: true}}
	kept := ofComparison("c", c, noon)
	if got := kept.of(&metric.ComparisonAfterSwitchStandsOut); len(got) != 0 {
		t.Errorf("after a change of arms: %v, and nobody knows of which", got)
	}
	measured, found := "c|memory_occupied_without_kv_bytes|native|container|standard|llama-8b|native", "c|engine_reported_memory_occupied_without_kv_bytes|native|container|standard|llama-8b|native"
	if drift := kept.of(&metric.ComparisonDriftCorrelation); len(drift) != 2 || drift[measured] != 0.1 || drift[found] != 0.8 {
		t.Errorf("drift %v", drift)
	}
	if means := kept.of(&metric.ComparisonMean); len(means) != 1 || means[found] != 7 {
		t.Errorf("means %v", means)
	}
}

func TestWarningsStandUnderTheNameThatTheyAreOf(t *testing.T) {
	c := twoArms()
	c.Warnings = []compare.Warning{{Code: compare.CodeSimulated, Text: "all of it"}}
	other := compare.Stratum{Within: map[string]string{"engine": "vllm"}, Pairs: []compare.Pair{{Warnings: []compare.Warning{{Code: compare.CodeUnequalN, Text: "5 and 3"}}}}}
	c.Strata[0].Warnings = []compare.Warning{{Code: compare.CodeDrift, Text: strings.Repeat("long ", 1000)}}
	c.Strata = append(c.Strata, other)
	warnings := ofComparison("c", c, noon).of(&metric.ComparisonWarning)
	for _, want := range []string{"c|simulated|all of it", "c engine=vllm|simulated|all of it", "c engine=vllm|unequal_n|engine vllm: 5 and 3"} {
		if warnings[want] != 1 {
			t.Errorf("%q is missing in %v", want, warnings)
		}
	}
	for text := range warnings {
		if len(text) > len("c|drift|")+longestDetail {
			t.Errorf("%d bytes", len(text))
		}
	}
	for i := range 2 * mostWarnings {
		c.Warnings = append(c.Warnings, compare.Warning{Code: compare.CodeOutliers, Text: fmt.Sprint(i)})
	}
	if n := len(ofComparison("c", c, noon).of(&metric.ComparisonWarning)); n != 2*mostWarnings {
		t.Errorf("%d warnings of two names", n)
	}
}
