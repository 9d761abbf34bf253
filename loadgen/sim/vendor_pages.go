package sim

import (
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/engine/dynamo"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/trtllm"
	"github.com/umascope/umascope/exporter/engine/vllm"
	"github.com/umascope/umascope/exporter/metric"
)

// engineNumber is the number of the only replica.
const engineNumber = "0"

// vllmPage returns vLLM's /metrics. Hits are counted in tokens; external are those of a KV connector.
func (e *Engine) vllmPage() page {
	labels := prometheus.Labels{spec.LabelModelName: e.config.Model, vllm.LabelEngine: engineNumber}
	gauges := seriesOf(prometheus.GaugeValue, labels,
		defined(metric.VLLMNumRequestsRunning, func(r *reading) float64 { return float64(r.running) }),
		defined(metric.VLLMNumRequestsWaiting, func(r *reading) float64 { return float64(r.waiting) }),
		defined(metric.VLLMKVCacheUsagePerc, (*reading).usage),
	)
	counters := seriesOf(prometheus.CounterValue, labels,
		defined(metric.VLLMPromptTokensTotal, func(r *reading) float64 { return float64(r.promptTokens) }),
		defined(metric.VLLMGenerationTokensTotal, func(r *reading) float64 { return float64(r.generatedTokens) }),
		shown{vllm.PrefixQueries, "Prompt tokens looked up in the prefix cache.", func(r *reading) float64 { return float64(r.queried()) }},
		shown{vllm.PrefixHits, "Prompt tokens found in the prefix cache.", func(r *reading) float64 { return float64(r.deviceTokens) }},
		shown{vllm.ExternalQueries, "Prompt tokens looked up through the KV connector.", func(r *reading) float64 { return float64(r.queried() - r.deviceTokens) }},
		shown{vllm.ExternalHits, "Prompt tokens found through the KV connector.", func(r *reading) float64 { return float64(r.hostTokens + r.diskTokens) }},
		shown{vllm.Preemptions, "Requests that lost their place.", func(r *reading) float64 { return float64(r.preemptions) }},
	)
	all := append(gauges, counters...)
	for _, source := range []shown{
		{vllm.SourceCompute, "", func(r *reading) float64 { return float64(r.computedTokens) }},
		{vllm.SourceLocalHit, "", func(r *reading) float64 { return float64(r.deviceTokens) }},
		{vllm.SourceExternal, "", func(r *reading) float64 { return float64(r.hostTokens + r.diskTokens) }},
	} {
		all = append(all, series{vllm.PromptTokensBy, "Prompt tokens by where they are from.", prometheus.CounterValue,
			with(labels, vllm.LabelTokenSource, source.name), source.read})
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
		all = append(all, series{vllm.CachedBySource, "Prompt tokens found in a cache, by tier.", prometheus.CounterValue,
			with(labels, vllm.LabelTokenSource, tier.name), tier.read})
	}
	return all
}

