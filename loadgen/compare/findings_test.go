package compare_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/summary"
)

const gib = 1 << 30

// quiet is an experiment of which nothing is to be told: interleaved, equal n, one boot, with a ledger and
// with what has to be known of both arms.
func quiet() experiment {
	var e experiment
	for i, arm := range order("abbaabba") {
		// Every arm has a falling and a rising half, so that nothing drifts.
		value := []float64{100, 100.2, 100.1, 100.3, 100.25, 100.05, 100.15, 100.1}[i]
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value}, func(r *compare.Run) {
			r.Mode = "live"
			r.Ledger.Peak = map[string]float64{"anon": gib}
			for _, item := range compare.Essentials() {
				r.Facts = append(r.Facts, compare.Fact{Item: item, Value: "the same"})
			}
			r.Labels["iteration"] = fmt.Sprint(i / 2)
		})
	}
	return e
}

func TestAQuietExperimentHasNoWarnings(t *testing.T) {
	if told := codes(mustCompare(t, quiet().runs, compare.Options{})); len(told) != 0 {
		t.Errorf("told %v", told)
	}
}

// Each finding by what makes it, and by nothing else: the experiment was quiet before.
func TestFindingsComeOfTheirCauses(t *testing.T) {
	ofArm := func(arm string, change func(r *compare.Run)) func(*experiment) {
		return func(e *experiment) {
			each(e, func(r *compare.Run) {
				if r.Labels["arm"] == arm {
					change(r)
				}
			})
		}
	}
	for name, c := range map[string]struct {
		change func(*experiment)
		code   string
		says   []string
		also   []string // codes that come with it
	}{
		"simulated engine": {func(e *experiment) { each(e, func(r *compare.Run) { r.Simulated = true }) },
			compare.CodeSimulated, []string{"8 runs of 8"}, nil},
		"constructed telemetry beside live": {ofArm("b", func(r *compare.Run) { r.Mode = "constructed" }),
			compare.CodeMixedModes, []string{"4 constructed", "4 live"}, []string{compare.CodeSimulated}},
		"a reboot between the arms": {ofArm("b", func(r *compare.Run) { r.BootID = "boot2" }),
			compare.CodeDifferentBoots, []string{"arm and boot are confounded"}, nil},
		"a reboot in the middle": {func(e *experiment) {
			for i := range e.runs[4:] {
				e.runs[4+i].BootID = "boot2"
			}
		}, compare.CodeDifferentBoots, []string{"a has runs of 2 boots, b of 2"}, nil},
		"one arm answered by another model": {func(e *experiment) {
			each(e, func(r *compare.Run) { r.Fingerprint = "print of " + r.Labels["arm"] })
		}, compare.CodeFingerprintsDiffer, []string{"m answers with other fingerprints in a than in b"}, nil},
		"the cache of one arm was warm": {func(e *experiment) {
			each(e, func(r *compare.Run) { r.Facts = append(r.Facts, warm(map[string]float64{"b": 40}[r.Labels["arm"]])) })
		}, compare.CodePrefixReuse, []string{"beyond the schedule: 0.0 % of a, 40.0 % of b"}, nil},
		"the cache of one arm was emptied": {func(e *experiment) {
			each(e, func(r *compare.Run) { r.CacheReset = r.Labels["arm"] == "b" })
		}, compare.CodeCacheReset, []string{"before no run of a, every run of b"}, nil},
		"the cache before one run": {func(e *experiment) { e.runs[0].CacheReset = true },
			compare.CodeCacheReset, []string{"before 1 of 4 runs of a, no run of b"}, nil},
		"an iteration again": {func(e *experiment) { e.runs[3].Labels["iteration"] = "0" },
			compare.CodeIterationRepeated, []string{"a has 2 runs of iteration 0, 4 in all, b has 4"}, nil},
		"two models as one": {func(e *experiment) {
			for i := range e.runs[4:] {
				e.runs[4+i].Model = "n"
				e.runs[4+i].Metrics[figure.OutputTokensPerSecond] *= 0.9
			}
		}, compare.CodePooled, []string{"differ in model", "(m, n)", "--within model"}, nil},
		"a run more": {func(e *experiment) { e.runs = e.runs[:7] },
			compare.CodeUnequalN, []string{"a has 3 runs, b has 4"}, nil},
		"an outlier": {func(e *experiment) { e.runs[2].Metrics[figure.OutputTokensPerSecond] = 90 },
			compare.CodeOutliers, []string{"run003 (output_tokens_per_second)", "of 2 samples, one in seven has one by chance"}, []string{compare.CodeNotRepeatable}},
		"work that nobody can tell": {ofArm("a", func(r *compare.Run) { r.WorkloadSHA256 = "" }),
			compare.CodeWorkloadUnknown, []string{"4 runs of 8"}, nil},
		"a figure that the table does not have": {func(e *experiment) { e.runs[0].Metrics["jokes"] = 1 },
			compare.CodeMetricUnknown, []string{"jokes"}, nil},
		"a figure that is no number": {func(e *experiment) { e.runs[0].Metrics[figure.KVCapacity] = math.Inf(1) },
			compare.CodeValueUnusable, []string{"kv_capacity_bytes of run001"}, nil},
		"a tool's word": {func(e *experiment) {
			each(e, func(r *compare.Run) {
				r.Metrics = map[string]float64{figure.ToolOutputTokensPerSecond: r.Metrics[figure.OutputTokensPerSecond]}
			})
		}, compare.CodeToolReported, []string{figure.ToolOutputTokensPerSecond}, nil},
		"a tool's word beside what was measured": {func(e *experiment) {
			each(e, func(r *compare.Run) {
				r.Metrics["gpu_end_celsius"] = 60 + r.Metrics[figure.OutputTokensPerSecond]/100
				if r.Labels["arm"] == "b" {
					r.Tool = "vllm"
					r.Metrics[figure.ToolOutputTokensPerSecond] = r.Metrics[figure.OutputTokensPerSecond]
					delete(r.Metrics, figure.OutputTokensPerSecond)
				}
			})
		}, compare.CodeSourcesDiffer, []string{"vllm of b", "measured of a"}, nil},
		"memory without a ledger": {func(e *experiment) {
			for i := range e.runs {
				r := &e.runs[i]
				r.Ledger = summary.Ledgers{}
				r.Metrics["memory_unavailable_peak_bytes"] = (60 + []float64{0, 0.1, 0.2, 0.3, 0.1, 0.3, 0, 0.2}[i]) * gib
				if r.Labels["arm"] == "b" {
					r.Metrics["memory_unavailable_peak_bytes"] += 20 * gib
				}
			}
		}, compare.CodeLedgerAbsent, []string{"for b:", "the cause, is not observable"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := quiet()
			c.change(&e)
			told := codes(mustCompare(t, e.runs, compare.Options{}))
			for _, want := range c.says {
				if !strings.Contains(strings.Join(told[c.code], "\n"), want) {
					t.Errorf("%s does not say %q: %q", c.code, want, told[c.code])
				}
			}
			for _, code := range append(c.also, c.code, compare.CodeDriftUnseen) { // four runs of an arm show no drift
				delete(told, code)
			}
			if len(told) != 0 {
				t.Errorf("and it tells %v", told)
			}
		})
	}
}

