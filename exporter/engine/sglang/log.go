package sglang

import (
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// log reads the logs of SGLang's server and of its bench_serving, bench_offline_throughput and bench_one_batch (0.4
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
func log() *spec.Log {
	return &spec.Log{
		Source: "srt/model_executor/model_runner.py, mem_cache/memory_pool.py; 0.4 to 0.5.23",
		Help:   "SGLang's server and its benchmarks: weights, KV cache, the report",
		First:  spec.PhaseLoad,
		Marks: []spec.Mark{
			{Text: "The server is fired up and ready to roll!", To: spec.PhaseReady},
			{Text: "Starting warmup with", To: spec.PhaseWarmup},
			{Text: "Starting initial single prompt test run...", To: spec.PhaseWarmup},
			{Text: "Warmup...", Whole: true, To: spec.PhaseWarmup},
			{Text: "Warmup ...", Whole: true, To: spec.PhaseWarmup},
			{Text: "Starting main benchmark run...", To: spec.PhaseMeasure},
			{Text: "Benchmark...", Whole: true, To: spec.PhaseMeasure},
			{Text: "Benchmark ...", Whole: true, To: spec.PhaseMeasure},
			{Text: " Serving Benchmark Result ", To: spec.PhaseStop},
			{Text: " Offline Throughput Benchmark Result ", To: spec.PhaseStop},
		},
		Restarts: []string{"server_args=ServerArgs(", "server_args={"},
		Figures: slices.Concat([]spec.Figure{
			{Of: spec.FreeBytes, After: []string{"Load weight end.", "avail mem="}, Unit: "GB", Factor: spec.GiB},
			{Of: spec.WeightsBytes, After: []string{"Load weight end.", "mem usage="}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.KVBytes, After: []string{"KV Cache is allocated.", ", K size:"}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.KVBytes, After: []string{"KV Cache is allocated.", ", V size:"}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.KVBytes, After: []string{"KV Cache is allocated.", ", KV size:"}, Unit: "GB", Factor: spec.GiB, Sum: true}, // of latent attention, in one
			{Of: spec.KVBytes, After: []string{"KV cache allocated.", ", K size:"}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.KVBytes, After: []string{"KV cache allocated.", ", V size:"}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.KVBytes, After: []string{"KV cache allocated.", ", KV size:"}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.KVTokens, After: []string{"max_total_num_tokens="}, Unit: ",", Factor: spec.One},
			{Of: spec.GraphBytes, After: []string{"Capture cuda graph end.", "mem usage="}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.GraphBytes, After: []string{"CUDA graph end.", "mem usage="}, Unit: "GB", Factor: spec.GiB, Sum: true},
			{Of: spec.TensorRanks, After: []string{"server_args=ServerArgs(", "tp_size="}, Factor: spec.One},
			{Of: spec.PipelineRanks, After: []string{"server_args=ServerArgs(", "pp_size="}, Factor: spec.One},
			{Of: spec.TensorRanks, After: []string{"server_args={", "'tp_size':"}, Factor: spec.One},
			{Of: spec.PipelineRanks, After: []string{"server_args={", "'pp_size':"}, Factor: spec.One},
		}, spec.ServingReport()),
	}
}
