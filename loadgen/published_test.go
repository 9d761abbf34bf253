package loadgen

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// The 63 runs that were published of native against container on a DGX Spark, with what was said of them.
// Everything here is found by rules that know nothing of this file.
const publishedRuns = "testdata/published"

// importPublished makes run folders of the published file.
func importPublished(t *testing.T) string {
	t.Helper()
	runs := filepath.Join(t.TempDir(), "runs")
	code, stdout, stderr := invokeVerb(t, "import", "--format=benchmark-spark", "--out", runs, filepath.Join(publishedRuns, "all_benchmark_results.json"))
	if code != exitDone || !strings.Contains(stdout, "63 runs") {
		t.Fatalf("exit %d: %s%s", code, stdout, stderr)
	}
	return runs
}

// TestPublishedRuns imports them once for all that is said of them.
func TestPublishedRuns(t *testing.T) {
	t.Parallel()
	runs := importPublished(t)
	code, printed, stderr := invokeVerb(t, "compare", runs, "--by=arm", "--within=model", "--json")
	if code != exitDone || stderr != "" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	var c compare.Comparison
	decoder := json.NewDecoder(strings.NewReader(printed))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&c); err != nil {
		t.Fatal(err)
	}
	t.Run("the table is recomputed", func(t *testing.T) { tableIsRecomputed(t, c) })
	t.Run("they earn their warnings", func(t *testing.T) { earnTheirWarnings(t, c) })
	t.Run("order stands beside the verdict", func(t *testing.T) { orderIsWithTheVerdict(t, c) })
	t.Run("what a person reads is golden", func(t *testing.T) { textIsGolden(t, runs) })
	t.Run("the page on them quotes it", pageQuotes)
	t.Run("it keeps its schema", func(t *testing.T) {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(printed))
		if err != nil {
			t.Fatal(err)
		}
		if err := validators(t)[compareOutput].Validate(value); err != nil {
			t.Error(err)
		}
	})
	for name, test := range map[string]func(*testing.T, string){
		"every form": shownInEveryForm, "a pipeline": failsAPipeline, "kept": keptBesideTheRuns, "refused": refusedByName,
	} {
		t.Run(name, func(t *testing.T) { test(t, runs) })
	}
}

// pageQuotes holds PUBLISHED.md to what compare prints: its tables and findings are that, word by word.
func pageQuotes(t *testing.T) {
	page := text(t, "PUBLISHED.md")
	printed, err := os.ReadFile(filepath.Join(publishedRuns, "comparison.txt"))
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for i, block := range strings.Split(page, "```text\n") {
		if i == 0 {
			continue
		}
		text, _, closed := strings.Cut(block, "```")
		if !closed {
			t.Fatal("a block is not closed")
		}
		for line := range strings.Lines(text) {
			if quoted++; !strings.Contains(string(printed), strings.TrimSpace(line)) {
				t.Errorf("compare does not print %q", line)
			}
		}
	}
	if quoted < 10 {
		t.Errorf("%d lines are quoted", quoted)
	}
}

// cellOf is a metric of the stratum of a model.
func cellOf(t *testing.T, c compare.Comparison, model, metric string) compare.Metrics {
	t.Helper()
	for _, s := range c.Strata {
		for _, m := range s.Pairs[0].Metrics {
			if s.Within["model"] == model && m.Name == metric {
				return m
			}
		}
	}
	t.Fatalf("no %s of %s", metric, model)
	return compare.Metrics{}
}

func near(t *testing.T, what string, got *float64, want, within float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > within {
		t.Errorf("%s is %v, want %v", what, got, want)
		if got != nil {
			t.Logf("that is %v", *got)
		}
	}
}

