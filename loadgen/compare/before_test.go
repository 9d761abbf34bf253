package compare_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// before is a comparison as it was saved when names were others.
const before = `{"schema":"umascope.comparison/1","by":"arm","kv_model":{"of":"excluding_kv"},"warnings":[{"code":"memory_with_kv_equal","text":"t"}],
"strata":[{"kv_model":{"of":"excluding_kv"},"warnings":[{"code":"memory_with_kv_equal"}],
"arms":{"a":{"metrics":[{"name":"memory_excluding_kv_bytes","values":[1]},{"name":"output_tokens_per_second","values":[2]}]}},
"pairs":[{"a":"a","b":"b","metrics":[{"name":"memory_excluding_kv_bytes","same_as":"memory_with_kv_bytes","difference":3},{"name":"memory_used_peak_bytes"},{"name":"memory_with_kv_bytes"},{"name":"kv_capacity_bytes"}],
"order":{"after_switch":[{"metric":"memory_used_peak_bytes"}],"halves":[{"metric":"memory_with_kv_bytes"}],"drift":{"metric":"memory_excluding_kv_bytes"}},
"warnings":[{"code":"memory_with_kv_equal"}]}]}]}`

func TestAComparisonOfTheFormBeforeIsReadByTodaysNames(t *testing.T) {
	var c compare.Comparison
	if err := json.Unmarshal([]byte(before), &c); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if c.Schema != compare.Schema || c.KVModel.Of != compare.KVOfOccupied || *c.Strata[0].Pairs[0].Metrics[0].Difference != 3 {
		t.Errorf("%s", text)
	}
	for _, names := range [][]metric.Renaming{metric.RenamedFigures(), metric.RenamedWords()} {
		for _, name := range names {
			if strings.Contains(string(text), `"`+name.Old+`"`) {
				t.Errorf("%s stands in %s", name.Old, text)
			}
		}
	}
	for name, n := range map[string]int{figure.MemoryOccupiedWithoutKV: 3, figure.MemoryOccupiedWhenReady: 3, figure.MemoryUnavailablePeak: 2, compare.CodeOccupiedEqual: 3, compare.KVOfOccupied: 2, figure.KVCapacity: 1, figure.OutputTokensPerSecond: 1} {
		if got := strings.Count(string(text), `"`+name+`"`); got != n {
			t.Errorf("%s stands %d times, want %d: %s", name, got, n, text)
		}
	}
}

// A comparison that was saved when better meant that the interval excludes 0, and confounded was a mark beside a verdict, is
// read with the verdicts of today.
func TestAVerdictOfBeforeIsReadAsTodays(t *testing.T) {
	for saved, want := range map[string][2]compare.Verdict{
		`"verdict":"better","ratio_ci95":[1.005,1.025],"margin":{"value":0.02,"relative":true}`:                                 {compare.BetterExtentOpen},
		`"verdict":"better","ratio_ci95":[1.021,1.04],"margin":{"value":0.02,"relative":true}`:                                  {compare.Better},
		`"verdict":"worse","a":{"mean":100},"ci95":[-3,-1],"margin":{"value":0.02,"relative":true}`:                             {compare.WorseExtentOpen},
		`"verdict":"worse","a":{"mean":100},"ci95":[-3,-2.5],"margin":{"value":0.02,"relative":true}`:                           {compare.Worse},
		`"verdict":"different","ci95":[5,7],"margin":{"value":6}`:                                                               {compare.DifferentExtentOpen},
		`"verdict":"different","ci95":[5,7],"margin":{"value":4}`:                                                               {compare.Different},
		`"verdict":"worse","constant":true,"margin":{"value":4}`:                                                                {compare.Worse},
		`"verdict":"worse","ci95":[5,7],"margin":{"value":4},"confounded_with_time":true`:                                       {compare.Confounded, compare.Worse},
		`"verdict":"worse","ci95":[3,7],"margin":{"value":4},"confounded_with_time":true`:                                       {compare.Confounded, compare.WorseExtentOpen},
		`"verdict":"confounded","verdict_ignoring_order":"worse","ci95":[5,7],"margin":{"value":4},"confounded_with_time":true`: {compare.Confounded, compare.Worse},
		`"verdict":"equivalent","ci95":[-1,1],"margin":{"value":4}`:                                                             {compare.Equivalent},
	} {
		var c compare.Comparison
		if err := json.Unmarshal([]byte(`{"schema":"umascope.comparison/2","strata":[{"pairs":[{"metrics":[{"name":"output_tokens_per_second",`+saved+`}]}]}]}`), &c); err != nil {
			t.Fatal(err)
		}
		if m := c.Strata[0].Pairs[0].Metrics[0]; m.Verdict != want[0] || m.VerdictIgnoringOrder != want[1] {
			t.Errorf("%s is %s, ignoring the order %q", saved, m.Verdict, m.VerdictIgnoringOrder)
		}
	}
}

// Two figures were called used: pool minus MemFree, and pool minus MemAvailable. No figure is now.
func TestNoFigureIsCalledUsed(t *testing.T) {
	for _, m := range figure.Compared() {
		for _, text := range []string{m.Name, m.Title} {
			if strings.Contains(text, "used") || strings.Contains(text, "in use") || strings.Contains(text, "excluding") {
				t.Errorf("%s, %s", m.Name, m.Title)
			}
		}
	}
	for _, d := range metric.All() {
		name := d.Def().Name
		if strings.HasPrefix(name, "uma_run_") && strings.Contains(name, "used") || strings.HasPrefix(name, "uma_memory_") && strings.Contains(name, "used") {
			t.Errorf("%s: the drivers' and engines' own word is of other families", name)
		}
	}
}

// A name of today that is an old one of another figure would be read as that one.
func TestNoNameOfTodayIsAnOldOne(t *testing.T) {
	for _, m := range figure.Compared() {
		if name, renamed := metric.CurrentName(metric.RenamedFigures(), m.Name); renamed {
			t.Errorf("%s is read as %s", m.Name, name)
		}
	}
	for _, r := range metric.RenamedFigures() {
		if _, known := figure.FindCompared(strings.TrimPrefix(r.New, "engine_reported_")); !known {
			t.Errorf("%s is %s, which is no metric", r.Old, r.New)
		}
	}
}
