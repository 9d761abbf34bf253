package dashboards

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// The help of the series lists what a verdict can be.
func TestEveryVerdictHasAWordAndWhatIsConfoundedWithTimeLooksDifferent(t *testing.T) {
	help := metric.ComparisonVerdict.Def().Help
	_, listed, found := strings.Cut(help, ": ")
	if !found {
		t.Fatal("the help lists no verdicts")
	}
	shades := map[string]shade{}
	for _, s := range verdictShades() {
		shades[s.value] = s
	}
	for verdict, s := range shades {
		which, open := strings.CutSuffix(verdict, "_extent_not_decided")
		if !strings.Contains(listed, which) || open && !strings.Contains(listed, "_extent_not_decided") || s.text == "" || s.color == "" {
			t.Errorf("%s is %+v, in the help: %s", verdict, s, help)
		}
		if verdict != metric.VerdictConfounded && s.color == shades[metric.VerdictConfounded].color {
			t.Errorf("%s looks like one that is confounded", verdict)
		}
	}
	if len(shades) != 11 {
		t.Errorf("%d shades", len(shades))
	}
}

func TestEveryOrderOfRunsHasAWord(t *testing.T) {
	_, listed, _ := strings.Cut(metric.ComparisonOrderInfo.Def().Help, ": ")
	listed, _, _ = strings.Cut(listed, ".")
	all := regexp.MustCompile(`[a-z]+`).FindAllString(strings.ReplaceAll(listed, " or ", " "), -1)
	words := map[string]bool{}
	for _, s := range orderShades() {
		words[s.value] = s.text != "" && s.color != ""
	}
	for _, order := range all {
		if !words[order] {
			t.Errorf("no word for %s", order)
		}
	}
	if len(all) != len(words) {
		t.Errorf("%d orders in the help, %d words", len(all), len(words))
	}
}

func TestAVerdictThatIsConfoundedWithTimeIsMarked(t *testing.T) {
	a := stored(t, map[string]string{"comparison": "native-container", "candidate": "container"}, finished(t)...)
	same(t, "verdicts", a.ask(t, verdicts(expr.Matches(metric.LabelMetric, ".+")), time.Minute), map[string]float64{
		`{metric="memory_occupied_without_kv_bytes", model="llama-8b", scenario="standard", verdict="worse"}`: 1,
		`{metric="output_tokens_per_second", model="llama-8b", scenario="standard", verdict="confounded"}`:    1,
	})
}

// twoRuns are a run A from 0 to 5 minutes and a run B from 60 to 65, on a machine whose temperature is the number of
// samples since the beginning.
func twoRuns(t *testing.T, chosen map[string]string) archive {
	t.Helper()
	for name, value := range map[string]string{"host": "h", "run_a": "a", "run_b": "b"} {
		chosen[name] = value
	}
	return stored(t, chosen,
		`uma_gpu_temperature_celsius{host="h",uuid="1"} 0+1x400`,
		`uma_gpu_temperature_celsius{host="h",uuid="2"} -1+1x400`,
		`uma_run_active{host="h",run="a",arm="native",scenario="s"} 1x20 _x300`,
		`uma_run_active{host="h",run="b",arm="container",scenario="s"} _x239 1x20 _x100`,
		`uma_run_start_timestamp_seconds{run="a"} 1000x400`,
		`uma_run_start_timestamp_seconds{run="b"} 4600x400`)
}

func TestCurvesOfTwoRunsLieOverEachOther(t *testing.T) {
	a := twoRuns(t, map[string]string{"shift": "3600"})
	c := curve{of: ofHost(hottest())}
	at := 62 * time.Minute
	same(t, "B", a.ask(t, c.of(isRunB()), at), map[string]float64{`{arm="container", host="h", run="b"}`: 62 * 4})
	same(t, "A", a.ask(t, c.of(isRunA()).OffsetBy("shift"), at), map[string]float64{`{arm="native", host="h", run="a"}`: 2 * 4})
	same(t, "A when it is over", a.ask(t, c.of(isRunA()).OffsetBy("shift"), 70*time.Minute), nil)
	// The later run as A is moved into the past.
	a = twoRuns(t, map[string]string{"shift": "-3600"})
	a.chosen["run_a"], a.chosen["run_b"] = "b", "a"
	same(t, "later A", a.ask(t, c.of(isRunA()).OffsetBy("shift"), 2*time.Minute), map[string]float64{`{arm="container", host="h", run="b"}`: 62 * 4})
}

func TestTheShiftIsTheTimeBetweenTheStarts(t *testing.T) {
	a := twoRuns(t, map[string]string{laterName: "0"})
	same(t, "known", a.ask(t, shift(), time.Minute), map[string]float64{`{}`: 3600})
	a.chosen["run_b"] = "nothing"
	same(t, "unknown", a.ask(t, shift(), time.Minute), map[string]float64{`{}`: 0})
	a.chosen["run_a"], a.chosen["run_b"] = "b", "a"
	same(t, "backwards", a.ask(t, shift(), time.Minute), map[string]float64{`{}`: -3600})
}

