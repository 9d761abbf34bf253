package sim

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// engineNumber is the number of the only replica.
const engineNumber = "0"

// vllmPage returns vLLM's /metrics. Hits are counted in tokens; external are those of a KV connector.
func (e *Engine) vllmPage() page {
	labels := prometheus.Labels{metric.ForeignLabelModelName: e.config.Model, metric.ForeignVLLMLabelEngine: engineNumber}
	gauges := seriesOf(prometheus.GaugeValue, labels,
		defined(metric.VLLMNumRequestsRunning, func(r *reading) float64 { return float64(r.running) }),
		defined(metric.VLLMNumRequestsWaiting, func(r *reading) float64 { return float64(r.waiting) }),
		defined(metric.VLLMKVCacheUsagePerc, (*reading).usage),
	)
	counters := seriesOf(prometheus.CounterValue, labels,
		defined(metric.VLLMPromptTokensTotal, func(r *reading) float64 { return float64(r.promptTokens) }),
		defined(metric.VLLMGenerationTokensTotal, func(r *reading) float64 { return float64(r.generatedTokens) }),
		shown{metric.ForeignVLLMPrefixQueries, "Prompt tokens looked up in the prefix cache.", func(r *reading) float64 { return float64(r.queried()) }},
		shown{metric.ForeignVLLMPrefixHits, "Prompt tokens found in the prefix cache.", func(r *reading) float64 { return float64(r.deviceTokens) }},
		shown{metric.ForeignVLLMExternalQueries, "Prompt tokens looked up through the KV connector.", func(r *reading) float64 { return float64(r.queried() - r.deviceTokens) }},
		shown{metric.ForeignVLLMExternalHits, "Prompt tokens found through the KV connector.", func(r *reading) float64 { return float64(r.hostTokens + r.diskTokens) }},
		shown{metric.ForeignVLLMPreemptions, "Requests that lost their place.", func(r *reading) float64 { return float64(r.preemptions) }},
	)
	all := append(gauges, counters...)
	for _, source := range []shown{
		{metric.ForeignVLLMSourceCompute, "", func(r *reading) float64 { return float64(r.computedTokens) }},
		{metric.ForeignVLLMSourceLocalHit, "", func(r *reading) float64 { return float64(r.deviceTokens) }},
		{metric.ForeignVLLMSourceExternal, "", func(r *reading) float64 { return float64(r.hostTokens + r.diskTokens) }},
	} {
		all = append(all, series{metric.ForeignVLLMPromptTokensBy, "Prompt tokens by where they are from.", prometheus.CounterValue,
			with(labels, metric.ForeignVLLMLabelTokenSource, source.name), source.read})
	}
	all = append(all, e.vllmTiers(labels)...)
	all = append(all, e.ended(metric.VLLMRequestSuccessTotal.Def().Name, labels, finishReasons())...)
	all = append(all, e.vllmCacheConfig())
	return e.newPage(all, []spread{
		{metric.VLLMTimeToFirstTokenSeconds.Def().Name, metric.VLLMTimeToFirstTokenSeconds.Def().Help, labels, (*reading).firstTokens},
		{metric.VLLMRequestQueueTimeSeconds.Def().Name, metric.VLLMRequestQueueTimeSeconds.Def().Help, labels, (*reading).queues},
		{metric.VLLMRequestTimePerOutputTokenSeconds.Def().Name, metric.VLLMRequestTimePerOutputTokenSeconds.Def().Help, labels, (*reading).perTokens},
		{metric.VLLME2ERequestLatencySeconds.Def().Name, metric.VLLME2ERequestLatencySeconds.Def().Help, labels, (*reading).durations},
	})
}

// vllmTiers returns the tokens found in each tier, as vLLM counts them since 0.32.
func (e *Engine) vllmTiers(labels prometheus.Labels) []series {
	if !e.config.KV.CountTiers {
		return nil
	}
	var all []series
	for _, tier := range []shown{
		{metric.TierDevice, "", func(r *reading) float64 { return float64(r.deviceTokens) }},
		{metric.TierHost, "", func(r *reading) float64 { return float64(r.hostTokens) }},
		{metric.TierDisk, "", func(r *reading) float64 { return float64(r.diskTokens) }},
	} {
		all = append(all, series{metric.ForeignVLLMCachedBySource, "Prompt tokens found in a cache, by tier.", prometheus.CounterValue,
			with(labels, metric.ForeignVLLMLabelTokenSource, tier.name), tier.read})
	}
	return all
}

