package importer

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/enginelog"
)

// cellRun returns the run of a file with such labels.
func cellRun(t *testing.T, all []Result, labels ...string) Result {
	t.Helper()
	var found []Result
	for _, r := range all {
		if !slices.ContainsFunc(labels, func(label string) bool {
			name, value, _ := strings.Cut(label, "=")
			return r.Labels[name] != value
		}) {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d runs with %v of %d", len(found), labels, len(all))
	}
	return found[0]
}

// TestLlamaBenchyIsReadAsItWasRecorded: of llama-benchy 0.4.0 against the simulated engine, 2 runs of 6 rows.
func TestLlamaBenchyIsReadAsItWasRecorded(t *testing.T) {
	all, err := results(t, "llama-benchy", "testdata/llama-benchy-0.4.0.json")
	if err != nil || len(all) != 6 {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	r := cellRun(t, all, "depth=0", "concurrency=1")
	wantLabels(t, r, map[string]string{
		"model": "sim/simulated-8b", "tool_version": "0.4.0", "phase": "inference", "depth": "0", "concurrency": "1", "pp": "256", "tg": "16",
	})
	wantFigures(t, r, map[figure]float64{
		{enginelog.PrefillTokensPerSecond, "mean"}: 2107.828601331941, {enginelog.PrefillTokensPerSecond, "sd"}: 174.93244381163834 * math.Sqrt2,
		{enginelog.PrefillTokensPerSecond, "min"}: 1932.8961575203027, {enginelog.PrefillTokensPerSecond, "p50"}: 2107.828601331941,
		{enginelog.DecodeTokensPerSecond, "mean"}: 47.552776499108546, {enginelog.UserTokensPerSecond, "max"}: 47.82109157913372,
		{enginelog.PeakTokensPerSecond, "mean"}: 50.722961599049114, {enginelog.PeakTokensPerSecondEach, "mean"}: 50.722961599049114,
		{enginelog.FirstEventSeconds, "mean"}: .12293894599997657, {enginelog.PrefillSeconds, "max"}: .13244374200030506,
		{enginelog.TTFTSeconds, "sd"}: .01014942300025723 * math.Sqrt2, {enginelog.Requests, ""}: 2,
	})
	if want := time.Date(2026, 11, 23, 9, 29, 17, 0, time.UTC); !r.EndedAt.Equal(want) || r.Version != "0.4.0" || r.Key != "2026-11-23 09:29:17Z inference d0 c1 pp256 tg16" {
		t.Errorf("%+v", r)
	}
	if r.Settings["latency_mode"] != "api" || r.Settings["latency_ms"] != "0.6446269999287324" || r.Settings["prefix_caching_enabled"] != "true" {
		t.Errorf("%v", r.Settings)
	}
	context := cellRun(t, all, "depth=1024", "concurrency=2", "phase=context")
	wantFigures(t, context, map[figure]float64{{enginelog.Requests, ""}: 4})
	for _, r := range all {
		if _, known := r.figure(figure{enginelog.FailedRequests, ""}); known {
			t.Errorf("%s: failed requests of a file that lost none", r.Key)
		}
	}
}

// TestEveryValueOfLlamaBenchyIsKept in the order of the file.
func TestEveryValueOfLlamaBenchyIsKept(t *testing.T) {
	all, err := results(t, "llama-benchy", "testdata/llama-benchy-0.4.0.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range cellRun(t, all, "depth=0", "concurrency=2").Values {
		want := map[enginelog.Name][]float64{
			enginelog.PrefillTokensPerSecond:     {2343.4764823657206, 2431.1228126001015},
			enginelog.PrefillTokensPerSecondEach: {1175.2057136766766, 1315.833312252272, 1364.6789861348589, 1220.1904436064106},
		}[v.Name]
		if v.Statistic == "mean" && want != nil && !slices.Equal(v.Values, want) || v.Statistic != "mean" && v.Values != nil {
			t.Errorf("%s %s: %v", v.Name, v.Statistic, v.Values)
		}
	}
}

// TestLlamaBenchysFaultsAreWarnedOf: each file was recorded against a server with that fault, or without one.
func TestLlamaBenchysFaultsAreWarnedOf(t *testing.T) {
	warnings := map[string]string{
		"interpolated":    "spreads the tokens of an answer evenly",
		"own tokenizer":   "by its own tokenizer",
		"early role":      "early role: the first event came 173 ms before the first token, so that pp of a request is too high: by the time to first token it is 2924 t/s",
		"requests lost":   "requests lost: the file has values of 10 requests, 3 batches of 5 are 15",
		"prefill in tg":   "the prefill of slower requests is in it",
		"hits assumed":    "its files do not have the hits",
		"version missing": "lacks the version of llama-benchy",
		"no time":         "the file has no time",
		"means only":      "means without their values",
	}
	for name, want := range map[string][]string{
		"llama-benchy-0.3.8.json":                            {"own tokenizer", "prefill in tg", "hits assumed"},
		"llama-benchy-0.4.0.json":                            {"interpolated", "prefill in tg", "hits assumed"},
		"llama-benchy-0.3.8.csv":                             {"interpolated", "prefill in tg", "hits assumed", "version missing", "no time", "means only"},
		"llama-benchy-0.4.0.csv":                             {"interpolated", "prefill in tg", "hits assumed", "version missing", "no time", "means only"},
		"llama-benchy-0.4.0.md":                              {"interpolated", "prefill in tg", "hits assumed", "version missing", "no time", "means only"},
		"llama-benchy-0.4.0-early-role-chunk.json":           {"interpolated", "early role"},
		"llama-benchy-0.4.0-a-third-failed.json":             {"interpolated", "requests lost", "prefill in tg"},
		"llama-benchy-0.4.0-depth-cache-hits.json":           {"interpolated", "prefill in tg", "hits assumed"},
		"llama-benchy-0.4.0-depth-cache-misses.json":         {"interpolated", "prefill in tg", "hits assumed"},
		"llama-benchy-0.4.0-four-tokens-a-chunk-no-ids.json": {"interpolated"},
		"llama-benchy-0.3.8-four-tokens-a-chunk-no-ids.json": {"own tokenizer"},
		"llama-benchy-0.4.0-timeseries.json":                 {"interpolated", "prefill in tg"},
	} {
		all, err := results(t, "llama-benchy", "testdata/"+name)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(Warnings(all), "\n")
		for short, warning := range warnings {
			if strings.Contains(text, warning) != slices.Contains(want, short) {
				t.Errorf("%s: %s: want %v in\n%s", name, short, slices.Contains(want, short), text)
			}
		}
	}
}

// TestRequestsThatLlamaBenchyLostMakeARunInvalid, although the tool counts none as failed.
func TestRequestsThatLlamaBenchyLostMakeARunInvalid(t *testing.T) {
	made, err := order(t, "llama-benchy", t.TempDir(), "testdata/llama-benchy-0.4.0-a-third-failed.json").Import()
	if err != nil || len(made) != 1 || made[0].Summary.Valid || made[0].Summary.InvalidReasons[0].Detail != "5 of 15 requests failed, by llama-benchy" {
		t.Errorf("%+v, %v", made, err)
	}
}

// TestACellThatLostAWholeBatchIsNoticedByTheOthers: its own values do not show it.
func TestACellThatLostAWholeBatchIsNoticedByTheOthers(t *testing.T) {
	text := `{"version":"0.4.0","timestamp":"2026-11-23 09:29:17Z","benchmarks":[` +
		`{"concurrency":1,"context_size":0,"prompt_size":8,"response_size":4,"pp_throughput":{"mean":3,"std":0,"values":[3,3,3]},"ttfr":{"mean":3,"std":0,"values":[3,3,3]}},` +
		`{"concurrency":1,"context_size":8,"prompt_size":8,"response_size":4,"pp_throughput":{"mean":3,"std":0,"values":[3]},"ttfr":{"mean":3,"std":0,"values":[3]}},` +
		`{"concurrency":2,"context_size":9,"prompt_size":8,"response_size":4,"pp_throughput":null,"ttfr":null}]}`
	all, err := results(t, "llama-benchy", written(t, "r.json", text))
	if err != nil {
		t.Fatal(err)
	}
	for depth, lost := range map[string]float64{"8": 2, "9": 6} {
		wantFigures(t, cellRun(t, all, "depth="+depth), map[figure]float64{{enginelog.FailedRequests, ""}: lost})
	}
	if _, known := cellRun(t, all, "depth=0").figure(figure{enginelog.FailedRequests, ""}); known {
		t.Error("nothing is lost at depth 0")
	}
}

func TestTheCSVOfLlamaBenchyHasItsMeans(t *testing.T) {
	for _, name := range []string{"llama-benchy-0.4.0.csv", "llama-benchy-0.4.0.md"} {
		all, err := results(t, "llama-benchy", "testdata/"+name)
		if err != nil || len(all) != 6 {
			t.Fatalf("%s: %d runs, %v", name, len(all), err)
		}
		wantLabels(t, cellRun(t, all, "depth=1024", "concurrency=2", "phase=inference"), map[string]string{
			"model": "sim/simulated-8b", "phase": "inference", "depth": "1024", "concurrency": "2", "pp": "256", "tg": "16",
		})
		wantLabels(t, cellRun(t, all, "concurrency=1", "phase=context"), map[string]string{
			"model": "sim/simulated-8b", "phase": "context", "depth": "1024", "concurrency": "1",
		})
	}
	all, err := results(t, "llama-benchy", "testdata/llama-benchy-0.4.0.csv")
	if err != nil {
		t.Fatal(err)
	}
	r := cellRun(t, all, "depth=0", "concurrency=2")
	wantFigures(t, r, map[figure]float64{
		{enginelog.PrefillTokensPerSecond, "mean"}: 2352.535975389466, {enginelog.PrefillTokensPerSecond, "population_sd"}: 3.114903256321213,
		{enginelog.PrefillTokensPerSecondEach, "mean"}: 1246.0110690320344, {enginelog.DecodeTokensPerSecond, "mean"}: 89.2903132367864,
		{enginelog.UserTokensPerSecond, "mean"}: 47.463902234711426, {enginelog.PeakTokensPerSecond, "mean"}: 95.24300078590551,
		{enginelog.PeakTokensPerSecondEach, "mean"}: 50.628162383692185, {enginelog.TTFTSeconds, "mean"}: .2069506555000089,
		{enginelog.FirstEventSeconds, "mean"}: .2069506555000089, {enginelog.PrefillSeconds, "population_sd"}: .010484240903021396,
	})
	for _, of := range []figure{{enginelog.PrefillTokensPerSecond, "sd"}, {enginelog.Requests, ""}} {
		if value, known := r.figure(of); known {
			t.Errorf("%s %s is %v: it does not follow from a mean", of.name, of.statistic, value)
		}
	}
}

// TestATableOfAPostIsRead: with text around it, at one request at a time, one half of a row missing.
func TestATableOfAPostIsRead(t *testing.T) {
	const post = "My Spark:\n\n| model | test | t/s | peak t/s | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |\n|:--|--:|--:|--:|--:|--:|--:|\n" +
		"| m | pp2048 | 2443.90 ± 58.45 | | 105.55 ± 2.51 | 104.81 ± 2.51 | 105.55 ± 2.51 |\n| m | tg32 | 50.11 ± 0.01 | 53.45 ± 0.01 | | | |\n" +
		"| m | tg32 @ d4096 | 49.11 ± 0.01 | 53.45 ± 0.01 | | | |\n\nNice!\n"
	all, err := results(t, "llama-benchy", written(t, "post.md", post))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	first := cellRun(t, all, "depth=0", "pp=2048", "tg=32", "concurrency=1")
	wantFigures(t, first, map[figure]float64{
		{enginelog.PrefillTokensPerSecond, "mean"}: 2443.9, {enginelog.DecodeTokensPerSecond, "mean"}: 50.11, {enginelog.DecodeTokensPerSecond, "population_sd"}: .01,
		{enginelog.TTFTSeconds, "mean"}: .10555,
	})
	wantLabels(t, cellRun(t, all, "depth=4096"), map[string]string{"model": "m", "phase": "inference", "depth": "4096", "concurrency": "1", "tg": "32"})
}

// TestACellThatWasAskedForTwiceIsTwoRuns.
func TestACellThatWasAskedForTwiceIsTwoRuns(t *testing.T) {
	text, err := os.ReadFile("testdata/llama-benchy-0.4.0.csv")
	if err != nil {
		t.Fatal(err)
	}
	head, rows, _ := strings.Cut(string(text), "\n")
	made, err := order(t, "llama-benchy", t.TempDir(), written(t, "r.csv", head+"\n"+rows+rows)).Import()
	if err != nil || len(made) != 12 {
		t.Errorf("%d runs, %v", len(made), err)
	}
}

func TestNamesOfTestsOfLlamaBenchyAreParsed(t *testing.T) {
	for text, want := range map[string]benchyName{
		"pp2048":               {prefill: true, tokens: new(2048), concurrency: 1},
		"tg128 @ d65535 (c10)": {tokens: new(128), depth: 65535, concurrency: 10},
		"ctx_pp @ d4096 (c5)":  {context: true, prefill: true, depth: 4096, concurrency: 5},
		" ctx_tg @ d100000 ":   {context: true, depth: 100000, concurrency: 1},
	} {
		got, err := parseBenchyName(text)
		if err != nil || got.context != want.context || got.prefill != want.prefill || got.depth != want.depth || got.concurrency != want.concurrency || (got.tokens == nil) != (want.tokens == nil) || got.tokens != nil && *got.tokens != *want.tokens {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "pp", "qq12", "pp12 (c0)", "pp12@d4", "pp99999999999"} {
		if got, err := parseBenchyName(text); err == nil && text != "pp" {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
