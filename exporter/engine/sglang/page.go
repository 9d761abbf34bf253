package sglang

import (
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// read reads a page of SGLang. Ranks of tensor, pipeline and expert parallelism repeat the figures of their
// replica; data-parallel replicas add up.
func read(all spec.View) []spec.Model {
	names := []string{Running, TokenUsage, PromptTokens}
	models := spec.PerModel(all, spec.LabelModelName, names, func(v spec.View) spec.Model {
		return spec.Model{
			Pool:         pool(v),
			StatePools:   states(v),
			PrefixTokens: lookups(v),
			Preemptions:  retractions(v),
			Speculation:  speculation(v),
			Memory: spec.MemoryByKind(map[string]*float64{
				metric.EngineMemoryWeights: bytes(v, WeightGigabytes),
				metric.EngineMemoryGraphs:  bytes(v, GraphGigabytes),
			}),
			TierUsedTokens:     host(v, HostUsedTokens),
			TierCapacityTokens: host(v, HostTotalTokens),
			Requests: spec.Counts(map[string]*float64{
				metric.RequestsRunning: requests(v, Running),
				metric.RequestsWaiting: requests(v, Queued),
			}),
			PromptTokens:     v.Counter(PromptTokens),
			GenerationTokens: v.Counter(GenerationTokens),
		}
	})
	if len(models) == 1 { // the caches do not name it
		models[0].Moved, models[0].EvictedTokens = moved(all), perReplica(all, EvictedTokens)
	}
	return models
}

// requests is a gauge of requests. With priorities, only the series for all of them counts.
func requests(v spec.View, name string) *float64 {
	return v.With(LabelPriority, "").Gauge(name)
}

// host is a gauge of the host's tier, which exists only with HiCache.
func host(v spec.View, name string) []spec.TierValue {
	if tokens := v.Gauge(name); tokens != nil {
		return []spec.TierValue{{Tier: metric.TierHost, Value: *tokens}}
	}
	return nil
}

// firstRank narrows a view to the first rank of a replica: the memory of each GPU has a size of its own.
func firstRank(v spec.View, name string) spec.View {
	for _, label := range ranks() {
		if ranks := spec.LabelValues(v.Series(name), label); len(ranks) > 0 {
			v = v.With(label, ranks[0])
		}
	}
	return v
}

// maxPhases is the maximum number of phases of an engine that have memory of their own; there are two.
const maxPhases = 16

// bytes adds up gigabytes of the first GPU over replicas, and over phases where there are any.
func bytes(v spec.View, name string) *float64 {
	sum, found := 0.0, false
	for _, replica := range v.Replicas(name) {
		phases := spec.LabelValues(replica.Series(name), LabelPhase)
		for _, phase := range phases[:min(len(phases), maxPhases)] {
			if gigabytes := firstRank(replica.With(LabelPhase, phase), name).Gauge(name); gigabytes != nil {
				sum, found = sum+*gigabytes*(1<<30), true
			}
		}
	}
	if !found {
		return nil
	}
	return &sum
}

func pool(v spec.View) spec.Pool {
	var pools []spec.Pool
	for _, replica := range v.Replicas(TokenUsage, FullUsage) {
		pool := spec.Pool{
			CapacityTokens: replica.Gauge(MaxTokens),
			UsedTokens:     usedTokens(replica),
		}
		usage(replica, &pool)
		if page := pageSize(v); pool.CapacityTokens != nil && page != nil && *page > 0 {
			if blocks := *pool.CapacityTokens / *page; blocks == math.Trunc(blocks) {
				pool.CapacityBlocks = &blocks
			} else {
				v.LeaveOut("the blocks of the KV cache are not worked out: %v tokens are no whole number of pages of %v", *pool.CapacityTokens, *page)
			}
		}
		// Zero means that the size of the pool is unknown: some kinds of model never set it.
		if gigabytes := firstRank(replica, KVGigabytes).Gauge(KVGigabytes); gigabytes != nil && *gigabytes > 0 {
			pool.CapacityBytes = new(*gigabytes * (1 << 30))
		}
		pools = append(pools, pool)
	}
	return spec.Join(pools)
}

// usedTokens are the tokens in the KV cache. num_used_tokens may be those of another pool of a hybrid model.
func usedTokens(replica spec.View) *float64 {
	if len(replica.Series(KVUsedTokens)) > 0 || !isHybrid(replica) {
		return replica.Gauge(KVUsedTokens, UsedTokens)
	}
	used, capacity := replica.Gauge(UsedTokens), replica.Gauge(MaxTokens)
	share := replica.Gauge(FullUsage)
	const most = 0.01 // the engine rounds neither, and writes both in one step
	if used != nil && capacity != nil && share != nil && math.Abs(*used / *capacity - *share) <= most {
		return used
	}
	replica.LeaveOut("%s is not used: it may be the tokens of the fullest pool of a hybrid model", UsedTokens)
	return nil
}

// isHybrid reports whether a pool beside the KV cache is in use.
func isHybrid(replica spec.View) bool {
	return slices.ContainsFunc(states(replica), func(s spec.StatePool) bool { return s.UsedRatio > 0 })
}

// usage sets the share of the KV cache. token_usage is the share of the fullest pool: of a hybrid model it may be
// a pool of states. Releases before full_token_usage have the tokens only.
func usage(replica spec.View, pool *spec.Pool) {
	if len(replica.Series(FullUsage)) > 0 {
		pool.UsedRatio = spec.Ratio(replica.Gauge(FullUsage))
		return
	}
	pool.UsedRatio = spec.Ratio(replica.Gauge(TokenUsage))
	if !isHybrid(replica) {
		return
	}
	pool.UsedRatio = nil
	if pool.UsedTokens != nil && pool.CapacityTokens != nil && *pool.CapacityTokens > 0 {
		pool.UsedRatio = spec.Ratio(new(*pool.UsedTokens / *pool.CapacityTokens))
	}
	if pool.UsedRatio == nil {
		replica.LeaveOut("the share of the KV cache is not known: %s is the share of the fullest pool of a hybrid model, and there is no %s",
			TokenUsage, FullUsage)
	}
}

// states are the pools of a hybrid model beside the KV cache of full attention. The fullest of several replicas
// counts: a full pool stops its replica only.
func states(v spec.View) []spec.StatePool {
	var pools []spec.StatePool
	for _, kind := range []struct{ pool, name string }{
		{metric.PoolMamba, MambaUsage}, {metric.PoolSlidingWindow, SlidingUsage},
	} {
		var fullest *float64
		for _, replica := range v.Replicas(kind.name) {
			if used := spec.Ratio(replica.Gauge(kind.name)); used != nil && (fullest == nil || *used > *fullest) {
				fullest = used
			}
		}
		if fullest != nil {
			pools = append(pools, spec.StatePool{Kind: kind.pool, UsedRatio: *fullest})
		}
	}
	return pools
}

// pageSize is the number of tokens in a block, in a series of its own or in a label by release.
func pageSize(v spec.View) *float64 {
	if found := v.Series(PageSize); len(found) > 0 {
		return spec.SameOf(v, PageSize, found)
	}
	config := v.Whole().Series(CacheConfigInfo)
	if len(spec.LabelValues(config, LabelPageSize)) == 1 {
		return spec.LabelNumber(config[0].Labels, LabelPageSize)
	}
	return nil
}

// lookups counts the tokens of prompts and those found, by tier in newer releases.
func lookups(v spec.View) *spec.Lookups {
	hits := spec.HitsByTier(v, CachedTokens, LabelCacheSource, tier)
	if len(hits) == 0 {
		return nil // reuse is off, or has not happened yet
	}
	return spec.NewLookups(v.Counter(PromptTokens), hits)
}

// retractions are 0 until the first, when their counter appears; a gauge exists before.
func retractions(v spec.View) *float64 {
	if counted := v.Counter(RetractedTotal); counted != nil {
		return counted
	}
	if len(v.Series(Retracted)) > 0 {
		return new(0.0)
	}
	return nil
}

// speculation takes the mean length from a gauge: no counter has the accepted tokens. That of several replicas
// together is unknown.
func speculation(v spec.View) spec.Speculation {
	s := spec.Speculation{Drafts: v.Counter(VerifyCalls)}
	if len(v.Replicas(AcceptLength)) == 1 {
		s.AcceptedLength = spec.AboveZero(v.Gauge(AcceptLength))
	}
	return s
}

// tier returns the tier of a label cache_source of CachedTokens: "total" where the engine does
// not tell tiers apart, "storage" for any HiCache backend since 0.5.20. From 0.5.15 to 0.5.18 the name of the backend's class
// follows, of which HiCacheFile alone is certainly a disk of this machine (srt/observability/metrics_collector.py).
func tier(source string) string {
	switch {
	case source == "", source == "total":
		return metric.TierAny
	case source == metric.TierDevice, source == metric.TierHost:
		return source
	case source == "storage_HiCacheFile":
		return metric.TierDisk
	case strings.HasPrefix(source, "storage"):
		return metric.TierExternal
	}
	return metric.TierOther
}

// size reads the size of the KV cache of the fullest replica.
func size(page spec.Page) spec.Size {
	tokens := spec.Highest(page, MaxTokens)
	if tokens == 0 {
		return spec.Size{}
	}
	return spec.Size{Tokens: tokens, TokenBytes: spec.Highest(page, KVGigabytes) * (1 << 30) / tokens}
}

// moved are the copies of the hierarchical cache. Each rank counts the bytes of its own shard, and the same tokens.
func moved(all spec.View) []spec.Move {
	moves := []spec.Move{
		{From: metric.TierDevice, To: metric.TierHost, Bytes: all.Counter(BackupBytes), Tokens: perReplica(all, BackupTokens)},
		{From: metric.TierHost, To: metric.TierDevice, Bytes: all.Counter(LoadBackBytes), Tokens: perReplica(all, LoadBackTokens)},
	}
	for _, backend := range spec.LabelValues(slices.Concat(all.Series(StoredTokens), all.Series(PrefetchedTokens)), LabelBackend) {
		below, of := metric.TierExternal, all.With(LabelBackend, backend)
		if backend == fileBackend {
			below = metric.TierDisk
		}
		moves = append(moves, spec.Move{From: metric.TierHost, To: below, Tokens: perReplica(of, StoredTokens)},
			spec.Move{From: below, To: metric.TierHost, Tokens: perReplica(of, PrefetchedTokens)})
	}
	return spec.Moves(moves...)
}

// fileBackend is the value of --hicache-storage-backend for files of this machine.
const fileBackend = "file"

// perReplica adds up a counter of tokens of the first rank of each replica, of pools the one of the KV cache; nil if there is
// none.
func perReplica(v spec.View, name string) *float64 {
	if slices.Contains(spec.LabelValues(v.Series(name), LabelPool), poolKV) {
		v = v.With(LabelPool, poolKV)
	}
	var sum *float64
	for _, replica := range v.Replicas(name) {
		if count := firstRank(replica, name).Counter(name); count != nil {
			if sum == nil {
				sum = new(0.0)
			}
			*sum += *count
		}
	}
	return sum
}

const poolKV = "kv"
