package vllm

import (
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// read reads a page of vLLM, or of a Dynamo worker that passes it through.
func read(all spec.View) []spec.Model {
	running := metric.VLLMNumRequestsRunning.Def().Name
	usage := metric.VLLMKVCacheUsagePerc.Def().Name
	prompt := metric.VLLMPromptTokensTotal.Def().Name
	return spec.PerModel(all, spec.LabelModelName, []string{running, usage, GPUUsage, prompt}, func(v spec.View) spec.Model {
		simple := readSimpleOffload(v)
		return spec.Model{
			Pool:         pool(v, usage),
			MemoryShare:  share(v.Whole()),
			PrefixTokens: lookups(v),
			Preemptions:  v.Counter(Preemptions),
			Speculation:  speculation(v),
			Moved:        append(moved(v), simple.moved...),
			TierDirectIO: simple.directIO,

			TierCapacityTokens: simple.capacity,
			TierCapacityBytes:  hostCapacity(v.Whole()),
			Requests: spec.Counts(map[string]*float64{
				metric.RequestsRunning: v.Gauge(running), metric.RequestsWaiting: v.Gauge(metric.VLLMNumRequestsWaiting.Def().Name),
			}),
			PromptTokens:     v.Counter(prompt),
			GenerationTokens: v.Counter(metric.VLLMGenerationTokensTotal.Def().Name),
		}
	})
}

// pool joins the pools of the replicas, which the label engine numbers.
func pool(v spec.View, usage string) spec.Pool {
	var pools []spec.Pool
	replicas := v.Replicas(usage, GPUUsage)
	for _, replica := range replicas {
		pool := spec.Pool{UsedRatio: spec.Ratio(replica.Gauge(usage, GPUUsage))}
		capacity(v, &pool, config(v, replica, len(replicas)))
		pool.UsedTokens = spec.Product(pool.UsedRatio, pool.CapacityTokens)
		pools = append(pools, pool)
	}
	return spec.Join(pools)
}

// config is the configuration of a replica. It has no model name, since vLLM serves one per process, and in some
// releases no replica either. Each API server of a replica may repeat it.
func config(v, replica spec.View, replicas int) []spec.Series {
	number := replica.Narrowest()
	config := v.Whole().With(number.Name, number.Value).Series(CacheConfigInfo)
	if len(config) == 0 && replicas == 1 {
		return v.Whole().With(number.Name, "").Series(CacheConfigInfo)
	}
	return config
}

// share is the setting of all replicas, which are started alike.
func share(all spec.View) *float64 {
	for _, config := range all.Series(CacheConfigInfo) {
		if value, err := strconv.ParseFloat(config.Labels[LabelMemoryShare], 64); err == nil {
			return spec.Ratio(&value)
		}
	}
	return nil
}

// capacity takes sizes from the labels of a configuration, in which its repetitions must agree.
func capacity(v spec.View, pool *spec.Pool, configs []spec.Series) {
	if len(configs) == 0 {
		return
	}
	for _, label := range []string{LabelBlocks, LabelBlocksOverride, LabelBlockSize, LabelTokens, LabelBytes} {
		if len(spec.LabelValues(configs, label)) > 1 {
			v.LeaveOut("the capacity of the KV cache is not used: %s has several values of %s for one engine", CacheConfigInfo, label)
			return
		}
	}
	labels := configs[0].Labels
	tokens, unknown := cacheTokens(labels)
	if pool.CapacityTokens = tokens; unknown != "" {
		v.LeaveOut("the tokens of the KV cache are not worked out from %s and %s: %s", LabelBlocks, LabelBlockSize, unknown)
	}
	pool.CapacityBlocks = spec.LabelNumber(labels, LabelBlocks)
	// The bytes are a setting, which the engine fills with blocks unless the number of blocks is set.
	switch override := spec.LabelNumber(labels, LabelBlocksOverride); {
	case override == nil:
		pool.CapacityBytes = spec.LabelNumber(labels, LabelBytes)
	case pool.CapacityBlocks != nil && *override != *pool.CapacityBlocks:
		pool.CapacityBlocks = nil
		v.LeaveOut("the blocks of the KV cache are not used: %s and %s do not fit each other", LabelBlocks, LabelBlocksOverride)
	}
}

// lookups takes the split by source where there is one: it counts each prompt token once. Of the hits the
// split by tier is finer. Else a KV connector is asked for what the device does not have, so that its misses
// are the misses of both.
func lookups(v spec.View) *spec.Lookups {
	by := func(source string) *float64 {
		return v.With(LabelTokenSource, source).Counter(PromptTokensBy)
	}
	total := v.Counter(PrefixQueries, GPUPrefixQueries)
	tiers := spec.HitsByTier(v, CachedBySource, LabelTokenSource, tier)
	computed := by(SourceCompute)
	switch {
	case len(tiers) > 0 && computed != nil:
		all := *computed
		for _, hits := range tiers {
			all += *hits
		}
		return spec.NewLookups(&all, tiers)
	case len(tiers) > 0:
		return spec.NewLookups(total, tiers)
	case computed != nil:
		hits := map[string]*float64{metric.TierDevice: by(SourceLocalHit)}
		if external := by(SourceExternal); external != nil {
			hits[metric.TierExternal] = external
		}
		return spec.NewLookups(v.Counter(PromptTokensBy), hits)
	}
	hits := map[string]*float64{metric.TierDevice: v.Counter(PrefixHits, GPUPrefixHits)}
	if external := v.Counter(ExternalHits); external != nil {
		hits[metric.TierExternal] = external
	}
	return spec.NewLookups(total, hits)
}

func speculation(v spec.View) spec.Speculation {
	s := spec.Speculation{
		Drafts: v.Counter(Drafts), DraftTokens: v.Counter(DraftTokens),
		Accepted: spec.AcceptedByPosition(v, AcceptedByPos, LabelPosition),
	}
	if total := v.Counter(AcceptedTokens); s.Accepted == nil {
		s.Accepted = spec.Accepted(total)
	}
	return s
}

// moved are the copies of the engine's own offloading, whose first tier is the host. Releases before the counters of loads and
// stores have one counter by direction.
func moved(v spec.View) []spec.Move {
	either := func(name, transfer string) *float64 {
		if count := v.Counter(name); count != nil {
			return count
		}
		return v.With(LabelTransfer, transfer).Counter(OffloadedBytes)
	}
	moves := []spec.Move{
		{From: metric.TierDevice, To: metric.TierHost, Bytes: either(StoredBytes, TransferStore)},
		{From: metric.TierHost, To: metric.TierDevice, Bytes: either(LoadedBytes, TransferLoad)},
	}
	for _, below := range []struct{ tier, kind string }{{metric.TierDisk, ":fs"}, {metric.TierObject, ":obj"}} {
		moves = append(moves,
			spec.Move{From: metric.TierHost, To: below.tier, Bytes: ofKind(v, TierWrittenBytes, below.kind)},
			spec.Move{From: below.tier, To: metric.TierHost, Bytes: ofKind(v, TierReadBytes, below.kind)})
	}
	return spec.Moves(moves...)
}

// hostCapacity is the size of the host's tier of the engine's own offloading, of all replicas. The page has no use of it:
// kv_offload_cpu_cache_usage_perc is the share that copies hold at the moment.
func hostCapacity(all spec.View) []spec.TierValue {
	bytes := 0.0
	for _, replica := range all.Replicas(OffloadInfo) {
		sizes := slices.DeleteFunc(spec.LabelValues(replica.Series(OffloadInfo), LabelHostBytes), func(text string) bool { return text == "" })
		if len(sizes) != 1 {
			return nil
		}
		size := spec.LabelNumber(map[string]string{LabelHostBytes: sizes[0]}, LabelHostBytes)
		if size == nil {
			return nil
		}
		bytes += *size
	}
	if bytes == 0 {
		return nil
	}
	return []spec.TierValue{{Tier: metric.TierHost, Value: bytes}}
}

// ofKind adds up the tiers of a kind, by the end of their label; nil if there is none.
func ofKind(v spec.View, name, kind string) *float64 {
	var sum *float64
	for _, tier := range spec.LabelValues(v.Series(name), LabelTier) {
		if count := v.With(LabelTier, tier).Counter(name); count != nil && strings.HasSuffix(tier, kind) {
			if sum == nil {
				sum = new(0.0)
			}
			*sum += *count
		}
	}
	return sum
}
