package enginelog

// trtllm reads the logs of trtllm-bench and trtllm-serve (TensorRT-LLM 0.15 to 1.3).
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
func trtllm() Tool {
	t := Tool{
		Name: "trtllm", Help: "trtllm-bench and trtllm-serve: memory of the engine, KV cache, the report",
		First: PhaseLoad, tiers: true,
		marks: []mark{
			{text: "Setting up for warmup...", to: PhaseWarmup},
			{text: "Running warmup", to: PhaseWarmup},
			{text: "Warmup done.", to: PhaseMeasure},
			{text: "Starting benchmarking async task.", from: PhaseLoad, to: PhaseMeasure},
			{text: "Benchmark started.", from: PhaseLoad, to: PhaseMeasure}, // before 0.17
			{text: "Application startup complete.", from: PhaseLoad, to: PhaseReady},
			{text: "Benchmark complete.", from: PhaseMeasure, to: PhaseStop},
			{text: "Benchmark done. Reporting results...", from: PhaseMeasure, to: PhaseStop},
			{text: "= PERFORMANCE OVERVIEW", to: PhaseStop},
		},
		versions: []string{"TensorRT-LLM version:", "TensorRT-LLM Version:", "TensorRT LLM version:", "TensorRT LLM Version:"},
		figures: []figure{
			{of: PeakBytes, after: []string{"Peak memory during memory usage profiling (torch + non-torch):"}, unit: "GiB", factor: gib},
			{of: DeviceBytes, after: []string{"device total memory"}, unit: "GiB", factor: gib},
			{of: TorchBytes, after: []string{"Memory used after loading model weights (inside torch) in memory usage profiling:"}, unit: "GiB", factor: gib},
			{of: NonTorchBytes, after: []string{"Memory used outside torch (e.g., NCCL and CUDA graphs) in memory usage profiling:"}, unit: "GiB", factor: gib},
			{of: ActivationBytes, after: []string{"Memory dynamically allocated during inference (inside torch) in memory usage profiling:"}, unit: "GiB", factor: gib},
			{of: WeightsBytes, after: []string{"[I] Use"}, unit: "GB for model weights", factor: gib},
			{of: KVBytes, after: []string{"[MemUsageChange] Allocated"}, unit: "GiB for max tokens in paged KV cache", factor: gib},
			{of: KVTokens, after: []string{"for max tokens in paged KV cache", "("}, unit: ")", factor: one},
			{of: KVBlockTokens, after: []string{"Number of tokens per block:"}, factor: one},
			{of: KVBlocks, after: []string{"Number of blocks in KV cache primary pool:"}, factor: one},
			{of: KVHostBlocks, after: []string{"Number of blocks in KV cache secondary pool:"}, factor: one},
			{of: KVBlocks, after: []string{"Max KV cache blocks per sequence:", "primary blocks="}, factor: one},
			{of: KVHostBlocks, after: []string{"Max KV cache blocks per sequence:", "secondary blocks="}, factor: one},

			{of: TensorRanks, after: []string{"TP Size:"}, factor: one},
			{of: PipelineRanks, after: []string{"PP Size:"}, factor: one},
			{of: Requests, after: []string{"Number of requests:"}, factor: one},
			{of: Concurrency, after: []string{"Number of concurrent requests:"}, factor: one},
			{of: InputTokensEach, statistic: mean, after: []string{"Average Input Length (tokens):"}, factor: one},
			{of: OutputTokensEach, statistic: mean, after: []string{"Average Output Length (tokens):"}, factor: one},
			{of: RequestsPerSecond, after: []string{"Request Throughput (req/sec):"}, factor: one},
			{of: OutputTokensPerSecond, after: []string{"Total Output Throughput (tokens/sec):"}, factor: one},
			{of: OutputTokensPerSecond, after: []string{"Token Throughput (tokens/sec):"}, leads: true, factor: one}, // before 0.18
			{of: TotalTokensPerSecond, after: []string{"Total Token Throughput (tokens/sec):"}, factor: one},
			{of: UserTokensPerSecond, statistic: mean, after: []string{"Per User Output Throughput [w/ ctx] (tps/user):"}, factor: one},
			{of: UserTokensPerSecond, statistic: mean, after: []string{"Per User Output Throughput (tokens/sec/user):"}, factor: one},
			{of: GPUTokensPerSecond, after: []string{"Per GPU Output Throughput (tps/gpu):"}, factor: one},
			{of: GPUTokensPerSecond, after: []string{"Per GPU Output Throughput (tokens/sec/gpu):"}, factor: one},
			{of: DurationSeconds, after: []string{"Total Latency (ms):"}, factor: milliseconds},
			{of: E2ESeconds, statistic: mean, after: []string{"Average request latency (ms):"}, factor: milliseconds},
			{of: TTFTSeconds, statistic: mean, after: []string{"Average time-to-first-token [TTFT] (ms):"}, factor: milliseconds},
			{of: TPOTSeconds, statistic: mean, after: []string{"Average time-per-output-token [TPOT] (ms):"}, factor: milliseconds},
		},
	}
	for _, row := range []struct {
		of    Name
		label string
	}{{TTFTSeconds, "[TTFT] "}, {TPOTSeconds, "[TPOT] "}, {E2ESeconds, "[Latency] "}} {
		for _, s := range []struct{ label, statistic string }{
			{"MINIMUM", "min"}, {"MAXIMUM", "max"}, {"AVERAGE", mean}, {"P50", "p50"}, {"P90", "p90"}, {"P95", "p95"}, {"P99", "p99"},
		} {
			t.figures = append(t.figures, figure{of: row.of, statistic: s.statistic, after: []string{row.label + s.label, ":"}, factor: milliseconds})
		}
	}
	return t
}

// mean is the name of the statistic.
const mean = "mean"
