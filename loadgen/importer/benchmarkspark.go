package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
)

// benchmarkSpark reads analysis/all_benchmark_results.json of brandonrc/benchmark-spark (@f465b5f), runs of
// trtllm-bench throughput by model and environment:
//
//	{"models":{"deepseek":{"native":[{"environment":"native","model_name":"deepseek","iteration":10,"timestamp":"20251109_042404",
//	  "start_temp_celsius":40,"end_temp_celsius":60,"exit_code":0,"throughput":0.9308,"output_throughput":119.1443,"latency":null,"peak_memory":70.05,"kv_cache":44.69}]}}}
//
// Its times, temperatures and exit code are those of scripts/run_comprehensive_benchmark.sh, the other figures those of
// the tool's log: throughput in requests and output_throughput in tokens per second. peak_memory and kv_cache are GiB.
// The first is the engine's peak while it profiled its memory, before it took its KV cache (VERSIONS.md there: torch
// and non-torch): with it, kv_cache is 0.9 of what is left of the machine's 119.71 GiB, in all of the published runs.
// latency is null there, and its unit is unknown.
//
// The timestamp identifies a run. The iteration is a label: it occurs several times in a cell.
func benchmarkSpark() Format {
	return Format{
		Name: "benchmark-spark", Help: "all_benchmark_results.json of benchmark-spark: runs of trtllm-bench by model and environment",
		read: readBenchmarkSpark,
	}
}

// sparkRun is a run in that file.
type sparkRun struct {
	Environment  string   `json:"environment"`
	ModelName    string   `json:"model_name"`
	ModelID      string   `json:"model_id"`
	Iteration    *int     `json:"iteration"`
	Timestamp    string   `json:"timestamp"`
	StartCelsius *float64 `json:"start_temp_celsius"`
	EndCelsius   *float64 `json:"end_temp_celsius"`
	ExitCode     *int     `json:"exit_code"`
	Requests     *float64 `json:"throughput"`
	Tokens       *float64 `json:"output_throughput"`
	PeakGiB      *float64 `json:"peak_memory"`
	KVGiB        *float64 `json:"kv_cache"`
}

const gib = 1 << 30

func readBenchmarkSpark(f *file) ([]Result, error) {
	var whole struct {
		Models map[string]map[string][]sparkRun `json:"models"`
	}
	if err := decode(f.text, &whole); err != nil {
		return nil, err
	}
	if len(whole.Models) == 0 {
		return nil, errors.New("it has no models")
	}
	var all []Result
	for _, model := range slices.Sorted(maps.Keys(whole.Models)) {
		for _, environment := range slices.Sorted(maps.Keys(whole.Models[model])) {
			for i, run := range whole.Models[model][environment] {
				if run.ModelName == "" {
					run.ModelName = model
				}
				if run.Environment == "" {
					run.Environment = environment
				}
				r, err := run.result()
				if err != nil {
					return nil, fmt.Errorf("models.%s.%s[%d]: %w", printable(model, longestLabel), printable(environment, longestLabel), i, err)
				}
				all = append(all, r)
			}
		}
	}
	return all, nil
}

// sparkTime is how its scripts write the time at which a run began.
const sparkTime = "20060102_150405"

func (run sparkRun) result() (Result, error) {
	started, err := time.Parse(sparkTime, run.Timestamp)
	if err != nil {
		return Result{}, fmt.Errorf("timestamp: %q is no time such as 20251109_042404", printable(run.Timestamp, longestLabel))
	}
	r := Result{
		Key: run.Timestamp, StartedAt: started, Program: "trtllm-bench", Model: printable(run.ModelID, longestLabel),
		Engine: "trtllm", ExitCode: run.ExitCode, StartCelsius: run.StartCelsius, EndCelsius: run.EndCelsius,
		Warnings: []string{
			zoneWarning,
			"memory occupied without KV cache is the engine's own peak while it profiled its memory, before it took the KV cache: it is no peak of occupied memory",
		},
	}
	r.label("arm", run.Environment)
	r.label("model", run.ModelName)
	if run.Iteration != nil {
		r.label("iteration", strconv.Itoa(*run.Iteration))
	}
	r.add(spec.RequestsPerSecond, "", run.Requests, 1)
	r.add(spec.OutputTokensPerSecond, "", run.Tokens, 1)
	r.add(spec.PeakBytes, "", run.PeakGiB, gib)
	r.add(spec.KVBytes, "", run.KVGiB, gib)
	r.Memory = engineReport(r.Values)
	return r, nil
}

// engineReport returns the figures that are the engine's report on its memory; nil if there are none.
func engineReport(values []spec.Reported) *rundir.EngineReport {
	var e rundir.EngineReport
	for _, v := range values {
		into := map[spec.Quantity]**float64{
			spec.PeakBytes: &e.Peak, spec.NonTorchBytes: &e.NonTorch, spec.KVBytes: &e.KV, spec.KVTokens: &e.KVTokens,
		}[v.Name]
		if into != nil && v.Statistic == "" {
			*into = &v.Value
		}
	}
	if e == (rundir.EngineReport{}) {
		return nil
	}
	return &e
}
