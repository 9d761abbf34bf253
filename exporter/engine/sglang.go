package engine

import (
	"github.com/umascope/umascope/exporter/metric"
)

// readSGLang reads a page of SGLang. Ranks of tensor, pipeline and expert parallelism see the same
// requests and count once; data-parallel replicas add up.
func readSGLang(all view) []Model {
	names := []string{metric.ForeignSGLangRunning, metric.ForeignSGLangTokenUsage, metric.ForeignSGLangPromptTokens}
	return perModel(all, metric.ForeignLabelModelName, names, func(v view) Model {
		return Model{
			Pool:         sglangPool(v),
			PrefixTokens: sglangLookups(v),
			Preemptions:  sglangRetractions(v),
			Speculation:  sglangSpeculation(v),
			Memory: memory(map[string]*float64{
				metric.EngineMemoryWeights: sglangBytes(v, metric.ForeignSGLangWeightGigabytes),
				metric.EngineMemoryGraphs:  sglangBytes(v, metric.ForeignSGLangGraphGigabytes),
			}),
			TierUsedTokens:     sglangHost(v, metric.ForeignSGLangHostUsedTokens),
			TierCapacityTokens: sglangHost(v, metric.ForeignSGLangHostTotalTokens),
			Requests: requests(map[string]*float64{
				metric.RequestsRunning: sglangGauge(v, metric.ForeignSGLangRunning),
				metric.RequestsWaiting: sglangGauge(v, metric.ForeignSGLangQueued),
			}),
			PromptTokens:     v.sum(metric.ForeignSGLangPromptTokens),
			GenerationTokens: v.sum(metric.ForeignSGLangGenerationTokens),
		}
	})
}

// replicas returns a view of each data-parallel replica in the series of this name.
func replicas(v view, name string) []view {
	var views []view
	for _, replica := range labelValues(v.series(name), metric.ForeignSGLangLabelReplica) {
		views = append(views, v.with(metric.ForeignSGLangLabelReplica, replica))
	}
	return views
}

// sglangGauge adds up a gauge over replicas. With priorities, only the series for all of them counts.
func sglangGauge(v view, name string) *float64 {
	var values []Pool // of which only one field is used: a value that one replica lacks is unknown
	for _, replica := range replicas(v, name) {
		values = append(values, Pool{UsedTokens: sglangValue(replica, name)})
	}
	return total(values, func(p Pool) *float64 { return p.UsedTokens })
}

// sglangValue is the value of one replica.
func sglangValue(replica view, name string) *float64 {
	if all := replica.with(metric.ForeignSGLangLabelPriority, "").series(name); len(all) > 0 {
		return largest(all)
	}
	return largest(replica.series(name))
}

// sglangHost is a gauge of the host's tier, which exists only with HiCache.
func sglangHost(v view, name string) []TierValue {
	if tokens := sglangGauge(v, name); tokens != nil {
		return []TierValue{{metric.TierHost, *tokens}}
	}
	return nil
}

// sglangBytes adds up gigabytes over replicas, and over phases where there are any.
func sglangBytes(v view, name string) *float64 {
	sum, found := 0.0, false
	for _, replica := range replicas(v, name) {
		for _, phase := range labelValues(replica.series(name), metric.ForeignSGLangLabelPhase) {
			if gigabytes := sglangValue(replica.with(metric.ForeignSGLangLabelPhase, phase), name); gigabytes != nil {
				sum, found = sum+*gigabytes*(1<<30), true
			}
		}
	}
	if !found {
		return nil
	}
	return &sum
}

func sglangPool(v view) Pool {
	var pools []Pool
	for _, replica := range replicas(v, metric.ForeignSGLangTokenUsage) {
		pool := Pool{
			CapacityTokens: sglangValue(replica, metric.ForeignSGLangMaxTokens),
			UsedTokens:     sglangValue(replica, metric.ForeignSGLangUsedTokens),
			UsedRatio:      ratio(sglangValue(replica, metric.ForeignSGLangTokenUsage)),
		}
		if page := sglangPageSize(v); pool.CapacityTokens != nil && page != nil && *page > 0 {
			pool.CapacityBlocks = new(*pool.CapacityTokens / *page)
		}
		// Zero means that the size of the pool is unknown: some kinds of model never set it.
		if gigabytes := sglangValue(replica, metric.ForeignSGLangKVGigabytes); gigabytes != nil && *gigabytes > 0 {
			pool.CapacityBytes = new(*gigabytes * (1 << 30))
		}
		pools = append(pools, pool)
	}
	return join(pools)
}

// sglangPageSize is the number of tokens in a block, in a series of its own or in a label by release.
func sglangPageSize(v view) *float64 {
	if size := largest(v.series(metric.ForeignSGLangPageSize)); size != nil {
		return size
	}
	if config := v.whole().series(metric.ForeignSGLangCacheConfigInfo); len(config) > 0 {
		return labelNumber(config[0], metric.ForeignSGLangLabelPageSize)
	}
	return nil
}

// sglangLookups counts the tokens of prompts and those found, by tier in newer releases.
func sglangLookups(v view) *Lookups {
	hits := hitsByTier(v, metric.ForeignSGLangCachedTokens, metric.ForeignSGLangLabelCacheSource, metric.ForeignSGLangCacheTier)
	if len(hits) == 0 {
		return nil // reuse is off, or has not happened yet
	}
	return lookups(v.sum(metric.ForeignSGLangPromptTokens), hits)
}

// sglangRetractions are 0 until the first, when their counter appears; a gauge exists before.
func sglangRetractions(v view) *float64 {
	if counted := v.sum(metric.ForeignSGLangRetractedTotal); counted != nil {
		return counted
	}
	if len(v.series(metric.ForeignSGLangRetracted)) > 0 {
		return new(0.0)
	}
	return nil
}
