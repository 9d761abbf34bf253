package importer

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// written writes files into a folder and returns the path of the first.
func written(t testing.TB, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0])
}

// results reads a file by a format.
func results(t testing.TB, format, path string) ([]Result, error) {
	t.Helper()
	f, err := Find(format)
	if err != nil {
		t.Fatal(err)
	}
	file, err := openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return f.read(file)
}

func only(t *testing.T, format, path string) Result {
	t.Helper()
	all, err := results(t, format, path)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d results, %v", len(all), err)
	}
	return all[0]
}

// figure is a value by name and statistic.
type figure struct {
	name      spec.Quantity
	statistic string
}

func (r Result) figure(f figure) (float64, bool) {
	for _, v := range r.Values {
		if v.Name == f.name && v.Statistic == f.statistic {
			return v.Value, true
		}
	}
	return 0, false
}

func wantFigures(t *testing.T, r Result, want map[figure]float64) {
	t.Helper()
	for f, value := range want {
		if got, known := r.figure(f); !known || math.Abs(got-value) > 1e-9*max(1, value) {
			t.Errorf("%s %s: %v, %v; want %v", f.name, f.statistic, got, known, value)
		}
	}
}

func wantLabels(t *testing.T, r Result, want map[string]string) {
	t.Helper()
	if !maps.Equal(r.Labels, want) {
		t.Errorf("labels %v, want %v", r.Labels, want)
	}
}

const sparkJSON = `{"models":{"small":{"native":[
 {"environment":"native","model_name":"small","model_id":"x/small","iteration":1,"timestamp":"20251109_022626","start_temp_celsius":40,"end_temp_celsius":60,"exit_code":0,"throughput":0.5,"output_throughput":64,"latency":null,"peak_memory":70.5,"kv_cache":44},
 {"environment":"native","model_name":"small","model_id":"x/small","iteration":1,"timestamp":"20251109_012626","exit_code":1,"throughput":null,"output_throughput":null,"peak_memory":null,"kv_cache":null}],
 "container":[{"iteration":2,"timestamp":"20251110_000000","exit_code":0,"output_throughput":NaN}]}}}`

func TestBenchmarkSparkGivesTheEnginesPeakAndNoPeakOfMemoryInUse(t *testing.T) {
	all, err := results(t, "benchmark-spark", written(t, "all.json", sparkJSON))
	if err != nil || len(all) != 3 {
		t.Fatalf("%d, %v", len(all), err)
	}
	container, first, failed := all[0], all[1], all[2]
	wantLabels(t, first, map[string]string{"arm": "native", "model": "small", "iteration": "1"})
	wantFigures(t, first, map[figure]float64{
		{spec.RequestsPerSecond, ""}: 0.5, {spec.OutputTokensPerSecond, ""}: 64,
		{spec.PeakBytes, ""}: math.Round(70.5 * gib), {spec.KVBytes, ""}: 44 * gib,
	})
	if first.Memory == nil || *first.Memory.Peak != math.Round(70.5*gib) || *first.Memory.KV != 44*gib || *first.EndCelsius != 60 || first.Key != "20251109_022626" {
		t.Errorf("%+v", first)
	}
	if len(failed.Values) != 0 || failed.Memory != nil || *failed.ExitCode != 1 || failed.StartCelsius != nil {
		t.Errorf("of a run that failed: %+v", failed)
	}
	wantLabels(t, container, map[string]string{"arm": "container", "model": "small", "iteration": "2"})
	if len(container.Values) != 0 {
		t.Errorf("NaN is no figure: %+v", container.Values)
	}
}

