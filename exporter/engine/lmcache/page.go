package lmcache

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// read reads a page of LMCache that is not also one of an engine. Its hit rates are not read: they cover the
// time since the last read and are 1 when there was no lookup.
//
// Each worker of a tensor-parallel engine looks up the same tokens, of which it keeps its shard: of tokens the worker
// with most counts, bytes add up.
func read(all spec.View) []spec.Model {
	names := []string{RequestedTokens, LocalBytes}
	return spec.PerModel(all, spec.LabelModelName, names, func(v spec.View) spec.Model {
		model := spec.Model{PrefixTokens: spec.NewLookups(
			mostOfAWorker(v, RequestedTokens),
			map[string]*float64{metric.TierExternal: mostOfAWorker(v, HitTokens)},
		)}
		for _, tier := range []struct{ tier, name string }{
			{metric.TierHost, LocalBytes},
			{metric.TierDisk, StorageBytes},
			{metric.TierExternal, RemoteBytes},
		} {
			if bytes := v.Gauge(tier.name); bytes != nil {
				model.TierBytes = append(model.TierBytes, spec.TierValue{Tier: tier.tier, Value: *bytes})
			}
		}
		return model
	})
}

// mostOfAWorker is a counter of the worker with most counts, nil of none.
func mostOfAWorker(v spec.View, name string) *float64 {
	var most *float64
	for _, worker := range v.Replicas(name) {
		if count := worker.Counter(name); count != nil && (most == nil || *count > *most) {
			most = count
		}
	}
	return most
}
