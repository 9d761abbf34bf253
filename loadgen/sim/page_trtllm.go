package sim

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// tensorRTLLMPage returns TensorRT-LLM's /prometheus/metrics, with return_perf_metrics and enable_iter_perf_stats. Hits
// are counted in blocks.
func (e *Engine) tensorRTLLMPage() page {
	labels := prometheus.Labels{metric.ForeignLabelModelName: e.config.Model, metric.ForeignLabelEngineType: "trtllm"}
	gauges := seriesOf(prometheus.GaugeValue, labels,
		shown{metric.ForeignTensorRTLLMMaxBlocks, "Most KV cache blocks.", func(r *reading) float64 { return float64(r.tiers.Device) }},
		shown{metric.ForeignTensorRTLLMUsedBlocks, "KV cache blocks in use.", func(r *reading) float64 { return float64(r.held) }},
		shown{metric.ForeignTensorRTLLMFreeBlocks, "KV cache blocks not in use.", func(r *reading) float64 { return float64(r.tiers.Device - r.held) }},
		shown{metric.ForeignTensorRTLLMTokensPerBlock, "Tokens of a KV cache block.", func(r *reading) float64 { return float64(r.perBlock) }},
		shown{metric.ForeignTensorRTLLMKVUsage, "Share of KV cache blocks in use.", (*reading).usage},
		shown{metric.ForeignTensorRTLLMHostUsage, "Share of the host tier in use.", func(r *reading) float64 { return ratio(int64(r.hostBlocks), int64(r.tiers.Host)) }},
		shown{metric.ForeignTensorRTLLMHitRate, "Share of blocks that were reused.", (*reading).blockHitRate},
		shown{metric.ForeignTensorRTLLMRunning, "Requests running.", func(r *reading) float64 { return float64(r.running) }},
		shown{metric.ForeignTensorRTLLMWaiting, "Requests waiting.", func(r *reading) float64 { return float64(r.waiting) }},
		shown{metric.ForeignTensorRTLLMPaused, "Requests paused.", func(*reading) float64 { return 0 }},
		shown{metric.ForeignTensorRTLLMGPUMemory, "GPU memory in use.", (*reading).deviceBytes},
	)
	counters := seriesOf(prometheus.CounterValue, labels,
		shown{metric.ForeignTensorRTLLMReusedBlocks, "KV cache blocks reused.", func(r *reading) float64 { return float64(r.reusedBlocks) }},
		shown{metric.ForeignTensorRTLLMMissedBlocks, "KV cache blocks missed.", func(r *reading) float64 { return float64(r.missedBlocks) }},
		shown{metric.ForeignTensorRTLLMCachedTokens, "Prompt tokens found in the cache.", func(r *reading) float64 { return float64(r.queried() - r.computedTokens) }},
		shown{metric.ForeignTensorRTLLMPromptTokens, "Prompt tokens.", func(r *reading) float64 { return float64(r.promptTokens) }},
		shown{metric.ForeignTensorRTLLMGenerationTokens, "Tokens generated.", func(r *reading) float64 { return float64(r.generatedTokens) }},
		shown{metric.ForeignTensorRTLLMOffloadBytes, "Bytes of blocks copied from the device.", (*reading).offloaded},
		shown{metric.ForeignTensorRTLLMOnboardBytes, "Bytes of blocks copied to the device.", (*reading).onboarded},
	)
	all := append(gauges, counters...)
	all = append(all, e.ended(metric.ForeignTensorRTLLMSuccess, labels, []finishReason{finishStop, finishLength})...)
	return e.newPage(all, []spread{
		{metric.ForeignTensorRTLLMFirstToken, "Time to the first token.", labels, (*reading).firstTokens},
		{metric.ForeignTensorRTLLMPerToken, "Time per output token.", labels, (*reading).perTokens},
		{metric.ForeignTensorRTLLMDuration, "From the arrival of a request to its end.", labels, (*reading).durations},
		{metric.ForeignTensorRTLLMQueue, "Time in the queue.", labels, (*reading).queues},
	})
}

func (r *reading) blockHitRate() float64 {
	return ratio(r.reusedBlocks, r.reusedBlocks+r.missedBlocks)
}
