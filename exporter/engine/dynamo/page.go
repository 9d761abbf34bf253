package dynamo

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// readFrontend reads a page of Dynamo's frontend. A model has two names on it, in lower case on series of
// requests and as given on other series: they are one model, under the name as given.
func readFrontend(all spec.View) []spec.Model {
	perRequest := []string{Inflight, OutputTokens, InputTokensSum}
	models := map[string]spec.Model{}
	for _, m := range spec.PerModel(all, spec.LabelModel, perRequest, requests) {
		models[strings.ToLower(m.Name)] = m
	}
	given := []string{ModelBlocks, ModelBlockSize}
	if slices.ContainsFunc(given, func(name string) bool { return len(all.Series(name)) > 0 }) {
		delete(models, "") // no request yet, but models
		served := spec.PerModel(all, spec.LabelModel, given, pool)
		for _, m := range served {
			key := strings.ToLower(m.Name)
			joined := models[key]
			joined.Name = m.Name
			if len(served) == 1 && workers(all) == 1 {
				joined.Pool = m.Pool
			}
			models[key] = joined
		}
	}
	return slices.SortedFunc(maps.Values(models), func(a, b spec.Model) int { return cmp.Compare(a.Name, b.Name) })
}

// requests reads the frontend's counts of requests. Queued requests wait for their first token and are among
// those in flight.
func requests(v spec.View) spec.Model {
	queued := v.Gauge(Queued)
	running := v.Gauge(Inflight)
	if running != nil && queued != nil {
		running = new(max(0, *running-*queued))
	}
	model := spec.Model{
		Requests:         spec.Counts(map[string]*float64{metric.RequestsRunning: running, metric.RequestsWaiting: queued}),
		PromptTokens:     v.Counter(InputTokensSum),
		GenerationTokens: v.Counter(OutputTokens, OutputTokensSum),
	}
	model.Requested = requested(v, model.PromptTokens)
	return model
}

// requested is nil until a request reports its cached tokens: some engines never do.
func requested(v spec.View, prompt *float64) *spec.RequestedTokens {
	begun, reported := v.Counter(InputTokensCount), v.Counter(CachedTokensCount)
	cached := v.Counter(CachedTokensSum)
	if begun == nil || reported == nil || prompt == nil || cached == nil || *reported == 0 {
		return nil
	}
	inflight := v.Gauge(Inflight)
	return &spec.RequestedTokens{
		Begun: *begun, Reported: *reported, Prompt: *prompt, Cached: *cached,
		Idle: *begun == *reported || inflight != nil && *inflight == 0,
	}
}

// workers is the number of workers of a frontend's router, a data-parallel rank counting as one; 0 if unknown:
// only a router that chooses by KV cache reports it.
func workers(all spec.View) int {
	return countWorkers(all.Series(WorkerRegistered))
}

func countWorkers(registered []spec.Series) int {
	workers := map[[2]string]bool{}
	for _, one := range registered {
		if one.Value == 1 {
			workers[[2]string{one.Labels[LabelRouterWorker], one.Labels[LabelRank]}] = true
		}
	}
	return len(workers)
}

// pool reads the KV cache of one worker, which does not extend to several. Dynamo reports 0 blocks for an engine
// that does not report its own.
func pool(v spec.View) spec.Model {
	blocks := reported(v.Gauge(ModelBlocks))
	size := reported(v.Gauge(ModelBlockSize))
	return spec.Model{Pool: spec.Pool{CapacityBlocks: blocks, CapacityTokens: spec.Product(blocks, size)}}
}

// readWorker reads a page of a worker that does not pass series of its engine through. In some releases series of
// requests have no model.
func readWorker(all spec.View) []spec.Model {
	generate := all.With(LabelEndpoint, Generate)
	read := func(v spec.View) spec.Model {
		return spec.Model{
			Pool:     workerPool(v),
			Requests: spec.Counts(map[string]*float64{metric.RequestsInFlight: v.With(LabelEndpoint, Generate).Gauge(WorkerInflight)}),
		}
	}
	named := slices.Concat(generate.Series(WorkerInflight), all.Series(WorkerTotalBlocks))
	names := slices.DeleteFunc(spec.LabelValues(named, spec.LabelModel), func(name string) bool { return name == "" })
	if len(names) > 1 {
		return spec.PerModel(all, spec.LabelModel, []string{WorkerInflight, WorkerTotalBlocks}, read)
	}
	model := read(all)
	if len(names) == 1 {
		model.Name = spec.ShortText(names[0])
	}
	return []spec.Model{model}
}

// workerPool joins the KV caches of the data-parallel ranks. It is empty if the engine does not report blocks:
// all its values are 0 then.
func workerPool(v spec.View) spec.Pool {
	var pools []spec.Pool
	for _, rank := range v.Replicas(WorkerTotalBlocks) {
		if blocks := reported(rank.Gauge(WorkerTotalBlocks)); blocks != nil {
			pools = append(pools, spec.Pool{CapacityBlocks: blocks, UsedRatio: spec.Ratio(rank.Gauge(WorkerKVUsage))})
		}
	}
	if len(pools) > 0 {
		return spec.Join(pools)
	}
	return oldWorkerPool(v)
}

// oldWorkerPool reads the names of releases before 0.9.
func oldWorkerPool(v spec.View) spec.Pool {
	blocks := reported(v.Gauge(OldTotalBlocks))
	if blocks == nil {
		return spec.Pool{}
	}
	pool := spec.Pool{CapacityBlocks: blocks, UsedRatio: spec.Ratio(v.Gauge(OldKVUsage))}
	if active := v.Gauge(OldActiveBlocks); active != nil {
		pool.UsedRatio = spec.Ratio(new(*active / *blocks))
	}
	return pool
}

// completeFromWorker adds the blocks of a Dynamo worker to an engine whose own series lack them.
func completeFromWorker(all spec.View, models []spec.Model) {
	if len(models) != 1 || models[0].CapacityBlocks != nil || models[0].CapacityTokens != nil {
		return
	}
	worker := workerPool(all.Under(labels()))
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

// size is that of the KV cache behind a frontend whose router names exactly one worker: the page has the size of one
// worker's cache, and the sum over several is unknown.
func size(page spec.Page) spec.Size {
	if countWorkers(page[WorkerRegistered]) != 1 {
		return spec.Size{}
	}
	return spec.Size{Tokens: spec.Highest(page, ModelBlocks) * spec.Highest(page, ModelBlockSize)}
}