func TestALogOfTensorRTLLMIsReadWithItsMetadata(t *testing.T) {
	log, err := os.ReadFile("../enginelog/testdata/trtllm-bench-constructed.log")
	if err != nil {
		t.Fatal(err)
	}
	alone := only(t, "trtllm-log", written(t, "one.log", string(log)))
	if alone.Key != "one.log 20250118_010113" || alone.StartedAt.Year() != 2025 || len(alone.Labels) != 0 || alone.EngineVersion != "0.21.0rc0" {
		t.Errorf("%+v", alone)
	}
	wantFigures(t, alone, map[figure]float64{{spec.PeakBytes, ""}: 113.65 * gib, {spec.KVBytes, ""}: 5.95 * gib})
	if alone.Memory == nil || math.Abs(*alone.Memory.KV-5.95*gib) > 1 {
		t.Errorf("%+v", alone.Memory)
	}
	neighbour := only(t, "trtllm-log", written(t, "native_iter1.log", string(log),
		"native_iter1_metadata.json", `{"environment":"native","model_name":"deepseek","model_id":"d/r1","iteration":3,"timestamp":"20250118_005500","start_temp_celsius":41,"end_temp_celsius":61,"exit_code":0}`))
	wantLabels(t, neighbour, map[string]string{"arm": "native", "model": "deepseek", "iteration": "3"})
	if neighbour.Key != "20250118_005500" || *neighbour.EndCelsius != 61 || neighbour.Model != "d/r1" || !neighbour.StartedAt.Before(neighbour.EndedAt) {
		t.Errorf("%+v", neighbour)
	}
	failed := only(t, "trtllm-log", written(t, "n.log", "docker: no such image\n", "n_metadata.json", `{"timestamp":"20250118_005500","exit_code":125}`))
	if *failed.ExitCode != 125 || len(failed.Values) != 0 {
		t.Errorf("%+v", failed)
	}
}

// TestVLLMBenchServeIsReadAsItWasRecorded: of vLLM 0.33.0 against the simulated engine, with --metadata
// arm=native version=0.33.
func TestVLLMBenchServeIsReadAsItWasRecorded(t *testing.T) {
	r := only(t, "vllm", "testdata/vllm-0.33.0.json")
	wantLabels(t, r, map[string]string{"arm": "native", "version": "0.33", "model": "sim-8b", "concurrency": "2"})
	wantFigures(t, r, map[figure]float64{
		{spec.RequestsPerSecond, ""}: 6.737661616737595, {spec.OutputTokensPerSecond, ""}: 80.85193940085115,
		{spec.TotalTokensPerSecond, ""}: 300.9488855476126, {spec.DurationSeconds, ""}: 0.8905166720001034,
		{spec.Requests, ""}: 6, {spec.FailedRequests, ""}: 0, {spec.InputTokens, ""}: 196, {spec.OutputTokens, ""}: 72,
		{spec.TTFTSeconds, "p50"}: .0615457214998969, {spec.TTFTSeconds, "sd"}: .006716077802548516,
		{spec.TPOTSeconds, "mean"}: .02115242951515139, {spec.ITLSeconds, "p99"}: .02258508980012266, {spec.E2ESeconds, "p99"}: .30034908319998976,
	})
	if want := time.Date(2026, 11, 22, 9, 13, 9, 0, time.UTC); !r.EndedAt.Equal(want) || r.EndedAt.Sub(r.StartedAt).Round(time.Millisecond) != 891*time.Millisecond {
		t.Errorf("from %v to %v: the date is that of the end", r.StartedAt, r.EndedAt)
	}
}

