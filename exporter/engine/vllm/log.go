package vllm

import (
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// log reads the logs of vLLM's engine, V0 and V1, and of `vllm bench throughput`, latency and serve (0.6 to 0.29).
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
func log() *spec.Log {
	return &spec.Log{
		Source: "vllm/v1/worker/gpu_worker.py, gpu_model_runner.py, v1/core/kv_cache_utils.py; 0.6 to 0.29",
		Help:   "vLLM's engine and its bench throughput, latency and serve: weights, KV cache, the report",
		First:  spec.PhaseLoad,
		Marks: []spec.Mark{
			{Text: "init engine (profile, create kv cache, warmup model) took", To: spec.PhaseReady},
			{Text: "Application startup complete.", To: spec.PhaseReady},
			{Text: "Warming up...", Whole: true, To: spec.PhaseWarmup},
			{Text: "Starting initial single prompt test run...", To: spec.PhaseWarmup},
			{Text: "Starting main benchmark run...", To: spec.PhaseMeasure},
			{Text: "Profiling iterations:", To: spec.PhaseMeasure},
			{Text: "Bench iterations:", To: spec.PhaseMeasure},
			{Text: "Adding requests:", From: spec.PhaseReady, To: spec.PhaseMeasure},
			{Text: "Processed prompts:", From: spec.PhaseReady, To: spec.PhaseMeasure},
			{Text: " Serving Benchmark Result ", To: spec.PhaseStop},
			{Text: "Avg latency:", From: spec.PhaseMeasure, To: spec.PhaseStop},
			{Text: "Throughput: ", From: spec.PhaseMeasure, To: spec.PhaseStop},
		},
		Reduced: &spec.Reduction{
			Of:   spec.KVBytes,
			From: spec.Figure{After: []string{"Overriding num_gpu_blocks="}, Factor: spec.One},
			To:   spec.Figure{After: []string{"Overriding num_gpu_blocks=", "num_gpu_blocks_override="}, Factor: spec.One},
		},
		Versions: []string{"vLLM API server version", "LLM engine (v"},
		Figures: slices.Concat([]spec.Figure{
			{Of: spec.WeightsBytes, After: []string{"Loading model weights took"}, Unit: "G", Factor: spec.GiB},
			{Of: spec.WeightsBytes, After: []string{"Model loading took"}, Unit: "G", Factor: spec.GiB},
			{Of: spec.WeightsBytes, After: []string{"model weights take"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.NonTorchBytes, After: []string{"non_torch_memory takes"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.ActivationBytes, After: []string{"PyTorch activation peak memory takes"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.DeviceBytes, After: []string{"can use total_gpu_memory", "("}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.GraphBytes, After: []string{"Graph capturing finished in", "took"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.KVBytes, After: []string{"the rest of the memory reserved for KV Cache is"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.KVBytes, After: []string{"Available KV cache memory:"}, Unit: "GiB", Factor: spec.GiB},
			{Of: spec.KVBytes, After: []string{"Explicitly set ("}, Unit: "/", Factor: spec.GiB}, // on a CPU: (set/all)
			{Of: spec.KVBytes, After: []string{"Auto set ("}, Unit: "/", Factor: spec.GiB},
			{Of: spec.KVBytes, After: []string{"Initial free memory", "reserved"}, Unit: "GiB memory for KV Cache", Factor: spec.GiB}, // with --kv-cache-memory-bytes
			{Of: spec.KVTokens, After: []string{"KV cache size:"}, Unit: "tokens", Factor: spec.One},
			{Of: spec.KVBlocks, After: []string{"# GPU blocks:"}, Factor: spec.One},
			{Of: spec.KVBlocks, After: []string{"# CUDA blocks:"}, Factor: spec.One},
			{Of: spec.KVBlocks, After: []string{"# cuda blocks:"}, Factor: spec.One},
			{Of: spec.KVHostBlocks, After: []string{"# CPU blocks:"}, Factor: spec.One},
			{Of: spec.TensorRanks, After: []string{"LLM engine (v", "tensor_parallel_size="}, Factor: spec.One},
			{Of: spec.PipelineRanks, After: []string{"LLM engine (v", "pipeline_parallel_size="}, Factor: spec.One},

			{Of: spec.RequestsPerSecond, After: []string{"Throughput:"}, Unit: "requests/s,", Factor: spec.One},
			{Of: spec.TotalTokensPerSecond, After: []string{"Throughput:", "requests/s,"}, Unit: "total tokens/s", Factor: spec.One},
			{Of: spec.OutputTokensPerSecond, After: []string{"Throughput:", "total tokens/s,"}, Unit: "output tokens/s", Factor: spec.One},
			{Of: spec.InputTokens, After: []string{"Total num prompt tokens:"}, Factor: spec.One},
			{Of: spec.OutputTokens, After: []string{"Total num output tokens:"}, Factor: spec.One},
			{Of: spec.E2ESeconds, Statistic: spec.Mean, After: []string{"Avg latency:"}, Unit: "seconds", Factor: spec.One},
			{Of: spec.E2ESeconds, Statistic: "p50", After: []string{"50% percentile latency:"}, Unit: "seconds", Factor: spec.One},
			{Of: spec.E2ESeconds, Statistic: "p90", After: []string{"90% percentile latency:"}, Unit: "seconds", Factor: spec.One},
			{Of: spec.E2ESeconds, Statistic: "p99", After: []string{"99% percentile latency:"}, Unit: "seconds", Factor: spec.One},
		}, spec.ServingReport()),
	}
}

// tiers reads a line of the engine's own offloading (0.26):
//
//	Created mmap file /dev/shm/vllm_offload_264d4074.mmap (2.15 GB)
//	Created secondary tier #0 (fs)
func tiers(t *spec.Tiers, line string) {
	switch {
	case strings.Contains(line, "Created mmap file /dev/shm/vllm_offload_"):
		if _, size, found := strings.Cut(line, ".mmap ("); found && strings.Contains(size, " GB)") {
			t.HostBytes = min(spec.Leading(size)*1e9, spec.Largest)
		}
	case strings.Contains(line, "Created secondary tier #") && strings.Contains(line, "(fs)"):
		t.Files = true
	}
}