func TestMeansByModelAreOfValidRunsOfTheHostAndMarkWhatIsNotLive(t *testing.T) {
	var series []string
	series = append(series, `uma_comparison_info{comparison="c",compared_by="way"} 1x20`)
	run := func(name, host, arm, model, valid, simulated, mode, kv string) {
		// Another label of the same value makes nobody a run of the arm.
		series = append(series, `uma_run_label{run="`+name+`",name="way",value="`+arm+`"} 1x20`, `uma_run_label{run="`+name+`",name="tier",value="native"} 1x20`)
		series = append(series,
			`uma_run_info{host="`+host+`",run="`+name+`",arm="",model="`+model+`",scenario="s",engine="e"} 1x20`,
			`uma_run_valid{run="`+name+`"} `+valid+`x20`,
			`uma_run_simulated{host="`+host+`",run="`+name+`"} `+simulated+`x20`,
			`uma_run_kv_capacity_bytes{run="`+name+`"} `+kv+`x20`)
		if mode != "" {
			series = append(series, `uma_run_telemetry_mode{run="`+name+`",mode="`+mode+`"} 1x20`)
		}
	}
	run("1", "h", "native", "m", "1", "0", "live", "10")
	run("2", "h", "native", "m", "1", "0", "live", "20")
	run("3", "h", "native", "m", "1", "0", "", "60")
	run("4", "h", "native", "m", "0", "0", "live", "1000")    // invalid
	run("5", "h", "container", "m", "1", "0", "live", "1000") // of another arm
	run("6", "other", "native", "m", "1", "0", "live", "1000")
	run("7", "h", "native", "m", "1", "1", "live", "7")
	run("8", "h", "native", "m", "1", "0", "constructed", "9")
	a := stored(t, map[string]string{"host": "h", "runs": ".+", "baseline": "native", "comparison": "c"}, series...)
	same(t, "means", a.ask(t, meanByModel(ofHistory(metric.RunKVCapacityBytes), "$baseline"), time.Minute), map[string]float64{
		`{model="m"}`: 30, `{model="m (not live)"}`: 8,
	})
	a.chosen["runs"] = "1|2"
	same(t, "means of chosen runs", a.ask(t, meanByModel(ofHistory(metric.RunKVCapacityBytes), "$baseline"), time.Minute), map[string]float64{`{model="m"}`: 15})
}

func TestTheStacksOfTheLedgerAddUpToThePool(t *testing.T) {
	a := stored(t, map[string]string{"run": "run-5", "run_a": "run-5", "run_b": "hot"}, finished(t)...)
	whole := a.ask(t, expr.Select(metric.RunLedgerBytes, isRun()).Sum(expr.By(metric.LabelRun, metric.LabelMoment)).Max(expr.By(metric.LabelMoment)), time.Minute)
	if len(whole) != 3 || whole[`{moment="ready"}`] < 100<<30 {
		t.Fatalf("the golden run has the ledgers %v", whole)
	}
	stacks, two := map[string]float64{}, map[string]float64{}
	for _, line := range ledger.Names() {
		for moment, bytes := range a.ask(t, lineAtMoments(line), time.Minute) {
			stacks[moment] += bytes
		}
		for run, bytes := range a.ask(t, lineOfTwo(line), time.Minute) {
			two[run] += bytes
		}
	}
	same(t, "moments of a run", stacks, whole)
	ready := whole[`{moment="ready"}`]
	same(t, "two runs", two, map[string]float64{`{run="A (baseline)"}`: ready, `{run="B (candidate)"}`: ready})
}

// Items that differ are counted, and where none does that is a 0; where nothing is known it is nothing.
func TestItemsThatDifferAreCounted(t *testing.T) {
	const item = `uma_comparison_fairness_differs{comparison="c",baseline="x",candidate="y",scenario="s",`
	a := stored(t, map[string]string{"comparison": "c", "candidate": "y"},
		item+`model="alike",item="kernel",baseline_value="1",candidate_value="1"} 0x9`,
		item+`model="unlike",item="kernel",baseline_value="1",candidate_value="2"} 1x9`,
		item+`model="unlike",item="driver",baseline_value="1",candidate_value="1"} 0x9`)
	same(t, "differing", a.ask(t, differing(), time.Minute), map[string]float64{`{model="alike", scenario="s"}`: 0, `{model="unlike", scenario="s"}`: 1})
	a.chosen["candidate"] = "z"
	same(t, "of another candidate", a.ask(t, differing(), time.Minute), nil)
}
