package engine

import (
	"github.com/umascope/umascope/exporter/metric"
)

// readLMCache reads a page of LMCache that is not also one of an engine. Its hit rates are not read: they cover the
// time since the last read and are 1 when there was no lookup.
//
// Each worker of a tensor-parallel engine looks up the same tokens, of which it keeps its shard: of tokens the worker
// with most counts, bytes add up.
func readLMCache(all view) []Model {
	names := []string{metric.ForeignLMCacheRequestedTokens, metric.ForeignLMCacheLocalBytes}
	return perModel(all, metric.ForeignLabelModelName, names, func(v view) Model {
		model := Model{PrefixTokens: lookups(
			mostOfAWorker(v, metric.ForeignLMCacheRequestedTokens),
			map[string]*float64{metric.TierExternal: mostOfAWorker(v, metric.ForeignLMCacheHitTokens)},
		)}
		for _, tier := range []struct{ tier, name string }{
			{metric.TierHost, metric.ForeignLMCacheLocalBytes},
			{metric.TierDisk, metric.ForeignLMCacheStorageBytes},
			{metric.TierExternal, metric.ForeignLMCacheRemoteBytes},
		} {
			if bytes := v.gauge(tier.name); bytes != nil {
				model.TierBytes = append(model.TierBytes, TierValue{tier.tier, *bytes})
			}
		}
		return model
	})
}

// mostOfAWorker is a counter of the worker with most counts, nil of none.
func mostOfAWorker(v view, name string) *float64 {
	var most *float64
	for _, worker := range v.replicas(name) {
		if count := worker.counter(name); count != nil && (most == nil || *count > *most) {
			most = count
		}
	}
	return most
}
