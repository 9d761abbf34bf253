package compare_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// grid has four runs of each arm in each of two models, the larger one half as fast.
func grid(arms ...string) experiment {
	var e experiment
	for i := range 4 {
		for _, model := range []string{"small", "large"} {
			for place, arm := range arms {
				value := (100 + float64(i) + 10*float64(place))
				if model == "large" {
					value /= 2
				}
				e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value}, func(r *compare.Run) {
					r.Model, r.WorkloadSHA256 = model, "work of "+model
				})
			}
		}
	}
	return e
}

func TestEveryArmIsHeldAgainstTheBaselineInEveryStratum(t *testing.T) {
	c := mustCompare(t, grid("native", "shm8", "shm32").runs, compare.Options{Within: []string{"model"}, Baseline: "shm8"})
	if want := []string{"shm8", "native", "shm32"}; !slices.Equal(c.Arms, want) || c.Baseline != "shm8" {
		t.Errorf("arms %v", c.Arms)
	}
	if len(c.Strata) != 2 || c.Strata[0].Within["model"] != "large" || c.Strata[1].Within["model"] != "small" {
		t.Fatalf("strata %v", c.Strata)
	}
	for _, s := range c.Strata {
		var pairs []string
		for _, p := range s.Pairs {
			pairs = append(pairs, p.A+"/"+p.B)
		}
		if !slices.Equal(pairs, []string{"shm8/native", "shm8/shm32"}) {
			t.Errorf("pairs %v", pairs)
		}
	}
	m := c.Strata[0].Pairs[1].Metrics[0]
	if m.A.N != 4 || *m.A.Mean != 55.75 || *m.B.Mean != 60.75 || *m.Difference != 5 {
		t.Errorf("%v runs of %v against %v", m.A.N, *m.A.Mean, *m.B.Mean)
	}
}

func TestWithoutABaselineItIsTheArmThatBegan(t *testing.T) {
	if c := mustCompare(t, grid("native", "container").runs, compare.Options{Within: []string{"model"}}); c.Baseline != "native" {
		t.Errorf("baseline %s", c.Baseline)
	}
}

func TestStrataOfNumbersComeBySize(t *testing.T) {
	var e experiment
	for _, concurrency := range []string{"16", "4", "128"} {
		for _, arm := range order("abba") {
			e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(len(e.runs))}, func(r *compare.Run) { r.Labels["concurrency"] = concurrency })
		}
	}
	var got []string
	for _, s := range mustCompare(t, e.runs, compare.Options{Within: []string{"concurrency"}}).Strata {
		got = append(got, s.Within["concurrency"])
	}
	if !slices.Equal(got, []string{"4", "16", "128"}) {
		t.Errorf("strata %v", got)
	}
}

