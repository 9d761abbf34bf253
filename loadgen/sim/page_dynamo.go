package sim

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

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
