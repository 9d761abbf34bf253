package engine

import (
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
)

// readVLLM reads a page of vLLM, or of a Dynamo worker that passes it through.
func readVLLM(all view) []Model {
	running := metric.VLLMNumRequestsRunning.Def().Name
	usage := metric.VLLMKVCacheUsagePerc.Def().Name
	prompt := metric.VLLMPromptTokensTotal.Def().Name
	return perModel(all, metric.ForeignLabelModelName, []string{running, usage, metric.ForeignVLLMGPUUsage, prompt}, func(v view) Model {
		return Model{
			Pool:         vllmPool(v, usage),
			MemoryShare:  vllmShare(v.whole()),
			PrefixTokens: vllmLookups(v),
			Preemptions:  v.counter(metric.ForeignVLLMPreemptions),
			Speculation:  vllmSpeculation(v),
			Requests: requests(map[string]*float64{
				metric.RequestsRunning: v.gauge(running), metric.RequestsWaiting: v.gauge(metric.VLLMNumRequestsWaiting.Def().Name),
			}),
			PromptTokens:     v.counter(prompt),
			GenerationTokens: v.counter(metric.VLLMGenerationTokensTotal.Def().Name),
		}
	})
}

// vllmPool joins the pools of the replicas, which the label engine numbers.
func vllmPool(v view, usage string) Pool {
	var pools []Pool
	replicas := v.replicas(usage, metric.ForeignVLLMGPUUsage)
	for _, replica := range replicas {
		pool := Pool{UsedRatio: ratio(replica.gauge(usage, metric.ForeignVLLMGPUUsage))}
		vllmCapacity(v, &pool, vllmConfig(v, replica, len(replicas)))
		pool.UsedTokens = product(pool.UsedRatio, pool.CapacityTokens)
		pools = append(pools, pool)
	}
	return join(pools)
}

// vllmConfig is the configuration of a replica. It has no model name, since vLLM serves one per process, and in some
// releases no replica either. Each API server of a replica may repeat it.
func vllmConfig(v, replica view, replicas int) []Series {
	number := replica.match[len(replica.match)-1]
	config := v.whole().with(number.Name, number.Value).series(metric.ForeignVLLMCacheConfigInfo)
	if len(config) == 0 && replicas == 1 {
		return v.whole().with(number.Name, "").series(metric.ForeignVLLMCacheConfigInfo)
	}
	return config
}

// vllmShare is the setting of all replicas, which are started alike.
func vllmShare(all view) *float64 {
	for _, config := range all.series(metric.ForeignVLLMCacheConfigInfo) {
		if value, err := strconv.ParseFloat(config.Labels[metric.ForeignVLLMLabelMemoryShare], 64); err == nil {
			return ratio(&value)
		}
	}
	return nil
}

// vllmCapacity takes sizes from the labels of a configuration, in which its repetitions must agree.
func vllmCapacity(v view, pool *Pool, configs []Series) {
	if len(configs) == 0 {
		return
	}
	for _, label := range []string{metric.ForeignVLLMLabelBlocks, metric.ForeignVLLMLabelBlocksOverride, metric.ForeignVLLMLabelBlockSize, metric.ForeignVLLMLabelTokens, metric.ForeignVLLMLabelBytes} {
		if len(labelValues(configs, label)) > 1 {
			v.log.leaveOut("the capacity of the KV cache is not used: %s has several values of %s for one engine", metric.ForeignVLLMCacheConfigInfo, label)
			return
		}
	}
	labels := configs[0].Labels
	tokens, unknown := metric.ForeignVLLMCacheTokens(labels)
	if pool.CapacityTokens = tokens; unknown != "" {
		v.log.leaveOut("the tokens of the KV cache are not worked out from %s and %s: %s", metric.ForeignVLLMLabelBlocks, metric.ForeignVLLMLabelBlockSize, unknown)
	}
	pool.CapacityBlocks = labelNumber(configs[0], metric.ForeignVLLMLabelBlocks)
	// The bytes are a setting, which the engine fills with blocks unless the number of blocks is set.
	switch override := labelNumber(configs[0], metric.ForeignVLLMLabelBlocksOverride); {
	case override == nil:
		pool.CapacityBytes = labelNumber(configs[0], metric.ForeignVLLMLabelBytes)
	case pool.CapacityBlocks != nil && *override != *pool.CapacityBlocks:
		pool.CapacityBlocks = nil
		v.log.leaveOut("the blocks of the KV cache are not used: %s and %s do not fit each other", metric.ForeignVLLMLabelBlocks, metric.ForeignVLLMLabelBlocksOverride)
	}
}

// vllmLookups takes the split by source where there is one: it counts each prompt token once. Of the hits the
// split by tier is finer. Else a KV connector is asked for what the device does not have, so that its misses
// are the misses of both.
func vllmLookups(v view) *Lookups {
	by := func(source string) *float64 {
		return v.with(metric.ForeignVLLMLabelTokenSource, source).counter(metric.ForeignVLLMPromptTokensBy)
	}
	total := v.counter(metric.ForeignVLLMPrefixQueries, metric.ForeignVLLMGPUPrefixQueries)
	tiers := hitsByTier(v, metric.ForeignVLLMCachedBySource, metric.ForeignVLLMLabelTokenSource, metric.ForeignVLLMCacheTier)
	computed := by(metric.ForeignVLLMSourceCompute)
	switch {
	case len(tiers) > 0 && computed != nil:
		all := *computed
		for _, hits := range tiers {
			all += *hits
		}
		return lookups(&all, tiers)
	case len(tiers) > 0:
		return lookups(total, tiers)
	case computed != nil:
		hits := map[string]*float64{metric.TierDevice: by(metric.ForeignVLLMSourceLocalHit)}
		if external := by(metric.ForeignVLLMSourceExternal); external != nil {
			hits[metric.TierExternal] = external
		}
		return lookups(v.counter(metric.ForeignVLLMPromptTokensBy), hits)
	}
	hits := map[string]*float64{metric.TierDevice: v.counter(metric.ForeignVLLMPrefixHits, metric.ForeignVLLMGPUPrefixHits)}
	if external := v.counter(metric.ForeignVLLMExternalHits); external != nil {
		hits[metric.TierExternal] = external
	}
	return lookups(total, hits)
}