func tableIsRecomputed(t *testing.T, c compare.Comparison) {
	if c.Baseline != "native" || len(c.Strata) != 3 {
		t.Fatalf("baseline %s, %d strata", c.Baseline, len(c.Strata))
	}
	const gib = 1 << 30
	for model, want := range map[string]struct {
		excluding, kv, throughput, sigma, end [2]float64 // native, container
		n                                     [2]int
		change                                float64 // of the throughput, in percent
	}{
		"deepseek": {[2]float64{70.47, 101.30}, [2]float64{44.31, 16.57}, [2]float64{119.79, 119.40}, [2]float64{0.55, 0.16}, [2]float64{60.7, 58.7}, [2]int{10, 10}, -0.33},
		"gpt120b":  {[2]float64{71.72, 93.43}, [2]float64{43.19, 23.65}, [2]float64{120.26, 120.41}, [2]float64{0.32, 0.54}, [2]float64{60.4, 58.4}, [2]int{13, 10}, 0.12},
		"qwen72b":  {[2]float64{70.03, 90.02}, [2]float64{44.71, 26.72}, [2]float64{119.33, 119.51}, [2]float64{0.28, 0.20}, [2]float64{60.6, 58.8}, [2]int{10, 10}, 0.15},
	} {
		both := func(metric string, means [2]float64, unit, digits float64) compare.Metrics {
			m := cellOf(t, c, model, metric)
			near(t, model+" native "+metric, m.A.Mean, means[0]*unit, digits*unit)
			near(t, model+" container "+metric, m.B.Mean, means[1]*unit, digits*unit)
			if m.A.N != want.n[0] || m.B.N != want.n[1] {
				t.Errorf("%s %s: n %d and %d", model, metric, m.A.N, m.B.N)
			}
			return m
		}
		memory := both(figure.MemoryOccupiedWithoutKV, want.excluding, gib, 0.005)
		if memory.Verdict != compare.Confounded || memory.VerdictIgnoringOrder != compare.Worse || !memory.Confounded || !memory.EngineReported {
			t.Errorf("%s: memory is %s, confounded %v, the engine's word %v", model, memory.Verdict, memory.Confounded, memory.EngineReported)
		}
		both(figure.KVCapacity, want.kv, gib, 0.00501)
		both("gpu_end_celsius", want.end, 1, 0.05)
		throughput := both(figure.ToolOutputTokensPerSecond, want.throughput, 1, 0.005)
		if throughput.Verdict != compare.Equivalent || !throughput.Primary {
			t.Errorf("%s: throughput is %s, primary %v", model, throughput.Verdict, throughput.Primary)
		}
		near(t, model+" change of throughput", throughput.Ratio, 1+want.change/100, 0.0001)
		// What was published as sigma divides by n; the sample's own is larger.
		for i, m := range []compare.Moments{throughput.A, throughput.B} {
			near(t, model+" published sigma", m.PopulationSD, want.sigma[i], 0.00501)
			near(t, model+" sample sd", m.SD, *m.PopulationSD*math.Sqrt(float64(want.n[i])/float64(want.n[i]-1)), 1e-9)
		}
	}
	if len(c.Strata[0].Arms["native"].Runs)+len(c.Strata[1].Arms["native"].Runs)+len(c.Strata[2].Arms["native"].Runs) != 33 {
		t.Error("a run is missing")
	}
}

func earnTheirWarnings(t *testing.T, c compare.Comparison) {
	says := func(warnings []compare.Warning, code string, texts ...string) {
		t.Helper()
		i := slices.IndexFunc(warnings, func(w compare.Warning) bool {
			return w.Code == code && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(w.Text, text) })
		})
		if i < 0 {
			t.Errorf("no %s that says %q among %q", code, texts, warnings)
		}
	}
	says(c.Warnings, compare.CodeKVExplained, "63 runs", "0.9 x (119.71 GiB")
	says(c.Warnings, compare.CodeOccupiedEqual, "2.7 % at most")
	says(c.Warnings, compare.CodeBlockedOrder, "3 of 3 strata", "native first in 3")
	says(c.Warnings, compare.CodeFirstAfterSwitch, "first run of container", "highest memory occupied without KV cache in 3 of 3 blocks")
	says(c.Warnings, compare.CodeModelsEquivalent, "3 models", "within 2 %", "native (largest |t| 7.2)", "identity")
	says(c.Warnings, compare.CodeLedgerAbsent, "not observable")
	says(c.Warnings, compare.CodeEngineReported, figure.MemoryOccupiedWithoutKV)
	says(c.Warnings, compare.CodeToolReported, figure.ToolOutputTokensPerSecond)
	byModel := map[string]compare.Stratum{}
	for _, s := range c.Strata {
		byModel[s.Within["model"]] = s
		says(s.Warnings, compare.CodeBlockedOrder, "native first")
		if s.Order.Kind != compare.OrderBlocked {
			t.Errorf("%v: %s", s.Within, s.Order.Kind)
		}
	}
	says(byModel["gpt120b"].Warnings, compare.CodeDrift, "native", "memory occupied without KV cache falls (Spearman -0.86")
	says(byModel["qwen72b"].Warnings, compare.CodeDrift, "container", "memory occupied without KV cache falls (Spearman -0.67")
	says(byModel["gpt120b"].Warnings, compare.CodeIterationRepeated, "native has 4 runs of iteration 1, 13 in all, container has 10")
	says(byModel["gpt120b"].Pairs[0].Warnings, compare.CodeUnequalN, "13 runs")
}

