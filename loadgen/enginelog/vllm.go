package enginelog

import "slices"

// vllm reads the logs of vLLM's engine, V0 and V1, and of `vllm bench throughput`, latency and serve (0.6 to 0.29).
//
// Memory is printed by vllm/v1/worker/gpu_worker.py, gpu_model_runner.py and v1/core/kv_cache_utils.py (V0:
// worker/worker.py, model_runner.py), in GiB; older lines say "GB" of the same division by 2^30: "Loading model weights
// took 8.5107 GB" is followed by "model weights take 8.51GiB". Lines such as
//
//	(EngineCore pid=1878) INFO 07-09 21:29:51 [gpu_worker.py:508] Available KV cache memory: 11.92 GiB
//	(EngineCore pid=1878) INFO 07-09 21:29:51 [kv_cache_utils.py:2146] GPU KV cache size: 223,152 tokens
//	Throughput: 2.76 requests/s, 1913.92 total tokens/s, 414.11 output tokens/s
//
// The engine reports no peak. The first line above is the memory available to the KV cache, of which the blocks take
// nearly all. With --num-gpu-blocks-override, which has its own line in the log, they take only the reduced number of
// blocks:
//
//	Overriding num_gpu_blocks=4096 with num_gpu_blocks_override=64
func vllm() Tool {
	return Tool{
		Name: "vllm", Help: "vLLM's engine and its bench throughput, latency and serve: weights, KV cache, the report",
		First: PhaseLoad, tiers: true,
		marks: []mark{
			{text: "init engine (profile, create kv cache, warmup model) took", to: PhaseReady},
			{text: "Application startup complete.", to: PhaseReady},
			{text: "Warming up...", whole: true, to: PhaseWarmup},
			{text: "Starting initial single prompt test run...", to: PhaseWarmup},
			{text: "Starting main benchmark run...", to: PhaseMeasure},
			{text: "Profiling iterations:", to: PhaseMeasure},
			{text: "Bench iterations:", to: PhaseMeasure},
			{text: "Adding requests:", from: PhaseReady, to: PhaseMeasure},
			{text: "Processed prompts:", from: PhaseReady, to: PhaseMeasure},
			{text: " Serving Benchmark Result ", to: PhaseStop},
			{text: "Avg latency:", from: PhaseMeasure, to: PhaseStop},
			{text: "Throughput: ", from: PhaseMeasure, to: PhaseStop},
		},
		reduced: &reduction{
			of:   KVBytes,
			from: figure{after: []string{"Overriding num_gpu_blocks="}, factor: one},
			to:   figure{after: []string{"Overriding num_gpu_blocks=", "num_gpu_blocks_override="}, factor: one},
		},
		versions: []string{"vLLM API server version", "LLM engine (v"},
		figures: slices.Concat([]figure{
			{of: WeightsBytes, after: []string{"Loading model weights took"}, unit: "G", factor: gib},
			{of: WeightsBytes, after: []string{"Model loading took"}, unit: "G", factor: gib},
			{of: WeightsBytes, after: []string{"model weights take"}, unit: "GiB", factor: gib},
			{of: NonTorchBytes, after: []string{"non_torch_memory takes"}, unit: "GiB", factor: gib},
			{of: ActivationBytes, after: []string{"PyTorch activation peak memory takes"}, unit: "GiB", factor: gib},
			{of: DeviceBytes, after: []string{"can use total_gpu_memory", "("}, unit: "GiB", factor: gib},
			{of: GraphBytes, after: []string{"Graph capturing finished in", "took"}, unit: "GiB", factor: gib},
			{of: KVBytes, after: []string{"the rest of the memory reserved for KV Cache is"}, unit: "GiB", factor: gib},
			{of: KVBytes, after: []string{"Available KV cache memory:"}, unit: "GiB", factor: gib},
			{of: KVBytes, after: []string{"Explicitly set ("}, unit: "/", factor: gib}, // on a CPU: (set/all)
			{of: KVBytes, after: []string{"Auto set ("}, unit: "/", factor: gib},
			{of: KVBytes, after: []string{"Initial free memory", "reserved"}, unit: "GiB memory for KV Cache", factor: gib}, // with --kv-cache-memory-bytes
			{of: KVTokens, after: []string{"KV cache size:"}, unit: "tokens", factor: one},
			{of: KVBlocks, after: []string{"# GPU blocks:"}, factor: one},
			{of: KVBlocks, after: []string{"# CUDA blocks:"}, factor: one},
			{of: KVBlocks, after: []string{"# cuda blocks:"}, factor: one},
			{of: KVHostBlocks, after: []string{"# CPU blocks:"}, factor: one},
			{of: TensorRanks, after: []string{"LLM engine (v", "tensor_parallel_size="}, factor: one},
			{of: PipelineRanks, after: []string{"LLM engine (v", "pipeline_parallel_size="}, factor: one},

			{of: RequestsPerSecond, after: []string{"Throughput:"}, unit: "requests/s,", factor: one},
			{of: TotalTokensPerSecond, after: []string{"Throughput:", "requests/s,"}, unit: "total tokens/s", factor: one},
			{of: OutputTokensPerSecond, after: []string{"Throughput:", "total tokens/s,"}, unit: "output tokens/s", factor: one},
			{of: InputTokens, after: []string{"Total num prompt tokens:"}, factor: one},
			{of: OutputTokens, after: []string{"Total num output tokens:"}, factor: one},
			{of: E2ESeconds, statistic: mean, after: []string{"Avg latency:"}, unit: "seconds", factor: one},
			{of: E2ESeconds, statistic: "p50", after: []string{"50% percentile latency:"}, unit: "seconds", factor: one},
			{of: E2ESeconds, statistic: "p90", after: []string{"90% percentile latency:"}, unit: "seconds", factor: one},
			{of: E2ESeconds, statistic: "p99", after: []string{"99% percentile latency:"}, unit: "seconds", factor: one},
		}, servingReport()),
	}
}