// vllmCacheConfig has its values in its labels. The number of blocks is final when the engine has started: until then
// it is the configured number.
func (e *Engine) vllmCacheConfig() series {
	blocks := e.blocksNow()
	labels := prometheus.Labels{
		metric.ForeignVLLMLabelEngine:    engineNumber,
		metric.ForeignVLLMLabelBlockSize: strconv.Itoa(e.config.KV.TokensPerBlock),
		metric.ForeignVLLMLabelBlocks:    strconv.Itoa(blocks),
	}
	if e.config.KV.ReportBytes {
		labels[metric.ForeignVLLMLabelBytes] = strconv.FormatInt(int64(blocks)*e.config.KV.BlockBytes(), 10)
	}
	return series{
		name: metric.ForeignVLLMCacheConfigInfo, help: "Configuration of the KV cache, in the labels.", kind: prometheus.GaugeValue,
		labels: labels, read: func(*reading) float64 { return 1 },
	}
}

// blocksNow returns how many blocks the device has.
func (e *Engine) blocksNow() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.tiers.Device
}

// ended returns the counts of requests by finish reason.
func (e *Engine) ended(name string, labels prometheus.Labels, reasons []finishReason) []series {
	var all []series
	for _, reason := range reasons {
		all = append(all, series{name, "Requests finished.", prometheus.CounterValue, with(labels, string(metric.LabelFinishedReason), string(reason)),
			func(r *reading) float64 { return float64(r.ends[reason]) }})
	}
	return all
}

func defined(definer metric.Definer, read func(*reading) float64) shown {
	return shown{definer.Def().Name, definer.Def().Help, read}
}

// queried returns the tokens of all prompts that were looked up.
func (r *reading) queried() int64 {
	return r.computedTokens + r.deviceTokens + r.hostTokens + r.diskTokens
}

func (r *reading) firstTokens() *histogram { return &r.firstToken }
func (r *reading) queues() *histogram      { return &r.queue }
func (r *reading) perTokens() *histogram   { return &r.perToken }
func (r *reading) gaps() *histogram        { return &r.gap }
func (r *reading) durations() *histogram   { return &r.duration }

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

// dynamoPage returns the /metrics of Dynamo's frontend. It writes the model in lower case on series of requests, and
// unchanged on those that begin with model.
func (e *Engine) dynamoPage() page {
	requests := prometheus.Labels{metric.ForeignLabelModel: strings.ToLower(e.config.Model)}
	model := prometheus.Labels{metric.ForeignLabelModel: e.config.Model}
	all := seriesOf(prometheus.GaugeValue, requests,
		shown{metric.ForeignDynamoInflight, "Requests in flight.", func(r *reading) float64 { return float64(r.running + r.waiting) }},
		shown{metric.ForeignDynamoQueued, "Requests without their first token.", func(r *reading) float64 { return float64(r.waiting + r.running - r.started) }},
	)
	all = append(all, seriesOf(prometheus.CounterValue, requests,
		shown{metric.ForeignDynamoOutputTokens, "Output tokens.", func(r *reading) float64 { return float64(r.generatedTokens) }},
	)...)
	all = append(all, seriesOf(prometheus.GaugeValue, model,
		shown{metric.ForeignDynamoModelBlocks, "KV cache blocks of a worker.", func(r *reading) float64 { return float64(r.tiers.Device) }},
		shown{metric.ForeignDynamoModelBlockSize, "Tokens of a KV cache block.", func(r *reading) float64 { return float64(r.perBlock) }},
		shown{metric.ForeignDynamoModelContext, "Context length in tokens.", func(*reading) float64 { return float64(e.config.MaxModelTokens) }},
		shown{metric.ForeignDynamoModelMaxSeqs, "Most sequences of a worker.", func(*reading) float64 { return float64(e.config.MaxBatch) }},
	)...)
	worker := prometheus.Labels{metric.ForeignDynamoLabelRouterWorker: "1", metric.ForeignDynamoLabelRank: "0"}
	all = append(all, seriesOf(prometheus.GaugeValue, worker,
		shown{metric.ForeignDynamoWorkerRegistered, "Whether the router has this worker.", func(r *reading) float64 {
			if r.served {
				return 1
			}
			return 0
		}},
	)...)
	return e.newPage(all, []spread{
		{metric.ForeignDynamoInputTokens, "Input sequence length in tokens.", requests, func(r *reading) *histogram { return &r.input }},
		{metric.ForeignDynamoOutputLength, "Output sequence length in tokens.", requests, func(r *reading) *histogram { return &r.output }},
		{metric.ForeignDynamoCachedTokens, "Cached tokens of requests.", requests, func(r *reading) *histogram { return &r.cached }},
		{metric.ForeignDynamoFirstToken, "Time to the first token.", requests, (*reading).firstTokens},
		{metric.ForeignDynamoGap, "Time between two tokens.", requests, (*reading).gaps},
		{metric.ForeignDynamoDuration, "From the arrival of a request to its end.", requests, (*reading).durations},
	})
}
