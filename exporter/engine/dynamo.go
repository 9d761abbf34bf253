package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/endpoint"
	"github.com/umascope/umascope/exporter/metric"
)

// readDynamoFrontend reads a page of Dynamo's frontend. It knows a model under two names, in lower case on
// series of requests and as it was given on others: they are one, called as it was given.
func readDynamoFrontend(page endpoint.Page) []Model {
	perRequest := []string{metric.ForeignDynamoInflight, metric.ForeignDynamoOutputTokens, metric.ForeignDynamoInputTokensSum}
	models := map[string]Model{}
	for _, m := range perModel(whole(page), metric.ForeignLabelModel, perRequest, dynamoRequests) {
		models[strings.ToLower(m.Name)] = m
	}
	given := []string{metric.ForeignDynamoModelBlocks, metric.ForeignDynamoModelBlockSize}
	if slices.ContainsFunc(given, func(name string) bool { return len(page.Series(name)) > 0 }) {
		delete(models, "") // no request yet, but models
		for _, m := range perModel(whole(page), metric.ForeignLabelModel, given, dynamoPool) {
			key := strings.ToLower(m.Name)
			joined := models[key]
			joined.Name, joined.Pool = m.Name, m.Pool
			models[key] = joined
		}
	}
	return slices.SortedFunc(maps.Values(models), func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
}

// dynamoRequests reads what the frontend counts of requests. Those queued wait for their first token and are
// among those in flight.
func dynamoRequests(v view) Model {
	queued := v.sum(metric.ForeignDynamoQueued)
	running := v.sum(metric.ForeignDynamoInflight)
	if running != nil && queued != nil {
		running = new(max(0, *running-*queued))
	}
	model := Model{
		Requests:         requests(map[string]*float64{metric.RequestsRunning: running, metric.RequestsWaiting: queued}),
		PromptTokens:     v.sum(metric.ForeignDynamoInputTokensSum),
		GenerationTokens: v.sum(metric.ForeignDynamoOutputTokens, metric.ForeignDynamoOutputTokensSum),
	}
	model.PrefixTokens = lookups(model.PromptTokens, map[string]*float64{metric.TierAny: v.sum(metric.ForeignDynamoCachedTokensSum)})
	return model
}

// dynamoPool reads the KV cache of a worker, which says nothing of several. Dynamo reports 0 blocks for an
// engine that does not tell.
func dynamoPool(v view) Model {
	if workers := v.sum(metric.ForeignDynamoModelWorkers); workers != nil && *workers != 1 {
		return Model{}
	}
	blocks := reported(v.sum(metric.ForeignDynamoModelBlocks))
	size := reported(v.sum(metric.ForeignDynamoModelBlockSize))
	return Model{Pool: Pool{CapacityBlocks: blocks, CapacityTokens: product(blocks, size)}}
}

// readDynamoWorker reads a page of a worker that passes no series of its engine through.
func readDynamoWorker(page endpoint.Page) []Model {
	all := whole(page)
	generate := all.with(metric.ForeignDynamoLabelEndpoint, metric.ForeignDynamoGenerate)
	models := perModel(generate, metric.ForeignLabelModel, []string{metric.ForeignDynamoWorkerInflight}, func(v view) Model {
		return Model{Requests: requests(map[string]*float64{metric.RequestsInFlight: v.sum(metric.ForeignDynamoWorkerInflight)})}
	})
	if len(models) == 1 { // the KV cache names no model
		models[0].Pool = dynamoWorkerPool(all)
	}
	return models
}

// dynamoWorkerPool is empty if the engine reports no blocks: all its values are 0 then.
func dynamoWorkerPool(v view) Pool {
	blocks := reported(v.sum(metric.ForeignDynamoWorkerTotalBlocks))
	if blocks == nil {
		return Pool{}
	}
	pool := Pool{CapacityBlocks: blocks, UsedRatio: ratio(largest(v.series(metric.ForeignDynamoWorkerKVUsage)))}
	if active := v.sum(metric.ForeignDynamoWorkerActiveBlocks); active != nil {
		pool.UsedRatio = ratio(new(*active / *blocks))
	}
	return pool
}

// reported is nil for 0, with which Dynamo fills what it was not told.
func reported(value *float64) *float64 {
	if value == nil || *value == 0 {
		return nil
	}
	return value
}
