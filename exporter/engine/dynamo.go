package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// readDynamoFrontend reads a page of Dynamo's frontend. A model has two names on it, in lower case on series of
// requests and as given on other series: they are one model, under the name as given.
func readDynamoFrontend(all view) []Model {
	perRequest := []string{metric.ForeignDynamoInflight, metric.ForeignDynamoOutputTokens, metric.ForeignDynamoInputTokensSum}
	models := map[string]Model{}
	for _, m := range perModel(all, metric.ForeignLabelModel, perRequest, dynamoRequests) {
		models[strings.ToLower(m.Name)] = m
	}
	given := []string{metric.ForeignDynamoModelBlocks, metric.ForeignDynamoModelBlockSize}
	if slices.ContainsFunc(given, func(name string) bool { return len(all.series(name)) > 0 }) {
		delete(models, "") // no request yet, but models
		served := perModel(all, metric.ForeignLabelModel, given, dynamoPool)
		for _, m := range served {
			key := strings.ToLower(m.Name)
			joined := models[key]
			joined.Name = m.Name
			if len(served) == 1 && dynamoWorkers(all) == 1 {
				joined.Pool = m.Pool
			}
			models[key] = joined
		}
	}
	return slices.SortedFunc(maps.Values(models), func(a, b Model) int { return cmp.Compare(a.Name, b.Name) })
}

// dynamoRequests reads the frontend's counts of requests. Queued requests wait for their first token and are among
// those in flight.
func dynamoRequests(v view) Model {
	queued := v.gauge(metric.ForeignDynamoQueued)
	running := v.gauge(metric.ForeignDynamoInflight)
	if running != nil && queued != nil {
		running = new(max(0, *running-*queued))
	}
	model := Model{
		Requests:         requests(map[string]*float64{metric.RequestsRunning: running, metric.RequestsWaiting: queued}),
		PromptTokens:     v.counter(metric.ForeignDynamoInputTokensSum),
		GenerationTokens: v.counter(metric.ForeignDynamoOutputTokens, metric.ForeignDynamoOutputTokensSum),
	}
	model.Requested = dynamoRequested(v, model.PromptTokens)
	return model
}

// dynamoRequested is nil until a request reports its cached tokens: some engines never do.
func dynamoRequested(v view, prompt *float64) *RequestedTokens {
	begun, reported := v.counter(metric.ForeignDynamoInputTokensCount), v.counter(metric.ForeignDynamoCachedTokensCount)
	cached := v.counter(metric.ForeignDynamoCachedTokensSum)
	if begun == nil || reported == nil || prompt == nil || cached == nil || *reported == 0 {
		return nil
	}
	inflight := v.gauge(metric.ForeignDynamoInflight)
	return &RequestedTokens{
		Begun: *begun, Reported: *reported, Prompt: *prompt, Cached: *cached,
		Idle: *begun == *reported || inflight != nil && *inflight == 0,
	}
}

// dynamoWorkers is the number of workers of a frontend's router, a data-parallel rank counting as one; 0 if unknown:
// only a router that chooses by KV cache reports it.
func dynamoWorkers(all view) int {
	workers := map[[2]string]bool{}
	for _, one := range all.series(metric.ForeignDynamoWorkerRegistered) {
		if one.Value == 1 {
			workers[[2]string{one.Labels[metric.ForeignDynamoLabelRouterWorker], one.Labels[metric.ForeignDynamoLabelRank]}] = true
		}
	}
	return len(workers)
}

// dynamoPool reads the KV cache of one worker, which does not extend to several. Dynamo reports 0 blocks for an engine
// that does not report its own.
func dynamoPool(v view) Model {
	blocks := reported(v.gauge(metric.ForeignDynamoModelBlocks))
	size := reported(v.gauge(metric.ForeignDynamoModelBlockSize))
	return Model{Pool: Pool{CapacityBlocks: blocks, CapacityTokens: product(blocks, size)}}
}

// readDynamoWorker reads a page of a worker that does not pass series of its engine through. In some releases series of
// requests have no model.
func readDynamoWorker(all view) []Model {
	generate := all.with(metric.ForeignDynamoLabelEndpoint, metric.ForeignDynamoGenerate)
	read := func(v view) Model {
		return Model{
			Pool:     dynamoWorkerPool(v),
			Requests: requests(map[string]*float64{metric.RequestsInFlight: v.with(metric.ForeignDynamoLabelEndpoint, metric.ForeignDynamoGenerate).gauge(metric.ForeignDynamoWorkerInflight)}),
		}
	}
	named := slices.Concat(generate.series(metric.ForeignDynamoWorkerInflight), all.series(metric.ForeignDynamoWorkerTotalBlocks))
	names := slices.DeleteFunc(labelValues(named, metric.ForeignLabelModel), func(name string) bool { return name == "" })
	if len(names) > 1 {
		return perModel(all, metric.ForeignLabelModel, []string{metric.ForeignDynamoWorkerInflight, metric.ForeignDynamoWorkerTotalBlocks}, read)
	}
	model := read(all)
	if len(names) == 1 {
		model.Name = shortText(names[0])
	}
	return []Model{model}
}

// dynamoWorkerPool joins the KV caches of the data-parallel ranks. It is empty if the engine does not report blocks:
// all its values are 0 then.
func dynamoWorkerPool(v view) Pool {
	var pools []Pool
	for _, rank := range v.replicas(metric.ForeignDynamoWorkerTotalBlocks) {
		if blocks := reported(rank.gauge(metric.ForeignDynamoWorkerTotalBlocks)); blocks != nil {
			pools = append(pools, Pool{CapacityBlocks: blocks, UsedRatio: ratio(rank.gauge(metric.ForeignDynamoWorkerKVUsage))})
		}
	}
	if len(pools) > 0 {
		return join(pools)
	}
	return dynamoOldWorkerPool(v)
}

// dynamoOldWorkerPool reads the names of releases before 0.9.
func dynamoOldWorkerPool(v view) Pool {
	blocks := reported(v.gauge(metric.ForeignDynamoOldTotalBlocks))
	if blocks == nil {
		return Pool{}
	}
	pool := Pool{CapacityBlocks: blocks, UsedRatio: ratio(v.gauge(metric.ForeignDynamoOldKVUsage))}
	if active := v.gauge(metric.ForeignDynamoOldActiveBlocks); active != nil {
		pool.UsedRatio = ratio(new(*active / *blocks))
	}
	return pool
}

// completeFromWorker adds the blocks of a Dynamo worker to an engine whose own series lack them.
func completeFromWorker(all view, models []Model) {
	if len(models) != 1 || models[0].CapacityBlocks != nil || models[0].CapacityTokens != nil {
		return
	}
	all.labels = dynamoLabels()
	worker := dynamoWorkerPool(all)
	models[0].CapacityBlocks = worker.CapacityBlocks
	if models[0].UsedRatio == nil {
		models[0].UsedRatio = worker.UsedRatio
	}
}

// reported is nil for 0, with which Dynamo fills missing values.
func reported(value *float64) *float64 {
	if value == nil || *value == 0 {
		return nil
	}
	return value
}