// sized makes runs whose engine takes a share of what memory leaves, as the published ones did.
func sized(residual float64) experiment {
	var e experiment
	for i, arm := range order("abbaabbaabba") {
		without := 70 + 0.7*float64(i%5)
		if arm == "b" {
			without += 25
		}
		kv := 0.9*(119.71-without) + residual*float64(1-2*(i%2))
		e.run(arm, map[string]float64{figure.MemoryOccupiedWithoutKV: without * gib, figure.KVCapacity: kv * gib}, func(r *compare.Run) {
			x, y := without*gib, kv*gib
			r.KV = compare.KV{OccupiedWithoutKVBytes: &x, CapacityBytes: &y}
		})
	}
	return e
}

func TestAKVCacheThatFollowsFromWhatIsFreeIsOneEffect(t *testing.T) {
	c := mustCompare(t, sized(0.01).runs, compare.Options{})
	m := c.KVModel
	if m == nil || m.N != 12 || m.Of != compare.KVOfOccupied || !m.Explained {
		t.Fatalf("%+v", m)
	}
	if math.Abs(m.Fraction-0.9) > 0.001 || math.Abs(m.TotalBytes/gib-119.71) > 0.05 || m.ResidualBytes/gib > 0.0125 || m.ResidualBytes/gib < 0.008 {
		t.Errorf("%.5f x (%.3f GiB - x), residual %.4f GiB", m.Fraction, m.TotalBytes/gib, m.ResidualBytes/gib)
	}
	told := codes(c)
	if len(told[compare.CodeKVExplained]) != 1 || !strings.Contains(told[compare.CodeKVExplained][0], "0.9 x (119.7") {
		t.Errorf("told %q", told[compare.CodeKVExplained])
	}
	if len(told[compare.CodeOccupiedEqual]) != 1 {
		t.Errorf("told %q", told[compare.CodeOccupiedEqual])
	}
	for with, want := range map[float64]int{2: 0, 12: 1} { // of 25 GiB the cache takes back all but 12, and all but 2
		e := sized(0)
		each(&e, func(r *compare.Run) {
			r.Metrics[figure.MemoryOccupiedWhenReady] = 114 * gib
			if r.Labels["arm"] == "b" {
				r.Metrics[figure.MemoryOccupiedWhenReady] += 24 / with * gib
			}
		})
		if told := codes(mustCompare(t, e.runs, compare.Options{}))[compare.CodeOccupiedEqual]; len(told) != want {
			t.Errorf("%v GiB of 25 are left: %q", 24/with, told)
		}
	}
	if m := mustCompare(t, sized(2).runs, compare.Options{}); m.KVModel.Explained || codes(m)[compare.CodeKVExplained] != nil {
		t.Errorf("with a residual of 2 GiB: %+v", m.KVModel)
	}
}

