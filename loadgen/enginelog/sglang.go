package enginelog

import "slices"

// sglang reads the logs of SGLang's server and of its bench_serving, bench_offline_throughput and bench_one_batch (0.4
// to 0.5.23).
//
// Memory is printed by python/sglang/srt/model_executor/model_runner.py and mem_cache/memory_pool.py as "GB" of 2^30
// bytes: 171,008 tokens of 64 KiB are the "10.44 GB" of its line. A draft model has its own pool, which is added. Lines
// such as
//
//	[2025-03-25 16:37:06 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.48 GB, mem usage=15.11 GB.
//	[2025-03-25 16:37:06 TP0] KV Cache is allocated. #tokens: 442750, K size: 27.02 GB, V size: 27.02 GB
//
// Releases of late 2026 print their settings as server_args={'tp_size': 1, ...} instead of ServerArgs(...). If
// SGLANG_ENABLE_POST_CAPTURE_KV_SIZING is set, the target's pool is sized after the graphs: its line before them is an
// upper bound ("KV Cache VA upper bound"), and the size is in "Post-capture KV sizing: KV cache allocated."; a draft
// model's pool has its line as ever, and is added.
//
// The memory of weights is computed from the fall of free memory, which any process can change on a machine with one
// pool.
func sglang() Tool {
	return Tool{
		Name: "sglang", Help: "SGLang's server and its benchmarks: weights, KV cache, the report",
		First: PhaseLoad,
		marks: []mark{
			{text: "The server is fired up and ready to roll!", to: PhaseReady},
			{text: "Starting warmup with", to: PhaseWarmup},
			{text: "Starting initial single prompt test run...", to: PhaseWarmup},
			{text: "Warmup...", whole: true, to: PhaseWarmup},
			{text: "Warmup ...", whole: true, to: PhaseWarmup},
			{text: "Starting main benchmark run...", to: PhaseMeasure},
			{text: "Benchmark...", whole: true, to: PhaseMeasure},
			{text: "Benchmark ...", whole: true, to: PhaseMeasure},
			{text: " Serving Benchmark Result ", to: PhaseStop},
			{text: " Offline Throughput Benchmark Result ", to: PhaseStop},
		},
		restarts: []string{"server_args=ServerArgs(", "server_args={"},
		figures: slices.Concat([]figure{
			{of: FreeBytes, after: []string{"Load weight end.", "avail mem="}, unit: "GB", factor: gib},
			{of: WeightsBytes, after: []string{"Load weight end.", "mem usage="}, unit: "GB", factor: gib, sum: true},
			{of: KVBytes, after: []string{"KV Cache is allocated.", ", K size:"}, unit: "GB", factor: gib, sum: true},
			{of: KVBytes, after: []string{"KV Cache is allocated.", ", V size:"}, unit: "GB", factor: gib, sum: true},
			{of: KVBytes, after: []string{"KV Cache is allocated.", ", KV size:"}, unit: "GB", factor: gib, sum: true}, // of latent attention, in one
			{of: KVBytes, after: []string{"KV cache allocated.", ", K size:"}, unit: "GB", factor: gib, sum: true},
			{of: KVBytes, after: []string{"KV cache allocated.", ", V size:"}, unit: "GB", factor: gib, sum: true},
			{of: KVBytes, after: []string{"KV cache allocated.", ", KV size:"}, unit: "GB", factor: gib, sum: true},
			{of: KVTokens, after: []string{"max_total_num_tokens="}, unit: ",", factor: one},
			{of: GraphBytes, after: []string{"Capture cuda graph end.", "mem usage="}, unit: "GB", factor: gib, sum: true},
			{of: GraphBytes, after: []string{"CUDA graph end.", "mem usage="}, unit: "GB", factor: gib, sum: true},
			{of: TensorRanks, after: []string{"server_args=ServerArgs(", "tp_size="}, factor: one},
			{of: PipelineRanks, after: []string{"server_args=ServerArgs(", "pp_size="}, factor: one},
			{of: TensorRanks, after: []string{"server_args={", "'tp_size':"}, factor: one},
			{of: PipelineRanks, after: []string{"server_args={", "'pp_size':"}, factor: one},
		}, servingReport()),
	}
}
