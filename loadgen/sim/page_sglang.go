package sim

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// sglangPage returns SGLang's /metrics. Only gauges have the labels of ranks.
func (e *Engine) sglangPage() page {
	model := prometheus.Labels{metric.ForeignLabelModelName: e.config.Model}
	ranks := with(with(with(with(model, metric.ForeignLabelEngineType, "unified"), "tp_rank", "0"), "pp_rank", "0"), "moe_ep_rank", "0")
	gauges := seriesOf(prometheus.GaugeValue, ranks,
		shown{metric.ForeignSGLangRunning, "Requests running.", func(r *reading) float64 { return float64(r.running) }},
		shown{metric.ForeignSGLangQueued, "Requests in the queue.", func(r *reading) float64 { return float64(r.waiting) }},
		shown{metric.ForeignSGLangUsedTokens, "Tokens in the KV cache.", func(r *reading) float64 { return float64(r.held * r.perBlock) }},
		shown{metric.ForeignSGLangTokenUsage, "Share of the KV cache in use.", (*reading).usage},
		shown{metric.ForeignSGLangMaxTokens, "Most tokens that the KV cache holds.", func(r *reading) float64 { return float64(r.tiers.Device * r.perBlock) }},
		shown{metric.ForeignSGLangHitRate, "Share of prompt tokens found in the cache.", func(r *reading) float64 {
			return ratio(r.queried()-r.computedTokens, r.queried())
		}},
	)
	gauges = append(gauges, series{metric.ForeignSGLangCacheConfigInfo, "Configuration of the KV cache, in the labels.", prometheus.GaugeValue,
		with(model, metric.ForeignSGLangLabelPageSize, strconv.Itoa(e.config.KV.TokensPerBlock)), func(*reading) float64 { return 1 }})
	counters := seriesOf(prometheus.CounterValue, model,
		shown{metric.ForeignSGLangPromptTokens, "Prompt tokens processed.", func(r *reading) float64 { return float64(r.promptTokens) }},
		shown{metric.ForeignSGLangGenerationTokens, "Tokens generated.", func(r *reading) float64 { return float64(r.generatedTokens) }},
		shown{metric.ForeignSGLangRequests, "Requests processed.", func(r *reading) float64 { return float64(r.ends[finishStop] + r.ends[finishLength]) }},
		shown{metric.ForeignSGLangRetractedTotal, "Requests that lost their place.", func(r *reading) float64 { return float64(r.preemptions) }},
	)
	all := append(gauges, counters...)
	for _, source := range []shown{
		{"device", "", func(r *reading) float64 { return float64(r.deviceTokens) }},
		{"host", "", func(r *reading) float64 { return float64(r.hostTokens) }},
		{"storage", "", func(r *reading) float64 { return float64(r.diskTokens) }},
	} {
		all = append(all, series{metric.ForeignSGLangCachedTokens, "Prompt tokens found in the cache, by where.", prometheus.CounterValue,
			with(model, metric.ForeignSGLangLabelCacheSource, source.name), source.read})
	}
	return e.newPage(all, []spread{
		{metric.ForeignSGLangFirstToken, "Time to the first token.", model, (*reading).firstTokens},
		{metric.ForeignSGLangGap, "Time between two tokens.", model, (*reading).gaps},
		{metric.ForeignSGLangDuration, "From the arrival of a request to its end.", model, (*reading).durations},
		{metric.ForeignSGLangQueue, "Time in the queue.", model, (*reading).queues},
	})
}
