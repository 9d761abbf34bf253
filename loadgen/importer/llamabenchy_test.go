package importer

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
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
		{spec.PrefillTokensPerSecond, "mean"}: 2107.828601331941, {spec.PrefillTokensPerSecond, "sd"}: 174.93244381163834 * math.Sqrt2,
		{spec.PrefillTokensPerSecond, "min"}: 1932.8961575203027, {spec.PrefillTokensPerSecond, "p50"}: 2107.828601331941,
		{spec.DecodeTokensPerSecond, "mean"}: 47.552776499108546, {spec.UserTokensPerSecond, "max"}: 47.82109157913372,
		{spec.PeakTokensPerSecond, "mean"}: 50.722961599049114, {spec.PeakTokensPerSecondEach, "mean"}: 50.722961599049114,
		{spec.FirstEventSeconds, "mean"}: .12293894599997657, {spec.PrefillSeconds, "max"}: .13244374200030506,
		{spec.TTFTSeconds, "sd"}: .01014942300025723 * math.Sqrt2, {spec.Requests, ""}: 2,
		{spec.NetworkSeconds, ""}: .0006446269999287324,
	})
	if want := time.Date(2026, 11, 23, 9, 29, 17, 0, time.UTC); !r.EndedAt.Equal(want) || r.Version != "0.4.0" || r.Key != "2026-11-23 09:29:17Z inference d0 c1 pp256 tg16" {
		t.Errorf("%+v", r)
	}
	if r.Settings["latency_mode"] != "api" || r.Settings["prefix_caching_enabled"] != "true" {
		t.Errorf("%v", r.Settings)
	}
	context := cellRun(t, all, "depth=1024", "concurrency=2", "phase=context")
	wantFigures(t, context, map[figure]float64{{spec.Requests, ""}: 4})
	for _, r := range all {
		if _, known := r.figure(figure{spec.FailedRequests, ""}); known {
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
		want := map[spec.Quantity][]float64{
			spec.PrefillTokensPerSecond:     {2343.4764823657206, 2431.1228126001015},
			spec.PrefillTokensPerSecondEach: {1175.2057136766766, 1315.833312252272, 1364.6789861348589, 1220.1904436064106},
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
	}
	for name, want := range map[string][]string{
		"llama-benchy-0.3.8.json":                            {"own tokenizer", "prefill in tg", "hits assumed"},
		"llama-benchy-0.4.0.json":                            {"interpolated", "prefill in tg", "hits assumed"},
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
		wantFigures(t, cellRun(t, all, "depth="+depth), map[figure]float64{{spec.FailedRequests, ""}: lost})
	}
	if _, known := cellRun(t, all, "depth=0").figure(figure{spec.FailedRequests, ""}); known {
		t.Error("nothing is lost at depth 0")
	}
}

// TestADepthThatWasSentWithThePromptIsNoCachedOne: without prefix caching pp counts both.
func TestADepthThatWasSentWithThePromptIsNoCachedOne(t *testing.T) {
	const row = `{"concurrency":1,"context_size":4000,"prompt_size":1000,"response_size":4,"ttfr":{"mean":5},"est_ppt":{"mean":5},"e2e_ttft":{"mean":1000}}`
	for setting, want := range map[string]string{
		`"prefix_caching_enabled":true,`:  "by the time to first token it is 1000 t/s",
		`"prefix_caching_enabled":false,`: "by the time to first token it is 5000 t/s",
		"":                                "by the time to first token it is 5000 t/s",
	} {
		r := only(t, "llama-benchy", written(t, "r.json", `{`+setting+`"benchmarks":[`+row+`]}`))
		text := strings.Join(r.Warnings, "\n")
		if !strings.Contains(text, want) || strings.Contains(text, "its files do not have the hits") != strings.Contains(setting, "true") {
			t.Errorf("%s: %s", setting, text)
		}
	}
}

// TestAMergedFileShowsWhatABatchLost: its other rows may be of another number of batches, and count for nothing.
func TestAMergedFileShowsWhatABatchLost(t *testing.T) {
	text, err := os.ReadFile("testdata/llama-benchy-0.4.0-a-third-failed.json")
	if err != nil {
		t.Fatal(err)
	}
	merged := strings.Replace(string(text), `"version": "0.4.0",`, "", 1)
	merged = strings.Replace(merged, `"benchmarks": [`, `"benchmarks": [{"concurrency":1,"context_size":8,"prompt_size":8,"response_size":4,"ttfr":{"mean":3,"values":[3]},"pp_throughput":{"mean":3,"values":[3]}},`, 1)
	all, err := results(t, "llama-benchy", written(t, "r.json", merged))
	if err != nil {
		t.Fatal(err)
	}
	wantFigures(t, cellRun(t, all, "depth=0"), map[figure]float64{{spec.FailedRequests, ""}: 5})
	if _, known := cellRun(t, all, "depth=8").figure(figure{spec.FailedRequests, ""}); known {
		t.Error("one batch of another cell is held against three")
	}
}

// TestACellThatWasAskedForTwiceIsTwoRuns.
func TestACellThatWasAskedForTwiceIsTwoRuns(t *testing.T) {
	const row = `{"concurrency":1,"context_size":0,"prompt_size":8,"response_size":4,"ttfr":{"mean":5}}`
	made, err := order(t, "llama-benchy", t.TempDir(), written(t, "r.json", `{"version":"0.4.0","timestamp":"2026-11-23 09:29:17Z","benchmarks":[`+row+`,`+row+`]}`)).Import()
	if err != nil || len(made) != 2 {
		t.Errorf("%d runs, %v", len(made), err)
	}
}

// TestRowsOfOneTimeKeepTheOrderOfTheirFile: llama-benchy has one time for all.
func TestRowsOfOneTimeKeepTheOrderOfTheirFile(t *testing.T) {
	const path = "testdata/llama-benchy-0.4.0.json"
	all, err := results(t, "llama-benchy", path)
	if err != nil {
		t.Fatal(err)
	}
	made, err := order(t, "llama-benchy", t.TempDir(), path).Import()
	if err != nil || len(made) != len(all) {
		t.Fatalf("%d runs of %d, %v", len(made), len(all), err)
	}
	for i, one := range made {
		if one.Result.Key != all[i].Key {
			t.Errorf("%d: %s, want %s", i, one.Result.Key, all[i].Key)
		}
	}
}

// progress makes a file of events by their short names: two requests at once at a depth of 4096.
func progress(events ...string) string {
	var all strings.Builder
	for _, event := range events {
		name, id, _ := strings.Cut(event, " ")
		body := map[string]string{
			"header":         `"type":"header","ts":1795426146,"llama_benchy_version":"0.4.0"`,
			"start":          `"type":"request_start","ts":1795426147,"request_id":ID,"model":"m","base_url":"http://h/v1","prompt_size":512,"response_size":3,"context_size":4096,"concurrency":2,"run_index":1`,
			"next":           `"type":"request_start","ts":1795426148,"request_id":ID,"model":"m","base_url":"http://h/v1","prompt_size":512,"response_size":3,"context_size":4096,"concurrency":2,"run_index":2`,
			"first":          `"type":"request_first_response","ts":1795426147.11,"request_id":ID,"ttfr_s":0.1`,
			"ttft":           `"type":"request_first_token","ts":1795426147.21,"request_id":ID,"ttft_s":0.2`,
			"token":          `"type":"tokens","ts":1795426147.3,"request_id":ID,"count":1,"snippet":"secret words","estimated":true`,
			"four":           `"type":"tokens","ts":1795426147.4,"request_id":ID,"count":4,"snippet":"secret words"`,
			"end":            `"type":"request_end","ts":1795426147.5,"request_id":ID,"total_tokens":5,"prompt_tokens":4608,"decode_seconds":0.25,"error":""`,
			"timeout":        `"type":"request_end","ts":1795426147.5,"request_id":ID,"total_tokens":0,"prompt_tokens":0,"decode_seconds":0,"error":""`,
			"500":            `"type":"request_end","ts":1795426147.5,"request_id":ID,"total_tokens":0,"prompt_tokens":0,"decode_seconds":0,"error":"HTTP 500: no\u001b memory"`,
			"refused":        `"type":"request_end","ts":1795426147.5,"request_id":ID,"total_tokens":0,"prompt_tokens":0,"decode_seconds":0,"error":"Cannot connect"`,
			"bench_complete": `"type":"bench_complete","ts":1795426149,"status":"ok"`,
			"interrupted":    `"type":"bench_complete","ts":1795426149,"status":"interrupted"`,
			"later":          `"type":"gpu_sample","ts":1795426149,"watts":3`,
		}[name]
		if body == "" {
			all.WriteString(event + "\n")
			continue
		}
		all.WriteString(`{"schema":"llama-benchy-progress.v1",` + strings.ReplaceAll(body, "ID", id) + "}\n")
	}
	return all.String()
}

// TestProgressOfLlamaBenchyIsReadAsItWasRecorded: by 0.4.0, in the same run as its JSON, cut after the first cell. The
// figures are computed from the events, and agree with those of the JSON where the definitions do.
func TestProgressOfLlamaBenchyIsReadAsItWasRecorded(t *testing.T) {
	made, err := order(t, "llama-benchy", t.TempDir(), "testdata/llama-benchy-0.4.0-progress.jsonl").Import()
	if err != nil || len(made) != 2 {
		t.Fatalf("%d runs, %v", len(made), err)
	}
	s := made[0].Summary
	if !s.Valid || s.Tool != nil || s.Requests[openai.StatusOK] != 2 || made[1].Summary.Valid {
		t.Errorf("%+v", s)
	}
	wantLabels(t, made[0].Result, map[string]string{
		"arm": "default", "model": "sim/simulated-8b", "tool_version": "0.4.0", "phase": "inference", "depth": "0", "concurrency": "1", "pp": "256", "tg": "16",
	})
	report, err := results(t, "llama-benchy", "testdata/llama-benchy-0.4.0.json")
	if err != nil {
		t.Fatal(err)
	}
	cell := cellRun(t, report, "depth=0", "concurrency=1")
	ttft, _ := cell.figure(figure{spec.TTFTSeconds, "mean"})
	if got := *s.Latency.TTFT.Send.Mean; math.Abs(got-ttft) > 1e-9 {
		t.Errorf("TTFT %v, by the JSON %v", got, ttft)
	}
	tg, _ := cell.figure(figure{spec.UserTokensPerSecond, "mean"})
	if got := 1 / *s.Latency.TPOT.Send.Mean; math.Abs(got-tg) > .01*tg {
		t.Errorf("%v tokens per second, by the JSON %v", got, tg)
	}
	if made[0].Result.URL != "http://127.0.0.1:21800/v1" || s.Tokens.Input == nil || *s.Tokens.Input.Mean != 256 {
		t.Errorf("%+v, %+v", made[0].Result.URL, s.Tokens)
	}
}

// TestPhasesOfProgressAreToldByTheirOrder, whatever ended first.
func TestPhasesOfProgressAreToldByTheirOrder(t *testing.T) {
	text := progress("header", "start 0", "start 1", "end 1", "end 0", "start 2", "start 3", "end 3", "end 2", "next 4", "next 5", "end 4", "end 5", "later", "bench_complete")
	all, err := results(t, "llama-benchy", written(t, "p.jsonl", text))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d runs, %v", len(all), err)
	}
	context, inference := cellRun(t, all, "phase=context"), cellRun(t, all, "phase=inference")
	if len(context.Requests) != 4 || len(context.Phases) != 2 || len(inference.Requests) != 2 || len(inference.Phases) != 1 {
		t.Errorf("%d contexts in %v, %d prompts in %v", len(context.Requests), context.Phases, len(inference.Requests), inference.Phases)
	}
	if context.Requests[0].InputTokensTarget != 4096 || inference.Requests[0].InputTokensTarget != 4608 || context.Key == inference.Key {
		t.Errorf("%+v, %+v", context.Requests[0], inference.Requests[0])
	}
	deeper := strings.NewReplacer(`"context_size":4096`, `"context_size":8192`)
	stopped, err := results(t, "llama-benchy", written(t, "p.jsonl", progress("header", "start 0", "start 1", "end 1", "end 0", "start 2", "start 3", "end 3", "end 2")+deeper.Replace(progress("start 4", "start 5"))))
	if err != nil || len(stopped) != 3 || stopped[2].Labels["phase"] != rundir.CellContext || stopped[2].Labels["depth"] != "8192" {
		t.Errorf("stopped in the contexts of the second cell: %+v, %v", stopped, err)
	}
	again, err := results(t, "llama-benchy", written(t, "p.jsonl", progress("header", "next 0", "next 1", "end 0", "end 1", "start 2", "start 3", "end 2", "end 3", "bench_complete")))
	if err != nil || len(again) != 2 || again[0].Key == again[1].Key {
		t.Errorf("one cell twice: %+v, %v", again, err)
	}
	without, err := results(t, "llama-benchy", written(t, "p.jsonl", progress("header", "start 0", "start 1", "end 0", "end 1", "bench_complete")))
	if err != nil || len(without) != 1 || without[0].Labels["phase"] != rundir.CellInference {
		t.Errorf("without prefix caching: %+v, %v", without, err)
	}
}