func orderIsWithTheVerdict(t *testing.T, c compare.Comparison) {
	m := c.KVModel
	if m == nil || m.N != 63 || !m.Explained || math.Abs(m.Fraction-0.9) > 0.0005 || math.Abs(m.TotalBytes/(1<<30)-119.71) > 0.01 || m.ResidualBytes/(1<<30) > 0.01 {
		t.Errorf("%+v", m)
	}
	for model, want := range map[string]struct {
		first, rest    float64
		native, within float64 // Spearman of native and container
		lag1           float64 // of container
	}{
		"gpt120b":  {100.41, 92.65, -0.86, -0.53, 0.16},
		"deepseek": {104.41, 100.95, -0.18, -0.55, 0.47},
		"qwen72b":  {102.93, 88.58, 0.12, -0.67, 0.56},
	} {
		for _, s := range c.Strata {
			if s.Within["model"] != model {
				continue
			}
			for arm, rho := range map[string]float64{"native": want.native, "container": want.within} {
				d := driftOfMemory(t, s.Arms[arm])
				near(t, model+" "+arm+" Spearman", d.Spearman, rho, 0.005001)
				if arm == "container" {
					near(t, model+" container lag-1", d.Lag1, want.lag1, 0.005001)
					if d.HighestAt != 1 {
						t.Errorf("%s: the highest container run is number %d", model, d.HighestAt)
					}
				}
			}
			i := slices.IndexFunc(s.Pairs[0].Order.AfterSwitch, func(a compare.AfterSwitch) bool { return a.Metric == figure.MemoryOccupiedWithoutKV })
			after := s.Pairs[0].Order.AfterSwitch[i]
			first, rest := after.First/(1<<30), after.Rest/(1<<30)
			near(t, model+" first container run", &first, want.first, 0.005)
			near(t, model+" mean of the rest", &rest, want.rest, 0.005)
			if after.Arm != "container" || after.Extreme != "highest" {
				t.Errorf("%s: %+v", model, after)
			}
		}
	}
	for _, s := range c.Strata {
		for name, a := range s.Arms {
			for _, r := range a.Runs {
				if r.Grade != compare.GradeValid || !slices.Contains(r.Why, "order blocked") {
					t.Errorf("%s %s: %s, why %q", name, r.Run, r.Grade, r.Why)
				}
			}
		}
	}
}

func driftOfMemory(t *testing.T, a compare.Arm) compare.Drift {
	t.Helper()
	for _, s := range a.Metrics {
		if s.Name == figure.MemoryOccupiedWithoutKV {
			return s.Drift
		}
	}
	t.Fatal("no memory")
	return compare.Drift{}
}

// textIsGolden keeps what a person reads of it; -update writes it.
func textIsGolden(t *testing.T, runs string) {
	t.Helper()
	stdout, stderr := succeeded(t, "compare", runs, "--by=arm", "--within=model")
	all, stderrOfAll := succeeded(t, "compare", runs, "--by=arm", "--within=model", "--all")
	if stderr+stderrOfAll != "" {
		t.Error(stderr, stderrOfAll)
	}
	stdout += "\n$ ... --all\n" + all
	path := filepath.Join(publishedRuns, "comparison.txt")
	if *update {
		overwrite(t, path, stdout)
	}
	if want, err := os.ReadFile(path); err != nil || string(want) != stdout {
		t.Errorf("%s is another: run go test ./loadgen -run Published -update and read what changed (%v)\n%s", path, err, stdout)
	}
}
