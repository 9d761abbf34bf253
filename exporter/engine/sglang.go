package engine

import (
	"math"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// readSGLang reads a page of SGLang. Ranks of tensor, pipeline and expert parallelism repeat the figures of their
// replica; data-parallel replicas add up.
func readSGLang(all view) []Model {
	names := []string{metric.ForeignSGLangRunning, metric.ForeignSGLangTokenUsage, metric.ForeignSGLangPromptTokens}
	return perModel(all, metric.ForeignLabelModelName, names, func(v view) Model {
		return Model{
			Pool:         sglangPool(v),
			StatePools:   sglangStates(v),
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
				metric.RequestsRunning: sglangRequests(v, metric.ForeignSGLangRunning),
				metric.RequestsWaiting: sglangRequests(v, metric.ForeignSGLangQueued),
			}),
			PromptTokens:     v.counter(metric.ForeignSGLangPromptTokens),
			GenerationTokens: v.counter(metric.ForeignSGLangGenerationTokens),
		}
	})
}

// sglangRequests is a gauge of requests. With priorities, only the series for all of them counts.
func sglangRequests(v view, name string) *float64 {
	return v.with(metric.ForeignSGLangLabelPriority, "").gauge(name)
}

// sglangHost is a gauge of the host's tier, which exists only with HiCache.
func sglangHost(v view, name string) []TierValue {
	if tokens := v.gauge(name); tokens != nil {
		return []TierValue{{metric.TierHost, *tokens}}
	}
	return nil
}

// firstRank narrows a view to the first rank of a replica: the memory of each GPU has a size of its own.
func firstRank(v view, name string) view {
	for _, label := range sglangRanks() {
		if ranks := labelValues(v.series(name), label); len(ranks) > 0 {
			v = v.with(label, ranks[0])
		}
	}
	return v
}

// maxPhases is the maximum number of phases of an engine that have memory of their own; there are two.
const maxPhases = 16

// sglangBytes adds up gigabytes of the first GPU over replicas, and over phases where there are any.
func sglangBytes(v view, name string) *float64 {
	sum, found := 0.0, false
	for _, replica := range v.replicas(name) {
		phases := labelValues(replica.series(name), metric.ForeignSGLangLabelPhase)
		for _, phase := range phases[:min(len(phases), maxPhases)] {
			if gigabytes := firstRank(replica.with(metric.ForeignSGLangLabelPhase, phase), name).gauge(name); gigabytes != nil {
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
	for _, replica := range v.replicas(metric.ForeignSGLangTokenUsage, metric.ForeignSGLangFullUsage) {
		pool := Pool{
			CapacityTokens: replica.gauge(metric.ForeignSGLangMaxTokens),
			UsedTokens:     sglangUsedTokens(replica),
		}
		sglangUsage(replica, &pool)
		if page := sglangPageSize(v); pool.CapacityTokens != nil && page != nil && *page > 0 {
			if blocks := *pool.CapacityTokens / *page; blocks == math.Trunc(blocks) {
				pool.CapacityBlocks = &blocks
			} else {
				v.log.leaveOut("the blocks of the KV cache are not worked out: %v tokens are no whole number of pages of %v", *pool.CapacityTokens, *page)
			}
		}
		// Zero means that the size of the pool is unknown: some kinds of model never set it.
		if gigabytes := firstRank(replica, metric.ForeignSGLangKVGigabytes).gauge(metric.ForeignSGLangKVGigabytes); gigabytes != nil && *gigabytes > 0 {
			pool.CapacityBytes = new(*gigabytes * (1 << 30))
		}
		pools = append(pools, pool)
	}
	return join(pools)
}

// sglangUsedTokens are the tokens in the KV cache. num_used_tokens may be those of another pool of a hybrid model.
func sglangUsedTokens(replica view) *float64 {
	if len(replica.series(metric.ForeignSGLangKVUsedTokens)) > 0 || !isHybrid(replica) {
		return replica.gauge(metric.ForeignSGLangKVUsedTokens, metric.ForeignSGLangUsedTokens)
	}
	used, capacity := replica.gauge(metric.ForeignSGLangUsedTokens), replica.gauge(metric.ForeignSGLangMaxTokens)
	share := replica.gauge(metric.ForeignSGLangFullUsage)
	const most = 0.01 // the engine rounds neither, and writes both in one step
	if used != nil && capacity != nil && share != nil && math.Abs(*used / *capacity - *share) <= most {
		return used
	}
	replica.log.leaveOut("%s is not used: it may be the tokens of the fullest pool of a hybrid model", metric.ForeignSGLangUsedTokens)
	return nil
}

// isHybrid reports whether a pool beside the KV cache is in use.
func isHybrid(replica view) bool {
	return slices.ContainsFunc(sglangStates(replica), func(s StatePool) bool { return s.UsedRatio > 0 })
}

// sglangUsage sets the share of the KV cache. token_usage is the share of the fullest pool: of a hybrid model it may be
// a pool of states. Releases before full_token_usage have the tokens only.
func sglangUsage(replica view, pool *Pool) {
	if len(replica.series(metric.ForeignSGLangFullUsage)) > 0 {
		pool.UsedRatio = ratio(replica.gauge(metric.ForeignSGLangFullUsage))
		return
	}
	pool.UsedRatio = ratio(replica.gauge(metric.ForeignSGLangTokenUsage))
	if !isHybrid(replica) {
		return
	}
	pool.UsedRatio = nil
	if pool.UsedTokens != nil && pool.CapacityTokens != nil && *pool.CapacityTokens > 0 {
		pool.UsedRatio = ratio(new(*pool.UsedTokens / *pool.CapacityTokens))
	}
	if pool.UsedRatio == nil {
		replica.log.leaveOut("the share of the KV cache is not known: %s is the share of the fullest pool of a hybrid model, and there is no %s",
			metric.ForeignSGLangTokenUsage, metric.ForeignSGLangFullUsage)
	}
}

// sglangStates are the pools of a hybrid model beside the KV cache of full attention. The fullest of several replicas
// counts: a full pool stops its replica only.
func sglangStates(v view) []StatePool {
	var pools []StatePool
	for _, kind := range []struct{ pool, name string }{
		{metric.PoolMamba, metric.ForeignSGLangMambaUsage}, {metric.PoolSlidingWindow, metric.ForeignSGLangSlidingUsage},
	} {
		var fullest *float64
		for _, replica := range v.replicas(kind.name) {
			if used := ratio(replica.gauge(kind.name)); used != nil && (fullest == nil || *used > *fullest) {
				fullest = used
			}
		}
		if fullest != nil {
			pools = append(pools, StatePool{kind.pool, *fullest})
		}
	}
	return pools
}

// sglangPageSize is the number of tokens in a block, in a series of its own or in a label by release.
func sglangPageSize(v view) *float64 {
	if found := v.series(metric.ForeignSGLangPageSize); len(found) > 0 {
		return sameOf(v, metric.ForeignSGLangPageSize, found)
	}
	config := v.whole().series(metric.ForeignSGLangCacheConfigInfo)
	if len(labelValues(config, metric.ForeignSGLangLabelPageSize)) == 1 {
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
	return lookups(v.counter(metric.ForeignSGLangPromptTokens), hits)
}

// sglangRetractions are 0 until the first, when their counter appears; a gauge exists before.
func sglangRetractions(v view) *float64 {
	if counted := v.counter(metric.ForeignSGLangRetractedTotal); counted != nil {
		return counted
	}
	if len(v.series(metric.ForeignSGLangRetracted)) > 0 {
		return new(0.0)
	}
	return nil
}