func TestRunsThatCannotBeComparedAreAnErrorInOneLine(t *testing.T) {
	ok := compare.Options{By: "arm", Within: []string{"model"}}
	for name, c := range map[string]struct {
		change  func(*experiment)
		options func(*compare.Options)
		want    []string
	}{
		"no label":           {options: func(o *compare.Options) { o.By = "kv" }, want: []string{"--by", `"kv"`, "arm, model, scenario"}},
		"no label within":    {options: func(o *compare.Options) { o.Within = []string{"kv"} }, want: []string{"--within", `"kv"`, "arm, model, scenario"}},
		"by and within":      {options: func(o *compare.Options) { o.Within = []string{"arm"} }, want: []string{"--within arm"}},
		"within twice":       {options: func(o *compare.Options) { o.Within = []string{"model", "model"} }, want: []string{"model", "twice"}},
		"no by":              {options: func(o *compare.Options) { o.By = "" }, want: []string{"--by"}},
		"unknown baseline":   {options: func(o *compare.Options) { o.Baseline = "docker" }, want: []string{"--baseline", `"docker"`, "container, native"}},
		"unknown metric":     {options: func(o *compare.Options) { o.Margins = map[string]figure.Margin{"memory_peak_bytes": {Value: 1}} }, want: []string{"--margin", `"memory_peak_bytes"`, "memory_unavailable_peak_bytes"}},
		"margin of nothing":  {options: func(o *compare.Options) { o.Margins = map[string]figure.Margin{figure.KVCapacity: {}} }, want: []string{"--margin", figure.KVCapacity}},
		"unknown primary":    {options: func(o *compare.Options) { o.Primary = "ttft" }, want: []string{"--primary", `"ttft"`, "near it are output_tokens_per_second"}},
		"primary not there":  {options: func(o *compare.Options) { o.Primary = figure.KVCapacity }, want: []string{"--primary", figure.KVCapacity}},
		"no runs":            {change: func(e *experiment) { e.runs = nil }, want: []string{"no finished run"}},
		"one arm":            {change: func(e *experiment) { each(e, func(r *compare.Run) { r.Labels["arm"] = "native" }) }, want: []string{"--by arm", `"native"`, "nothing to compare"}},
		"two runs of one id": {change: func(e *experiment) { e.runs[5].ID = "run001" }, want: []string{"runs/run001", "runs/run006", `"run001"`}},
		"different work":     {change: func(e *experiment) { e.runs[5].WorkloadSHA256 = "0123456789abcdef" }, want: []string{"run006", "0123456789ab)", "name the folders", "--allow-different-workload", "model"}},
		"nothing in common": {change: func(e *experiment) {
			each(e, func(r *compare.Run) {
				if r.Labels["arm"] == "native" {
					r.Metrics = map[string]float64{figure.KVCapacity: 1}
				}
			})
		}, want: []string{"no metric in common", "native has " + figure.KVCapacity, "container has " + figure.OutputTokensPerSecond}},
		"nothing but what two tools say": {change: func(e *experiment) {
			each(e, func(r *compare.Run) {
				r.Tool, r.Metrics = "tool of "+r.Labels["arm"], map[string]float64{figure.ToolOutputTokensPerSecond: 1}
			})
		}, want: []string{"no metric in common", "native has " + figure.ToolOutputTokensPerSecond + " by the definitions of tool of native", "by the definitions of tool of container"}},
		"no valid run of an arm": {change: func(e *experiment) {
			each(e, func(r *compare.Run) { r.Valid = r.Labels["arm"] == "native" })
		}, want: []string{"container has no valid run"}},
		"no run has all labels": {change: func(e *experiment) {
			each(e, func(r *compare.Run) {
				if r.Labels["arm"] == "native" {
					r.Model = ""
				} else {
					r.Labels = nil
				}
			})
		}, want: []string{"arm, model"}},
	} {
		t.Run(name, func(t *testing.T) {
			e, o := grid("native", "container"), ok
			if c.change != nil {
				c.change(&e)
			}
			if c.options != nil {
				c.options(&o)
			}
			_, err := compare.Compare(e.runs, o)
			if err == nil {
				t.Fatal("it was compared")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q has more than a line", err)
			}
		})
	}
}

func each(e *experiment, change func(*compare.Run)) {
	for i := range e.runs {
		change(&e.runs[i])
	}
}

func TestDifferentWorkIsComparedIfThatIsWanted(t *testing.T) {
	e := grid("native", "container")
	c := mustCompare(t, e.runs, compare.Options{AllowDifferentWorkload: true})
	if told := codes(c)[compare.CodeWorkloadDifferent]; len(c.Strata) != 1 || len(told) != 1 || !strings.Contains(told[0], "run001") {
		t.Errorf("told %q", told)
	}
	// What is invalid enters no figure, so its work does not matter.
	e.runs[1].WorkloadSHA256, e.runs[1].Valid = "another", false
	if _, err := compare.Compare(e.runs, compare.Options{By: "arm", Within: []string{"model"}}); err != nil {
		t.Error(err)
	}
}

func TestARunWithoutTheLabelIsLeftOutWithAWarning(t *testing.T) {
	e := grid("native", "container")
	delete(e.runs[3].Labels, "arm")
	c := mustCompare(t, e.runs, compare.Options{Within: []string{"model"}})
	if told := codes(c)[compare.CodeLabelMissing]; len(told) != 1 || !strings.Contains(told[0], "run004") || !strings.Contains(told[0], `"arm"`) {
		t.Errorf("told %q", told)
	}
}