// vllmCacheConfig has its values in its labels. The number of blocks is final when the engine has started: until then
// it is the configured number.
func (e *Engine) vllmCacheConfig() series {
	blocks := e.blocksNow()
	labels := prometheus.Labels{
		vllm.LabelEngine:    engineNumber,
		vllm.LabelBlockSize: strconv.Itoa(e.config.KV.TokensPerBlock),
		vllm.LabelBlocks:    strconv.Itoa(blocks),
	}
	if e.config.KV.ReportBytes {
		labels[vllm.LabelBytes] = strconv.FormatInt(int64(blocks)*e.config.KV.BlockBytes(), 10)
	}
	return series{
		name: vllm.CacheConfigInfo, help: "Configuration of the KV cache, in the labels.", kind: prometheus.GaugeValue,
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
	labels := prometheus.Labels{spec.LabelModelName: e.config.Model, spec.LabelEngineType: "trtllm"}
	gauges := seriesOf(prometheus.GaugeValue, labels,
		shown{trtllm.MaxBlocks, "Most KV cache blocks.", func(r *reading) float64 { return float64(r.tiers.Device) }},
		shown{trtllm.UsedBlocks, "KV cache blocks in use.", func(r *reading) float64 { return float64(r.held) }},
		shown{trtllm.FreeBlocks, "KV cache blocks not in use.", func(r *reading) float64 { return float64(r.tiers.Device - r.held) }},
		shown{trtllm.TokensPerBlock, "Tokens of a KV cache block.", func(r *reading) float64 { return float64(r.perBlock) }},
		shown{trtllm.KVUsage, "Share of KV cache blocks in use.", (*reading).usage},
		shown{trtllm.HostUsage, "Share of the host tier in use.", func(r *reading) float64 { return ratio(int64(r.hostBlocks), int64(r.tiers.Host)) }},
		shown{trtllm.HitRate, "Share of blocks that were reused.", (*reading).blockHitRate},
		shown{trtllm.Running, "Requests running.", func(r *reading) float64 { return float64(r.running) }},
		shown{trtllm.Waiting, "Requests waiting.", func(r *reading) float64 { return float64(r.waiting) }},
		shown{trtllm.Paused, "Requests paused.", func(*reading) float64 { return 0 }},
		shown{trtllm.GPUMemory, "GPU memory in use.", (*reading).deviceBytes},
	)
	counters := seriesOf(prometheus.CounterValue, labels,
		shown{trtllm.ReusedBlocks, "KV cache blocks reused.", func(r *reading) float64 { return float64(r.reusedBlocks) }},
		shown{trtllm.MissedBlocks, "KV cache blocks missed.", func(r *reading) float64 { return float64(r.missedBlocks) }},
		shown{trtllm.CachedTokens, "Prompt tokens found in the cache.", func(r *reading) float64 { return float64(r.queried() - r.computedTokens) }},
		shown{trtllm.PromptTokens, "Prompt tokens.", func(r *reading) float64 { return float64(r.promptTokens) }},
		shown{trtllm.GenerationTokens, "Tokens generated.", func(r *reading) float64 { return float64(r.generatedTokens) }},
		shown{trtllm.OffloadBytes, "Bytes of blocks copied from the device.", (*reading).offloaded},
		shown{trtllm.OnboardBytes, "Bytes of blocks copied to the device.", (*reading).onboarded},
	)
	all := append(gauges, counters...)
	all = append(all, e.ended(trtllm.Success, labels, []finishReason{finishStop, finishLength})...)
	return e.newPage(all, []spread{
		{trtllm.FirstToken, "Time to the first token.", labels, (*reading).firstTokens},
		{trtllm.PerToken, "Time per output token.", labels, (*reading).perTokens},
		{trtllm.Duration, "From the arrival of a request to its end.", labels, (*reading).durations},
		{trtllm.Queue, "Time in the queue.", labels, (*reading).queues},
	})
}

func (r *reading) blockHitRate() float64 {
	return ratio(r.reusedBlocks, r.reusedBlocks+r.missedBlocks)
}

// dynamoPage returns the /metrics of Dynamo's frontend. It writes the model in lower case on series of requests, and
// unchanged on those that begin with model.
func (e *Engine) dynamoPage() page {
	requests := prometheus.Labels{spec.LabelModel: strings.ToLower(e.config.Model)}
	model := prometheus.Labels{spec.LabelModel: e.config.Model}
	all := seriesOf(prometheus.GaugeValue, requests,
		shown{dynamo.Inflight, "Requests in flight.", func(r *reading) float64 { return float64(r.running + r.waiting) }},
		shown{dynamo.Queued, "Requests without their first token.", func(r *reading) float64 { return float64(r.waiting + r.running - r.started) }},
	)
	all = append(all, seriesOf(prometheus.CounterValue, requests,
		shown{dynamo.OutputTokens, "Output tokens.", func(r *reading) float64 { return float64(r.generatedTokens) }},
	)...)
	all = append(all, seriesOf(prometheus.GaugeValue, model,
		shown{dynamo.ModelBlocks, "KV cache blocks of a worker.", func(r *reading) float64 { return float64(r.tiers.Device) }},
		shown{dynamo.ModelBlockSize, "Tokens of a KV cache block.", func(r *reading) float64 { return float64(r.perBlock) }},
		shown{dynamo.ModelContext, "Context length in tokens.", func(*reading) float64 { return float64(e.config.MaxModelTokens) }},
		shown{dynamo.ModelMaxSeqs, "Most sequences of a worker.", func(*reading) float64 { return float64(e.config.MaxBatch) }},
	)...)
	worker := prometheus.Labels{dynamo.LabelRouterWorker: "1", dynamo.LabelRank: "0"}
	all = append(all, seriesOf(prometheus.GaugeValue, worker,
		shown{dynamo.WorkerRegistered, "Whether the router has this worker.", func(r *reading) float64 {
			if r.served {
				return 1
			}
			return 0
		}},
	)...)
	return e.newPage(all, []spread{
		{dynamo.InputTokens, "Input sequence length in tokens.", requests, func(r *reading) *histogram { return &r.input }},
		{dynamo.OutputLength, "Output sequence length in tokens.", requests, func(r *reading) *histogram { return &r.output }},
		{dynamo.CachedTokens, "Cached tokens of requests.", requests, func(r *reading) *histogram { return &r.cached }},
		{dynamo.FirstToken, "Time to the first token.", requests, (*reading).firstTokens},
		{dynamo.Gap, "Time between two tokens.", requests, (*reading).gaps},
		{dynamo.Duration, "From the arrival of a request to its end.", requests, (*reading).durations},
	})
}