func TestTheKVCacheIsHeldAgainstWhatWasFreeWhereThatIsKnown(t *testing.T) {
	var e experiment
	for i, arm := range order("abbaabba") {
		free := (30 + 2*float64(i)) * gib
		kv := 0.85 * free
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i%3)}, func(r *compare.Run) {
			other := 1.0
			r.KV = compare.KV{FreeAtSizingBytes: &free, CapacityBytes: &kv, OccupiedWithoutKVBytes: &other}
		})
	}
	m := mustCompare(t, e.runs, compare.Options{}).KVModel
	if m == nil || m.Of != compare.KVOfFree || math.Abs(m.Fraction-0.85) > 1e-9 || m.TotalBytes != 0 || !m.Explained {
		t.Errorf("%+v", m)
	}
}

// 1, 2, 3 and 6 GiB that were free gave 1, 2, 3 and 5: least squares through nothing is 44/50, where the
// ratio of the means would be 11/12.
func TestTheFractionOfWhatWasFreeIsByLeastSquares(t *testing.T) {
	var e experiment
	for i, arm := range order("abba") {
		free, kv := []float64{1, 2, 3, 6}[i], []float64{1, 2, 3, 5}[i]
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i%3)}, func(r *compare.Run) {
			r.KV = compare.KV{FreeAtSizingBytes: &free, CapacityBytes: &kv}
		})
	}
	m := mustCompare(t, e.runs, compare.Options{}).KVModel
	if m == nil || math.Abs(m.Fraction-.88) > 1e-12 || math.Abs(m.ResidualBytes-.36) > 1e-12 || m.Explained {
		t.Errorf("%+v", m)
	}
}

// Runs that do not differ, or too few of them, lie on any line.
func TestALineThroughWhatDoesNotDifferIsNoModel(t *testing.T) {
	same := sized(0)
	for i := range same.runs {
		same.runs[i].KV = same.runs[0].KV
	}
	few := sized(0)
	for i := range few.runs[3:] {
		few.runs[3+i].KV = compare.KV{}
	}
	rising := sized(0)
	for i := range rising.runs {
		more := 2 * *rising.runs[i].KV.OccupiedWithoutKVBytes
		rising.runs[i].KV.CapacityBytes = &more
	}
	for name, e := range map[string]experiment{"the same": same, "three": few, "more with more in use": rising} {
		if m := mustCompare(t, e.runs, compare.Options{}).KVModel; m != nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// models makes runs of three models in two arms; level is the throughput of each.
func models(level map[string]float64, change func(*compare.Run)) experiment {
	var e experiment
	for i := range 8 {
		for _, model := range slices.Sorted(maps.Keys(level)) {
			for _, arm := range []string{"a", "b"} {
				value := level[model] * (1 + 0.001*float64((i*5)%8-3))
				e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value}, func(r *compare.Run) {
					r.Model = model
					change(r)
				})
			}
		}
	}
	return e
}

func TestModelsThatAreAsFastAsEachOtherAreInDoubt(t *testing.T) {
	alike := map[string]float64{"7B": 120, "72B": 119.3, "120B": 120.5}
	within := compare.Options{Within: []string{"model"}}
	none := func(*compare.Run) {}
	for name, c := range map[string]struct {
		e    experiment
		want bool
	}{
		"alike":                          {models(alike, none), true},
		"one slower":                     {models(map[string]float64{"7B": 120, "72B": 12, "120B": 120.5}, none), false},
		"told apart by how they answer":  {models(alike, func(r *compare.Run) { r.Fingerprint = "of " + r.Model }), false},
		"asked different things":         {models(alike, func(r *compare.Run) { r.Scenario = "of " + r.Model }), false},
		"and one answers like the other": {models(alike, func(r *compare.Run) { r.Fingerprint = "the same" }), true},
	} {
		told := codes(mustCompare(t, c.e.runs, within))
		texts := told[compare.CodeModelsEquivalent]
		if (len(texts) == 1) != c.want {
			t.Errorf("%s: told %q", name, texts)
		}
		if c.want && (!strings.Contains(texts[0], "3 models") || !strings.Contains(texts[0], "within 2 %") || !strings.Contains(texts[0], "largest |t|")) {
			t.Errorf("%s: %q", name, texts)
		}
		if shared := told[compare.CodeFingerprintShared] != nil; shared != (name == "and one answers like the other") {
			t.Errorf("%s: a shared fingerprint is told: %v", name, shared)
		}
	}
}

func TestTheLedgerDifferenceIsThatOfTheMeans(t *testing.T) {
	var e experiment
	for i, arm := range order("abba") {
		page, anon := float64(10+i), 2.0
		if arm == "b" {
			page, anon = float64(30+i), 5
		}
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) {
			r.Ledger.Ready = map[string]float64{"page_cache": page * gib, "anon": anon * gib}
			r.Ledger.Peak = map[string]float64{"anon": anon * gib}
			if i < 2 {
				r.Ledger.Ready["shmem"] = gib // of one run of each arm only
			}
		})
	}
	d := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0].LedgerDifference
	if len(d.Ready) != 2 || d.Ready["page_cache"] != 20*gib || d.Ready["anon"] != 3*gib || d.Peak["anon"] != 3*gib || d.Start != nil {
		t.Errorf("%+v", d)
	}
}
