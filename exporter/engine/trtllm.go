package engine

import (
	"github.com/umascope/umascope/exporter/metric"
)

// readTensorRTLLM reads a page of TensorRT-LLM, or of a Dynamo worker that passes it through.
func readTensorRTLLM(all view) []Model {
	names := []string{metric.ForeignTensorRTLLMRunning, metric.ForeignTensorRTLLMKVUsage, metric.ForeignTensorRTLLMPromptTokens, metric.ForeignTensorRTLLMSuccess}
	return defined(perModel(all, metric.ForeignLabelModelName, names, func(v view) Model {
		prompt := v.counter(metric.ForeignTensorRTLLMPromptTokens)
		return Model{
			Pool:         tensorRTLLMPool(v),
			PrefixTokens: tensorRTLLMLookups(v, prompt),
			PrefixBlocks: blockLookups(v.counter(metric.ForeignTensorRTLLMReusedBlocks), v.counter(metric.ForeignTensorRTLLMMissedBlocks)),
			Speculation:  tensorRTLLMSpeculation(v),
			Requests: requests(map[string]*float64{
				metric.RequestsRunning: v.gauge(metric.ForeignTensorRTLLMRunning),
				metric.RequestsWaiting: v.gauge(metric.ForeignTensorRTLLMWaiting),
				metric.RequestsPaused:  v.gauge(metric.ForeignTensorRTLLMPaused),
			}),
			// Its PyTorch backend takes the GPU's figure from cudaMemGetInfo, and writes 0 for pinned memory.
			Memory: memory(map[string]*float64{
				metric.EngineMemoryDevice: v.gauge(metric.ForeignTensorRTLLMGPUMemory),
				metric.EngineMemoryPinned: v.gauge(metric.ForeignTensorRTLLMPinnedMemory),
			}),
			PromptTokens:     prompt,
			GenerationTokens: v.counter(metric.ForeignTensorRTLLMGenerationTokens),
		}
	}))
}

// tensorRTLLMPool is empty if more blocks are used than there are.
func tensorRTLLMPool(v view) Pool {
	blocks, used := v.gauge(metric.ForeignTensorRTLLMMaxBlocks), v.gauge(metric.ForeignTensorRTLLMUsedBlocks)
	if blocks != nil && used != nil && *used > *blocks {
		v.log.leaveOut("the KV cache is not used: %s %v and %s %v do not fit each other", metric.ForeignTensorRTLLMUsedBlocks, *used, metric.ForeignTensorRTLLMMaxBlocks, *blocks)
		return Pool{}
	}
	return blockPool(blocks, used, v.gauge(metric.ForeignTensorRTLLMTokensPerBlock), ratio(v.gauge(metric.ForeignTensorRTLLMKVUsage)))
}

// undefinedName is what the server writes in the labels of a model that it was not given a name for.
const undefinedName = "undefined"

// readTensorRTLLMUnprefixed reads a page of a release whose series have no prefix: times and finished requests, of which
// none is a figure here. It identifies the engine.
func readTensorRTLLMUnprefixed(all view) []Model {
	return defined(perModel(all, metric.ForeignLabelModelName, []string{metric.ForeignTensorRTLLMOldSuccess}, func(v view) Model {
		v.log.leaveOut("the page is that of a release of TensorRT-LLM whose series have no prefix: it has neither KV cache nor tokens; --engine.iteration-stats reads them")
		return Model{}
	}))
}

// defined takes the name from a model that has none.
func defined(models []Model) []Model {
	for i := range models {
		if models[i].Name == undefinedName && models[0].Name != "" {
			models[i].Name = ""
		}
	}
	return models
}

// tensorRTLLMLookups takes the hits by tier where there are any. They are counted when a request is admitted; prompt
// and cached tokens, of which the misses are the difference, when it ends.
func tensorRTLLMLookups(v view, prompt *float64) *Lookups {
	found := lookups(prompt, map[string]*float64{metric.TierAny: v.counter(metric.ForeignTensorRTLLMCachedTokens)})
	tiers := hitsByTier(v, metric.ForeignTensorRTLLMHitTokens, metric.ForeignTensorRTLLMLabelCacheTier, metric.ForeignTensorRTLLMCacheTier)
	if found == nil || len(tiers) == 0 {
		return found
	}
	found.Hits = lookups(prompt, tiers).Hits
	return found
}

// blockPool is a KV cache that is reported in blocks.
func blockPool(blocks, used, tokensPerBlock, usedRatio *float64) Pool {
	if usedRatio == nil && blocks != nil && used != nil && *blocks > 0 {
		usedRatio = ratio(new(*used / *blocks))
	}
	return Pool{
		CapacityBlocks: blocks, CapacityTokens: product(blocks, tokensPerBlock),
		UsedTokens: product(used, tokensPerBlock), UsedRatio: usedRatio,
	}
}

// blockLookups are blocks found, on any tier, and not found.
func blockLookups(reused, missed *float64) *Lookups {
	if reused == nil || missed == nil {
		return nil
	}
	return lookups(new(*reused+*missed), map[string]*float64{metric.TierAny: reused})
}

// iteration is an entry of the statistics in JSON, which TensorRT-LLM makes of every step of its scheduler. Fields
// that a release does not have are nil. Source: docs/source/commands/trtllm-serve/trtllm-serve.rst.
//
//	[{"iter": 154, "numActiveRequests": 1, "kvCacheStats": {"maxNumBlocks": 101256, "usedNumBlocks": 3, ...}}]
type iteration struct {
	ActiveRequests *float64 `json:"numActiveRequests"`
	QueuedRequests *float64 `json:"numQueuedRequests"`
	KVCache        struct {
		MaxBlocks      *float64 `json:"maxNumBlocks"`
		UsedBlocks     *float64 `json:"usedNumBlocks"`
		TokensPerBlock *float64 `json:"tokensPerBlock"`
		ReusedBlocks   *float64 `json:"reusedBlocks"`
		MissedBlocks   *float64 `json:"missedBlocks"`
	} `json:"kvCacheStats"`
	Batching struct {
		PausedRequests *float64 `json:"numPausedRequests"`
	} `json:"inflightBatchingStats"`
}

// complete fills in what the page lacks: older releases have few series on it.
func (it *iteration) complete(m *Model) {
	kv := it.KVCache
	for _, value := range []**float64{&kv.MaxBlocks, &kv.UsedBlocks, &kv.TokensPerBlock, &kv.ReusedBlocks, &kv.MissedBlocks} {
		*value = notBelowZero(*value)
	}
	if m.CapacityBlocks == nil {
		m.Pool = blockPool(kv.MaxBlocks, kv.UsedBlocks, kv.TokensPerBlock, nil)
	}
	if m.PrefixBlocks == nil {
		m.PrefixBlocks = blockLookups(kv.ReusedBlocks, kv.MissedBlocks)
	}
	if len(m.Requests) == 0 {
		m.Requests = requests(map[string]*float64{
			metric.RequestsRunning: notBelowZero(it.ActiveRequests), metric.RequestsWaiting: notBelowZero(it.QueuedRequests),
			metric.RequestsPaused: notBelowZero(it.Batching.PausedRequests),
		})
	}
}