// TestARequestOfProgressHasTheMomentsOfItsEvents, and nothing of its text.
func TestARequestOfProgressHasTheMomentsOfItsEvents(t *testing.T) {
	path := written(t, "p.jsonl", progress("header", "start 0", "first 0", "ttft 0", "token 0", "four 0", "end 0", "start 1", "first 1", "ttft 1", "four 1", "four 1", "end 1", "bench_complete"))
	all, err := results(t, "llama-benchy", path)
	if err != nil || len(all) != 1 || len(all[0].Requests) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	near := func(got *int64, want int64) bool { return got != nil && math.Abs(float64(*got-want)) < 1e3 }
	const ms = 1e6
	r, counted := all[0].Requests[0], all[0].Requests[1]
	if !near(r.DispatchNS, 10*ms) || !near(r.FirstEventNS, 110*ms) || r.FirstEventType != "role" || !near(r.FirstTokenNS, 210*ms) || !near(r.EndNS, 460*ms) {
		t.Errorf("%d %d %s %d %d", *r.DispatchNS, *r.FirstEventNS, r.FirstEventType, *r.FirstTokenNS, *r.EndNS)
	}
	if len(r.ArrivalsNS) != 2 || r.ArrivalsNS[0] != *r.FirstTokenNS || !near(&r.ArrivalsNS[1], 100*ms) || r.ArrivalTokens != nil || r.TokensSource != "" || *r.TokensOut != 5 || *r.TokensIn != 4608 {
		t.Errorf("%+v", r)
	}
	if !slices.Equal(counted.ArrivalTokens, []int{4, 4}) || counted.TokensSource != "token_ids" {
		t.Errorf("%+v", counted)
	}
	out := t.TempDir()
	made, err := order(t, "llama-benchy", out, path).Import()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries(t, string(made[0].Folder)) {
		if text, err := os.ReadFile(made[0].Path(name)); err != nil || strings.Contains(string(text), "secret words") {
			t.Errorf("%s has the text of an answer: %v", name, err)
		}
	}
}