func TestWhatIsInvalidEntersNoFigure(t *testing.T) {
	e := grid("native", "container")
	for i := range e.runs {
		if e.runs[i].ID == "run001" {
			e.runs[i].Valid, e.runs[i].InvalidReasons = false, []string{"client_lag"}
			e.runs[i].Metrics[figure.OutputTokensPerSecond] = 1e9
		}
	}
	c := mustCompare(t, e.runs, compare.Options{Within: []string{"model"}})
	s := c.Strata[1]
	if a := s.Arms["native"]; len(a.Runs) != 3 || len(a.Excluded) != 1 || a.Excluded[0].Grade != compare.GradeInvalid || a.Excluded[0].Why[0] != "client_lag" {
		t.Errorf("%+v", a)
	}
	if m := s.Pairs[0].Metrics[0]; m.A.N != 3 || *m.A.Max > 1000 {
		t.Errorf("%+v", m.A)
	}
	if told := codes(c)[compare.CodeInvalidExcluded]; len(told) != 1 || !strings.Contains(told[0], "run001 (client_lag)") {
		t.Errorf("told %q", told)
	}
}

func TestAStratumWithoutAnArmIsWarnedAbout(t *testing.T) {
	e := grid("native", "container")
	e.runs = slices.DeleteFunc(e.runs, func(r compare.Run) bool { return r.Model == "large" && r.Labels["arm"] == "container" })
	c := mustCompare(t, e.runs, compare.Options{Within: []string{"model"}})
	if len(c.Strata) != 2 || len(c.Strata[0].Pairs) != 0 || len(c.Strata[1].Pairs) != 1 || codes(c)[compare.CodeArmMissing] == nil {
		t.Errorf("%v", codes(c))
	}
}

// Figures of different source never share a row.
func TestReportedAndMeasuredFiguresAreApart(t *testing.T) {
	reported := func(r *compare.Run) { r.EngineReported = []string{figure.MemoryOccupiedWithoutKV} }
	var e experiment
	for i, arm := range order("abbaabba") {
		metrics := map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i), figure.MemoryOccupiedWithoutKV: 1 << 36, figure.KVCapacity: 1 << 35}
		if arm == "a" {
			e.run(arm, metrics)
		} else {
			e.run(arm, metrics, reported)
		}
	}
	c := mustCompare(t, e.runs, compare.Options{})
	for _, m := range c.Strata[0].Pairs[0].Metrics {
		if m.Name == figure.MemoryOccupiedWithoutKV || m.Name == figure.MemoryOccupiedWhenReady {
			t.Errorf("%s has a row of two sources", m.Name)
		}
	}
	if told := codes(c)[compare.CodeSourcesDiffer]; len(told) != 2 || !strings.Contains(told[0], "measured in a and the engine's own word in b") {
		t.Errorf("told %q", told)
	}
	for i := range e.runs {
		reported(&e.runs[i])
	}
	c = mustCompare(t, e.runs, compare.Options{})
	if m := metricOf(t, c, figure.MemoryOccupiedWhenReady); !m.EngineReported || *m.A.Mean != 1<<36+1<<35 {
		t.Errorf("%+v", m)
	}
	if codes(c)[compare.CodeEngineReported] == nil {
		t.Error("nobody says that it is the engine's word")
	}
}

// What two tools call by one name is not one figure; what was measured beside it is compared all the same.
func TestFiguresOfTwoToolsAreApart(t *testing.T) {
	var e experiment
	for i, arm := range order("abbaabba") {
		e.run(arm, map[string]float64{
			figure.ToolOutputTokensPerSecond: 100 + float64(i), "requests_per_second": 3 + float64(i%3), "gpu_max_celsius": 60 + float64(i%2),
		}, func(r *compare.Run) {
			r.Tool = map[string]string{"a": "aiperf", "b": "guidellm"}[arm]
		})
	}
	c := mustCompare(t, e.runs, compare.Options{})
	rows := c.Strata[0].Pairs[0].Metrics
	if len(rows) != 2 || rows[0].Name != "requests_per_second" || !rows[0].Primary || rows[1].Name != "gpu_max_celsius" {
		t.Errorf("%+v", rows)
	}
	if told := codes(c)[compare.CodeSourcesDiffer]; len(told) != 1 || !strings.Contains(told[0], "aiperf and guidellm: not compared") {
		t.Errorf("told %q", told)
	}
	for i := range e.runs {
		e.runs[i].Tool = "aiperf"
	}
	if rows := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0].Metrics; len(rows) != 3 {
		t.Errorf("of one tool: %+v", rows)
	}
}