func TestEveryRunThatVLLMAppendedIsARun(t *testing.T) {
	const one = `{"date":"20260102-03040%d","model_id":"m","num_prompts":10,"completed":9,"request_rate":4.5,"request_throughput":1,"api_key":"sk-1","p99_ttft_ms":NaN,"mean_ttft_ms":2}`
	lines := strings.ReplaceAll(one, "%d", "5") + "\n" + strings.ReplaceAll(one, "%d", "6")
	for name, text := range map[string]string{"lines": lines, "list": "[" + strings.ReplaceAll(lines, "\n", ",") + "]"} {
		all, err := results(t, "vllm", written(t, "r.json", text))
		if err != nil || len(all) != 2 || all[0].Key == all[1].Key {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		wantLabels(t, all[0], map[string]string{"model": "m", "rate": "4.5"})
		wantFigures(t, all[1], map[figure]float64{{spec.FailedRequests, ""}: 1, {spec.TTFTSeconds, "mean"}: .002})
		if _, known := all[0].figure(figure{spec.TTFTSeconds, "p99"}); known {
			t.Error("NaN is a figure")
		}
	}
}

// TestAIPerfIsReadAsItWasRecorded: of AIPerf 0.13.0 against the simulated engine.
func TestAIPerfIsReadAsItWasRecorded(t *testing.T) {
	r := only(t, "aiperf", "testdata/aiperf-0.13.0.json")
	wantLabels(t, r, map[string]string{"model": "sim-8b", "concurrency": "2"})
	wantFigures(t, r, map[figure]float64{
		{spec.RequestsPerSecond, ""}: 3.3697921735351852, {spec.OutputTokensPerSecond, ""}: 50.546882603027775, {spec.Requests, ""}: 8,
		{spec.DurationSeconds, ""}: 2.3423252480000003, {spec.TTFTSeconds, "p50"}: .063380849, {spec.TPOTSeconds, "mean"}: .029987537696428568,
		{spec.ITLSeconds, "mean"}: .027988368516666664, {spec.E2ESeconds, "p25"}: .449043074, {spec.UserTokensPerSecond, "mean"}: 37.054433646432265,
	})
	if r.Version != "0.13.0" || r.URL != "http://127.0.0.1:18123" || r.Key != "e1f2b2846013" || r.Stopped != "" || r.StartedAt.Nanosecond() != 522403000 {
		t.Errorf("%+v", r)
	}
}

// TestGuideLLMIsReadAsItWasRecorded: of GuideLLM 0.8.1 against the simulated engine.
func TestGuideLLMIsReadAsItWasRecorded(t *testing.T) {
	r := only(t, "guidellm", "testdata/guidellm-0.8.1.json")
	wantLabels(t, r, map[string]string{"model": "sim-8b", "concurrency": "2", "strategy": "concurrent"})
	wantFigures(t, r, map[figure]float64{
		{spec.RequestsPerSecond, ""}: 6.760906289089197, {spec.OutputTokensPerSecond, ""}: 81.13087546907036, {spec.Requests, ""}: 6,
		{spec.FailedRequests, ""}: 0, {spec.DurationSeconds, ""}: .8874549865722656, {spec.E2ESeconds, "p50"}: .28644800186157227,
		{spec.TTFTSeconds, "mean"}: .05359903971354166, {spec.TTFTSeconds, "p95"}: .06143307685852051,
	})
	tpot, _ := r.figure(figure{spec.TPOTSeconds, "mean"})
	if itl, _ := r.figure(figure{spec.ITLSeconds, "mean"}); !(itl < tpot) {
		t.Errorf("ITL %v, TPOT %v: GuideLLM's time per output token has the wait for the first in it", itl, tpot)
	}
	if r.StartedAt.Unix() != 1795338219 || !r.EndedAt.After(r.StartedAt) || r.URL != "http://127.0.0.1:18123" {
		t.Errorf("%+v", r)
	}
}

func TestGenAIBenchIsIdentifiedByItsExperiment(t *testing.T) {
	text, err := os.ReadFile("../enginelog/testdata/genai-bench.json")
	if err != nil {
		t.Fatal(err)
	}
	r := only(t, "genai-bench", written(t, "run.json", string(text),
		"experiment_metadata.json", `{"benchmark_version":"0.0.5","api_model_name":"m","server_engine":"vLLM","server_version":"0.24","experiment_folder_name":"e1","auth_config":{"api_key":"sk-1"}}`))
	wantLabels(t, r, map[string]string{"model": "m", "shape": "D(100,100)", "concurrency": "1"})
	wantFigures(t, r, map[figure]float64{{spec.TTFTSeconds, "p50"}: 0.03240828774869442, {spec.Requests, ""}: 32})
	if r.Key != "e1 run.json" || r.Engine != "vllm" || !r.EndedAt.Equal(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) || r.Values[0].Of != "" {
		t.Errorf("%+v", r)
	}
}

func TestVLLMMultiTurnIsSummedUpHere(t *testing.T) {
	r := only(t, "vllm-multi-turn", written(t, "stats.json", `[
 {"ttft_ms":100,"tpot_ms":20,"latency_ms":500,"start_time_ms":1000,"input_num_tokens":10,"output_num_tokens":21,"client_id":0,"conversation_id":"a"},
 {"ttft_ms":200,"tpot_ms":0,"latency_ms":1000,"start_time_ms":2000,"input_num_tokens":30,"output_num_tokens":9,"client_id":1,"conversation_id":"b"}]`))
	wantFigures(t, r, map[figure]float64{
		{spec.DurationSeconds, ""}: 2, {spec.RequestsPerSecond, ""}: 1, {spec.OutputTokensPerSecond, ""}: 15, {spec.InputTokensPerSecond, ""}: 20,
		{spec.TTFTSeconds, "p50"}: .15, {spec.TTFTSeconds, "max"}: .2, {spec.TPOTSeconds, "mean"}: .02, {spec.E2ESeconds, "mean"}: .75,
	})
	if r.Settings["clients"] != "2" || !r.StartedAt.Equal(r.EndedAt.Add(-2*time.Second)) {
		t.Errorf("%+v", r)
	}
}

const harnessJSON = `{"run_id":"20260213T101500Z","created_utc":"2026-02-13T10:31:02.123+00:00","run_valid":true,"invalid_reason":null,"model_id":"m","scenario":"rehydrate_replay",
 "kv_mode":{"mode":"cpu_disk","tier_mode":"B2","cpu_cache_gb":8.0,"disk_cache_gb":32.0},"variant_tags":["a","b"],
 "phase_windows":{"replay":{"start":"2026-02-13T10:20:00.000+00:00","end":"2026-02-13T10:21:00.000+00:00"},"populate":{"start":"2026-02-13T10:16:00.000+00:00"}},
 "overall_summary":{"duration_s":61.5,"ok_requests":24,"error_requests":0,"req_per_s":0.39,"output_tokens_per_s_est":51.2,"latency_ms":{"p50":2011.5,"mean":2100},"ttft_ms":{"p95":310.25},
  "rehydrate_replay_signal_kvbm":{"signal":"disk_rehydrate_detected"}}}`

func TestTheHarnesssVerdictIsNoEvidence(t *testing.T) {
	r := only(t, "spark-harness", written(t, "summary.json", harnessJSON))
	wantLabels(t, r, map[string]string{"model": "m", "kv_mode": "cpu_disk", "tier_mode": "B2", "workload": "rehydrate_replay"})
	wantFigures(t, r, map[figure]float64{
		{spec.RequestsPerSecond, ""}: .39, {spec.E2ESeconds, "p50"}: 2.0115, {spec.TTFTSeconds, "p95"}: .31025, {spec.Requests, ""}: 24,
	})
	if r.StartedAt.Minute() != 16 || !strings.Contains(strings.Join(r.Warnings, "\n"), "disk_rehydrate_detected: it counts blocks from host memory") {
		t.Errorf("%+v", r)
	}
	bad := only(t, "spark-harness", written(t, "summary.json", strings.Replace(harnessJSON, `"run_valid":true,"invalid_reason":null`, `"run_valid":false,"invalid_reason":"model_dropped"`, 1)))
	if bad.Stopped != "dgx-spark-harness calls it invalid: model_dropped" {
		t.Error(bad.Stopped)
	}
}