// TestFailuresInProgressAreCounted: also those that llama-benchy takes for answers.
func TestFailuresInProgressAreCounted(t *testing.T) {
	for ending, want := range map[string]openai.Status{
		"end 0": openai.StatusOK, "500 0": openai.StatusHTTP, "refused 0": openai.StatusConnect, "timeout 0": openai.StatusTruncated, "later": openai.StatusCancelled,
	} {
		all, err := results(t, "llama-benchy", written(t, "p.jsonl", progress("header", "start 0", ending, "bench_complete")))
		if err != nil || len(all) != 1 || all[0].Requests[0].Status != want {
			t.Errorf("%s: %+v, %v", ending, all, err)
		}
	}
	all, err := results(t, "llama-benchy", written(t, "p.jsonl", progress("header", "start 0", "first 0", "ttft 0", "token 0", "timeout 0", "bench_complete")))
	if err != nil || all[0].Requests[0].Status != openai.StatusTruncated {
		t.Errorf("half an answer: %+v, %v", all, err)
	}
}

// TestProgressThatDoesNotEndIsAnInvalidRun of the cell that was being measured.
func TestProgressThatDoesNotEndIsAnInvalidRun(t *testing.T) {
	whole := progress("header", "start 0", "start 1", "end 0", "end 1")
	for text, says := range map[string]string{
		whole:                              "llama-benchy was killed",
		whole + `{"schema":"llama-ben`:     "llama-benchy was killed",
		whole + progress("interrupted"):    "llama-benchy ended with the status interrupted",
		whole + progress("bench_complete"): "",
	} {
		all, err := results(t, "llama-benchy", written(t, "p.jsonl", text))
		if err != nil || len(all) != 1 || (says == "") != (all[0].Stopped == "") || !strings.Contains(all[0].Stopped, says) {
			t.Errorf("%q: %+v, %v", says, all, err)
		}
		torn := strings.HasSuffix(text, "ben")
		if got := strings.Contains(strings.Join(all[0].Warnings, " "), "is torn and left out"); got != torn {
			t.Errorf("torn: %v", all[0].Warnings)
		}
	}
}
