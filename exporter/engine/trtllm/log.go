package trtllm

import (
	"github.com/umascope/umascope/exporter/engine/spec"
)

// log reads the logs of trtllm-bench and trtllm-serve (TensorRT-LLM 0.15 to 1.3).
//
// The phases are those of trtllm-bench throughput and latency (tensorrt_llm/bench/benchmark). It sends its warm-up by
// the same function as the rest, so that "Starting benchmarking async task." and "Benchmark complete." are in the log
// of either.
//
// Memory is printed by tensorrt_llm/_torch/pyexecutor/_util.py and model_loader.py, where GB = 1 << 30, also for "Use
// 63.32 GB for model weights.", and by cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp. The KV cache is made twice,
// small for the profiling and then in full: the last line counts. Lines such as
//
//	[12/20/2025-04:21:51] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 113.65 GiB, available KV cache memory when calculating max tokens: 5.95 GiB, fraction is set 0.8999999761581421, kv size is 73728. device total memory 119.70 GiB, , tmp kv_mem 0.56 GiB
//	[TensorRT-LLM][INFO] [MemUsageChange] Allocated 5.95 GiB for max tokens in paged KV cache (86720).
//
// The format of the report is that of tensorrt_llm/bench/dataclasses/reporting.py (older: statistics of throughput.py),
// in milliseconds and tokens, such as
//
//	Total Output Throughput (tokens/sec):             11076.7700
//	[TTFT] P99    : 232.4339
func log() *spec.Log {
	l := &spec.Log{
		Source: "tensorrt_llm/bench, _torch/pyexecutor/_util.py; 0.15 to 1.3",
		Help:   "trtllm-bench and trtllm-serve: memory of the engine, KV cache, the report",
		First:  spec.PhaseLoad,
		Marks: []spec.Mark{
			{Text: "Setting up for warmup...", To: spec.PhaseWarmup},
			{Text: "Running warmup", To: spec.PhaseWarmup},
			{Text: "Warmup done.", To: spec.PhaseMeasure},
			{Text: "Starting benchmarking async task.", From: spec.PhaseLoad, To: spec.PhaseMeasure},
			{Text: "Benchmark started.", From: spec.PhaseLoad, To: spec.PhaseMeasure}, // before 0.17
			{Text: "Application startup complete.", From: spec.PhaseLoad, To: spec.PhaseReady},
			{Text: "Benchmark complete.", From: spec.PhaseMeasure, To: spec.PhaseStop},
			{Text: "Benchmark done. Reporting results...", From: spec.PhaseMeasure, To: spec.PhaseStop},
			{Text: "= PERFORMANCE OVERVIEW", To: spec.PhaseStop},
		},
		Versions: []string{"TensorRT-LLM version:", "TensorRT-LLM Version:", "TensorRT LLM version:", "TensorRT LLM Version:"},
		Figures: []spec.Figure{
			{Of: spec.PeakBytes, After: []string{"Peak memory during memory usage profiling (torch + non-torch):"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.DeviceBytes, After: []string{"device total memory"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.TorchBytes, After: []string{"Memory used after loading model weights (inside torch) in memory usage profiling:"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.NonTorchBytes, After: []string{"Memory used outside torch (e.g., NCCL and CUDA graphs) in memory usage profiling:"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.ActivationBytes, After: []string{"Memory dynamically allocated during inference (inside torch) in memory usage profiling:"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.WeightsBytes, After: []string{"[I] Use"}, Unit: "GB for model weights", Factor: spec.GiB},
			{Of: spec.KVBytes, After: []string{"[MemUsageChange] Allocated"}, Unit: "GiB for max tokens in paged KV cache", Factor: spec.GiB},
			{Of: spec.KVTokens, After: []string{"for max tokens in paged KV cache", "("}, Unit: ")", Factor: spec.One},
			{Of: spec.KVBlockTokens, After: []string{"Number of tokens per block:"}, Factor: spec.One},
			{Of: spec.KVBlocks, After: []string{"Number of blocks in KV cache primary pool:"}, Factor: spec.One},
			{Of: spec.KVHostBlocks, After: []string{"Number of blocks in KV cache secondary pool:"}, Factor: spec.One},
			{Of: spec.KVBlocks, After: []string{"Max KV cache blocks per sequence:", "primary blocks="}, Factor: spec.One},
			{Of: spec.KVHostBlocks, After: []string{"Max KV cache blocks per sequence:", "secondary blocks="}, Factor: spec.One},

			{Of: spec.TensorRanks, After: []string{"TP Size:"}, Factor: spec.One},
			{Of: spec.PipelineRanks, After: []string{"PP Size:"}, Factor: spec.One},
			{Of: spec.Requests, After: []string{"Number of requests:"}, Factor: spec.One},
			{Of: spec.Concurrency, After: []string{"Number of concurrent requests:"}, Factor: spec.One},
			{Of: spec.InputTokensEach, Statistic: spec.Mean, After: []string{"Average Input Length (tokens):"}, Factor: spec.One},
			{Of: spec.OutputTokensEach, Statistic: spec.Mean, After: []string{"Average Output Length (tokens):"}, Factor: spec.One},
			{Of: spec.RequestsPerSecond, After: []string{"Request Throughput (req/sec):"}, Factor: spec.One},
			{Of: spec.OutputTokensPerSecond, After: []string{"Total Output Throughput (tokens/sec):"}, Factor: spec.One},
			{Of: spec.OutputTokensPerSecond, After: []string{"Token Throughput (tokens/sec):"}, Leads: true, Factor: spec.One}, // before 0.18
			{Of: spec.TotalTokensPerSecond, After: []string{"Total Token Throughput (tokens/sec):"}, Factor: spec.One},
			{Of: spec.UserTokensPerSecond, Statistic: spec.Mean, After: []string{"Per User Output Throughput [w/ ctx] (tps/user):"}, Factor: spec.One},
			{Of: spec.UserTokensPerSecond, Statistic: spec.Mean, After: []string{"Per User Output Throughput (tokens/sec/user):"}, Factor: spec.One},
			{Of: spec.GPUTokensPerSecond, After: []string{"Per GPU Output Throughput (tps/gpu):"}, Factor: spec.One},
			{Of: spec.GPUTokensPerSecond, After: []string{"Per GPU Output Throughput (tokens/sec/gpu):"}, Factor: spec.One},
			{Of: spec.DurationSeconds, After: []string{"Total Latency (ms):"}, Factor: spec.Milliseconds},
			{Of: spec.E2ESeconds, Statistic: spec.Mean, After: []string{"Average request latency (ms):"}, Factor: spec.Milliseconds},
			{Of: spec.TTFTSeconds, Statistic: spec.Mean, After: []string{"Average time-to-first-token [TTFT] (ms):"}, Factor: spec.Milliseconds},
			{Of: spec.TPOTSeconds, Statistic: spec.Mean, After: []string{"Average time-per-output-token [TPOT] (ms):"}, Factor: spec.Milliseconds},
		},
	}
	for _, row := range []struct {
		of    spec.Quantity
		label string
	}{{spec.TTFTSeconds, "[TTFT] "}, {spec.TPOTSeconds, "[TPOT] "}, {spec.E2ESeconds, "[Latency] "}} {
		for _, s := range []struct{ label, statistic string }{
			{"MINIMUM", "min"}, {"MAXIMUM", "max"}, {"AVERAGE", spec.Mean}, {"P50", "p50"}, {"P90", "p90"}, {"P95", "p95"}, {"P99", "p99"},
		} {
			l.Figures = append(l.Figures, spec.Figure{Of: row.of, Statistic: s.statistic, After: []string{row.label + s.label, ":"}, Factor: spec.Milliseconds})
		}
	}
	return l
}
