package engine

import (
	"github.com/umascope/umascope/exporter/metric"
)

// readTensorRTLLM reads a page of TensorRT-LLM, or of a Dynamo worker that passes it through.
func readTensorRTLLM(all view) []Model {
	names := []string{metric.ForeignTensorRTLLMRunning, metric.ForeignTensorRTLLMKVUsage, metric.ForeignTensorRTLLMPromptTokens, metric.ForeignTensorRTLLMSuccess}
	return perModel(all, metric.ForeignLabelModelName, names, func(v view) Model {
		prompt := v.sum(metric.ForeignTensorRTLLMPromptTokens)
		return Model{
			Pool: blockPool(v.sum(metric.ForeignTensorRTLLMMaxBlocks), v.sum(metric.ForeignTensorRTLLMUsedBlocks),
				largest(v.series(metric.ForeignTensorRTLLMTokensPerBlock)), ratio(largest(v.series(metric.ForeignTensorRTLLMKVUsage)))),
			PrefixTokens: tensorRTLLMLookups(v, prompt),
			PrefixBlocks: blockLookups(v.sum(metric.ForeignTensorRTLLMReusedBlocks), v.sum(metric.ForeignTensorRTLLMMissedBlocks)),
			Speculation:  tensorRTLLMSpeculation(v),
			Requests: requests(map[string]*float64{
				metric.RequestsRunning: v.sum(metric.ForeignTensorRTLLMRunning),
				metric.RequestsWaiting: v.sum(metric.ForeignTensorRTLLMWaiting),
				metric.RequestsPaused:  v.sum(metric.ForeignTensorRTLLMPaused),
			}),
			// Its PyTorch backend takes the GPU's figure from cudaMemGetInfo, and writes 0 for pinned memory.
			Memory: memory(map[string]*float64{
				metric.EngineMemoryDevice: v.sum(metric.ForeignTensorRTLLMGPUMemory),
				metric.EngineMemoryPinned: v.sum(metric.ForeignTensorRTLLMPinnedMemory),
			}),
			PromptTokens:     prompt,
			GenerationTokens: v.sum(metric.ForeignTensorRTLLMGenerationTokens),
		}
	})
}

// tensorRTLLMLookups takes the hits by tier where there are any. They are counted when a request is admitted; prompt
// and cached tokens, of which the misses are the difference, when it ends.
func tensorRTLLMLookups(v view, prompt *float64) *Lookups {
	found := lookups(prompt, map[string]*float64{metric.TierAny: v.sum(metric.ForeignTensorRTLLMCachedTokens)})
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
	if m.CapacityBlocks == nil {
		m.Pool = blockPool(kv.MaxBlocks, kv.UsedBlocks, kv.TokensPerBlock, nil)
	}
	if m.PrefixBlocks == nil {
		m.PrefixBlocks = blockLookups(kv.ReusedBlocks, kv.MissedBlocks)
	}
	if len(m.Requests) == 0 {
		m.Requests = requests(map[string]*float64{
			metric.RequestsRunning: it.ActiveRequests, metric.RequestsWaiting: it.QueuedRequests, metric.RequestsPaused: it.Batching.PausedRequests,
		})
	}
}
