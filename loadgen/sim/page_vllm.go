package sim

import (
	"strconv"

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
	all = append(all, e.ended(metric.VLLMRequestSuccessTotal.Def().Name, labels, finishReasons())...)
	all = append(all, e.vllmCacheConfig())
	return e.newPage(all, []spread{
		{metric.VLLMTimeToFirstTokenSeconds.Def().Name, metric.VLLMTimeToFirstTokenSeconds.Def().Help, labels, (*reading).firstTokens},
		{metric.VLLMRequestQueueTimeSeconds.Def().Name, metric.VLLMRequestQueueTimeSeconds.Def().Help, labels, (*reading).queues},
		{metric.VLLMRequestTimePerOutputTokenSeconds.Def().Name, metric.VLLMRequestTimePerOutputTokenSeconds.Def().Help, labels, (*reading).perTokens},
		{metric.VLLME2ERequestLatencySeconds.Def().Name, metric.VLLME2ERequestLatencySeconds.Def().Help, labels, (*reading).durations},
	})
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
	if e.config.KV.TellBytes {
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
