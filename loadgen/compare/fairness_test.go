package compare_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

func number(item string, v, tolerance float64, unit string) compare.Fact {
	return compare.Fact{Item: item, Value: "as it was", Number: &v, Tolerance: tolerance, Unit: unit}
}

func TestEverythingThatShouldBeTheSameIsSetSideBySide(t *testing.T) {
	e := quiet()
	for i := range e.runs {
		r := &e.runs[i]
		b := r.Labels["arm"] == "b"
		temperature, free := 40+float64(i%2), 100.0*gib
		driver, image := "590.48", ""
		if b {
			temperature, free, image = temperature+1, 92*gib, "sha256:abc"
		}
		if i == 2 {
			driver = "595.10"
		}
		r.Facts = []compare.Fact{
			{Item: "engine", Value: "trtllm 1.1"}, {Item: "driver", Value: driver},
			number("start temperature", temperature, 2, "C"), number("MemFree at start", free, gib, "bytes"), number("swapped in", 0, 1, "s"),
		}
		if image != "" {
			r.Facts = slices.Insert(r.Facts, 1, compare.Fact{Item: "image", Value: image})
		}
	}
	got := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0].Fairness
	want := []compare.Fairness{
		{Item: "engine", A: "trtllm 1.1", B: "trtllm 1.1"},
		{Item: "image", A: "not known", B: "sha256:abc", Differs: true},
		{Item: "driver", A: "590.48", B: "590.48 (3 runs), 595.10 (1 run)", Differs: true},
		{Item: "start temperature", A: "40.5 °C (40.0 °C to 41.0 °C)", B: "41.5 °C (41.0 °C to 42.0 °C)"},
		{Item: "MemFree at start", A: "100.00 GiB", B: "92.00 GiB", Differs: true},
		{Item: "swapped in", A: "0 s", B: "0 s"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// A run that stands out is kept, and what was so in it alone stands beside it.
func TestAnOutlierHasWhatWasSoInItAlone(t *testing.T) {
	e := quiet()
	for i := range e.runs {
		throttled := 0.0
		if i == 3 {
			throttled = 40
			e.runs[i].Metrics[figure.OutputTokensPerSecond] = 80
		}
		e.runs[i].Facts = []compare.Fact{number("throttled", throttled, 1, "s"), {Item: "driver", Value: "590.48"}}
	}
	m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
	if len(m.Outliers) != 1 || m.A.N != 4 {
		t.Fatalf("%+v of %d runs", m.Outliers, m.A.N)
	}
	o := m.Outliers[0]
	if o.Run != "run004" || o.Arm != "a" || o.Value != 80 || !slices.Contains(o.By, "grubbs") || !slices.Contains(o.By, "modified_z") {
		t.Errorf("%+v", o)
	}
	if causes := strings.Join(o.Causes, "; "); causes != "throttled 40.00 s" {
		t.Errorf("causes %q", causes)
	}
}

func TestAGradeHasTheReasonsAgainstABetterOne(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*compare.Run)
		want   compare.Grade
		why    string
	}{
		"nothing": {func(*compare.Run) {}, compare.GradeDecision, ""},
		"proven":  {func(r *compare.Run) { r.Expected, r.Signals = []string{"reuse"}, map[string]string{"reuse": "proven"} }, compare.GradeDecision, ""},
		"not proven": {func(r *compare.Run) {
			r.Expected, r.Signals = []string{"reuse"}, map[string]string{"reuse": "consistent"}
		}, compare.GradeValid, "reuse is not proven"},
		"expected and not seen": {func(r *compare.Run) { r.Expected = []string{"ssd_rehydrate"} }, compare.GradeValid, "ssd_rehydrate is not proven"},
		"simulated":             {func(r *compare.Run) { r.Simulated = true }, compare.GradeValid, "simulated"},
		"replayed telemetry":    {func(r *compare.Run) { r.Mode = "replay" }, compare.GradeValid, "simulated"},
		"imported":              {func(r *compare.Run) { r.Imported = "vllm" }, compare.GradeValid, "imported: its validity was not checked here"},
	} {
		e := quiet()
		each(&e, c.change)
		r := mustCompare(t, e.runs, compare.Options{}).Strata[0].Arms["b"].Runs[0]
		if r.Grade != c.want || strings.Join(r.Why, "; ") != c.why {
			t.Errorf("%s: %s, why %q", name, r.Grade, r.Why)
		}
	}
	blocked := quiet()
	slices.SortStableFunc(blocked.runs, func(a, b compare.Run) int { return strings.Compare(a.Labels["arm"], b.Labels["arm"]) })
	for i := range blocked.runs {
		blocked.runs[i].StartedAt = began.AddDate(0, 0, i)
	}
	if r := mustCompare(t, blocked.runs, compare.Options{}).Strata[0].Arms["b"].Runs[0]; r.Grade != compare.GradeValid || r.Why[0] != "order blocked" {
		t.Errorf("in blocks: %s, why %q", r.Grade, r.Why)
	}
	var drifting experiment
	drifting.throughput(order("abbaabbaabba"), map[string][]float64{"a": {106, 105, 104, 103, 102, 101}, "b": {100, 101, 100.5, 100.2, 100.8, 100.4}})
	arms := mustCompare(t, drifting.runs, compare.Options{}).Strata[0].Arms
	for name := range arms { // a drift is of the pair, which has a mark for it
		if r := arms[name].Runs[0]; r.Grade != compare.GradeDecision {
			t.Errorf("drifting, %s: %s, why %q", name, r.Grade, r.Why)
		}
	}
}

func TestTheMetricThatDecidesIsThatOfTheScenario(t *testing.T) {
	for scenario, want := range map[string]string{
		"standard": figure.OutputTokensPerSecond, "eviction_replay": figure.TimeToFirstToken,
		"burst": "time_to_first_token_p95_seconds", "anything": figure.OutputTokensPerSecond,
	} {
		e := quiet()
		for i := range e.runs {
			e.runs[i].Scenario = scenario
			e.runs[i].Metrics[figure.TimeToFirstToken] = 1 + float64(i%3)
			e.runs[i].Metrics["time_to_first_token_p95_seconds"] = 2 + float64(i%3)
		}
		for _, m := range mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0].Metrics {
			if m.Primary != (m.Name == want) {
				t.Errorf("%s: %s is primary: %v", scenario, m.Name, m.Primary)
			}
		}
	}
	// Only what all arms have can decide.
	e := quiet()
	for i := range e.runs {
		e.runs[i].Metrics["requests_per_second"] = 3 + float64(i%3)
		if i == 0 || i == 3 || i == 4 || i == 7 {
			delete(e.runs[i].Metrics, figure.OutputTokensPerSecond)
		}
	}
	if m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), "requests_per_second"); !m.Primary {
		t.Error("what one arm lacks decides")
	}
}
