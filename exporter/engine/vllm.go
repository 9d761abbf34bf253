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
			Preemptions:  v.sum(metric.ForeignVLLMPreemptions),
			Speculation:  vllmSpeculation(v),
			Requests: requests(map[string]*float64{
				metric.RequestsRunning: v.sum(running), metric.RequestsWaiting: v.sum(metric.VLLMNumRequestsWaiting.Def().Name),
			}),
			PromptTokens:     v.sum(prompt),
			GenerationTokens: v.sum(metric.VLLMGenerationTokensTotal.Def().Name),
		}
	})
}

// vllmPool joins the pools of the replicas, which the label engine numbers.
func vllmPool(v view, usage string) Pool {
	used := v.series(usage)
	if len(used) == 0 {
		used = v.series(metric.ForeignVLLMGPUUsage)
	}
	var pools []Pool
	for _, replica := range used {
		pool := Pool{UsedRatio: ratio(&replica.Value)}
		if config := vllmConfig(v.whole(), replica, len(used)); len(config) == 1 {
			vllmCapacity(&pool, config[0])
		}
		pool.UsedTokens = product(pool.UsedRatio, pool.CapacityTokens)
		pools = append(pools, pool)
	}
	return join(pools)
}

// vllmConfig is the configuration of a replica. It has no model name, since vLLM serves one per process, and in some
// releases no replica either.
func vllmConfig(all view, replica Series, replicas int) []Series {
	number := Label{Name: metric.ForeignVLLMLabelEngine, Value: replica.Labels[metric.ForeignVLLMLabelEngine]}
	config := all.with(number.Name, number.Value).series(metric.ForeignVLLMCacheConfigInfo)
	if len(config) == 0 && replicas == 1 {
		return all.with(number.Name, "").series(metric.ForeignVLLMCacheConfigInfo)
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

// vllmCapacity takes sizes from labels. Models with several kinds of layers have blocks that do not hold
// block_size tokens each: newer releases give the tokens themselves.
func vllmCapacity(pool *Pool, config Series) {
	pool.CapacityBlocks = labelNumber(config, metric.ForeignVLLMLabelBlocks)
	// The bytes are a setting, which the engine fills with blocks unless the number of blocks is set.
	if labelNumber(config, metric.ForeignVLLMLabelBlocksOverride) == nil {
		pool.CapacityBytes = labelNumber(config, metric.ForeignVLLMLabelBytes)
	}
	pool.CapacityTokens = labelNumber(config, metric.ForeignVLLMLabelTokens)
	if pool.CapacityTokens == nil {
		pool.CapacityTokens = product(pool.CapacityBlocks, labelNumber(config, metric.ForeignVLLMLabelBlockSize))
	}
}

// vllmLookups takes the split by source where there is one: it counts each prompt token once. Of the hits the
// split by tier is finer. Else a KV connector is asked for what the device does not have, so that its misses
// are the misses of both.
func vllmLookups(v view) *Lookups {
	by := func(source string) *float64 {
		return v.with(metric.ForeignVLLMLabelTokenSource, source).sum(metric.ForeignVLLMPromptTokensBy)
	}
	total := v.sum(metric.ForeignVLLMPrefixQueries, metric.ForeignVLLMGPUPrefixQueries)
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
		return lookups(v.sum(metric.ForeignVLLMPromptTokensBy), hits)
	}
	hits := map[string]*float64{metric.TierDevice: v.sum(metric.ForeignVLLMPrefixHits, metric.ForeignVLLMGPUPrefixHits)}
	if external := v.sum(metric.ForeignVLLMExternalHits); external != nil {
		hits[metric.TierExternal] = external
	}
	return lookups(total, hits)
}