// The order in which folders are found is none of the experiment.
func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	e := grid("native", "shm8", "shm32")
	write := func(runs []compare.Run) string {
		text, err := json.Marshal(mustCompare(t, runs, compare.Options{Within: []string{"model"}}))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	want := write(e.runs)
	random := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		random.Shuffle(len(e.runs), func(i, j int) { e.runs[i], e.runs[j] = e.runs[j], e.runs[i] })
		if write(e.runs) != want {
			t.Fatal("another order of the same runs is another comparison")
		}
	}
}

func TestTheRunsThatAreGivenStayAsTheyAre(t *testing.T) {
	e := grid("native", "container")
	for i := range e.runs {
		e.runs[i].Metrics[figure.MemoryOccupiedWithoutKV], e.runs[i].Metrics[figure.KVCapacity] = 1<<36, 1<<35
		e.runs[i].EngineReported = []string{figure.MemoryOccupiedWithoutKV}
	}
	before := fmt.Sprintf("%+v", e.runs)
	mustCompare(t, e.runs, compare.Options{Within: []string{"model"}})
	if after := fmt.Sprintf("%+v", e.runs); after != before {
		t.Error("comparing changes what is compared")
	}
}

// TestRunsOfOtherWorkAreRefusedWithAWayThatWorks: what the error advises compares the runs.
func TestRunsOfOtherWorkAreRefusedWithAWayThatWorks(t *testing.T) {
	made := func(id, arm, work string, labels map[string]string) compare.Run {
		labels["arm"] = arm
		return compare.Run{ID: id, Path: "runs/" + id, Labels: labels, Valid: true, WorkloadSHA256: work, Metrics: map[string]float64{figure.OutputTokensPerSecond: 100}}
	}
	invalid := made("x", "slow", "w3", map[string]string{})
	invalid.Valid = false
	for _, c := range []struct {
		name string
		runs []compare.Run
		says string
	}{
		{"an arm of which every run is invalid", []compare.Run{made("n", "native", "w1", map[string]string{}), made("c", "container", "w2", map[string]string{}), invalid},
			"run both with the same flags; without a valid run, so left out: slow; --allow-"},
		{"a first run beside a pair", []compare.Run{made("first", "native", "w0", map[string]string{"host": "spark"}), made("n", "native", "w1", map[string]string{"host": "spark"}), made("c", "container", "w1", map[string]string{"host": "spark"})},
			"runs/first and runs/n did different work (workload_sha256 w0, w1): name the folders of runs that did the same: runs/n, runs/c; --allow-"},
		{"two sizes", []compare.Run{made("n1", "native", "w1", map[string]string{"size": "1"}), made("c1", "container", "w1", map[string]string{"size": "1"}), made("n2", "native", "w2", map[string]string{"size": "2"}), made("c2", "container", "w2", map[string]string{"size": "2"})},
			"runs/n1 and runs/n2 did different work (workload_sha256 w1, w2): --within size sets like against like; --allow-"},
		{"a label of each run alone", []compare.Run{made("n", "native", "w1", map[string]string{"slot": "1"}), made("c", "container", "w2", map[string]string{"slot": "2"})},
			"no two arms did the same: run both with the same flags; --allow-"},
	} {
		for i := range c.runs {
			c.runs[i].StartedAt = time.Unix(int64(i), 0)
		}
		_, err := compare.Compare(c.runs, compare.Options{By: "arm"})
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", c.name, err, c.says)
		}
	}
}
