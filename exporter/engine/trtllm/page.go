package trtllm

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// read reads a page of TensorRT-LLM, or of a Dynamo worker that passes it through.
func read(all spec.View) []spec.Model {
	names := []string{Running, KVUsage, PromptTokens, Success}
	return defined(spec.PerModel(all, spec.LabelModelName, names, func(v spec.View) spec.Model {
		prompt := v.Counter(PromptTokens)
		return spec.Model{
			Pool:         pool(v),
			PrefixTokens: lookups(v, prompt),
			PrefixBlocks: blockLookups(v.Counter(ReusedBlocks), v.Counter(MissedBlocks)),
			Speculation:  speculation(v),
			Requests: spec.Counts(map[string]*float64{
				metric.RequestsRunning: v.Gauge(Running),
				metric.RequestsWaiting: v.Gauge(Waiting),
				metric.RequestsPaused:  v.Gauge(Paused),
			}),
			// Its PyTorch backend takes the GPU's figure from cudaMemGetInfo, and writes 0 for pinned memory.
			Memory: spec.MemoryByKind(map[string]*float64{
				metric.EngineMemoryDevice: v.Gauge(GPUMemory),
				metric.EngineMemoryPinned: v.Gauge(PinnedMemory),
			}),
			Moved: spec.Moves(
				spec.Move{From: metric.TierDevice, To: metric.TierHost, Bytes: v.Counter(OffloadBytes)},
				spec.Move{From: metric.TierHost, To: metric.TierDevice, Bytes: v.Counter(OnboardBytes)},
			),
			PromptTokens:     prompt,
			GenerationTokens: v.Counter(GenerationTokens),
		}
	}))
}

// pool is empty if more blocks are used than there are.
func pool(v spec.View) spec.Pool {
	blocks, used := v.Gauge(MaxBlocks), v.Gauge(UsedBlocks)
	if blocks != nil && used != nil && *used > *blocks {
		v.LeaveOut("the KV cache is not used: %s %v and %s %v do not fit each other", UsedBlocks, *used, MaxBlocks, *blocks)
		return spec.Pool{}
	}
	return blockPool(blocks, used, v.Gauge(TokensPerBlock), spec.Ratio(v.Gauge(KVUsage)))
}

// undefinedName is what the server writes in the labels of a model that it was not given a name for.
const undefinedName = "undefined"

// readUnprefixed reads a page of a release whose series have no prefix: times and finished requests, of which
// none is a figure here. It identifies the engine.
func readUnprefixed(all spec.View) []spec.Model {
	return defined(spec.PerModel(all, spec.LabelModelName, []string{OldSuccess}, func(v spec.View) spec.Model {
		v.LeaveOut("the page is that of a release of TensorRT-LLM whose series have no prefix: it has neither KV cache nor tokens; --engine.iteration-stats reads them")
		return spec.Model{}
	}))
}

// defined takes the name from a model that has none.
func defined(models []spec.Model) []spec.Model {
	for i := range models {
		if models[i].Name == undefinedName && models[0].Name != "" {
			models[i].Name = ""
		}
	}
	return models
}

// lookups takes the hits by tier where there are any. They are counted when a request is admitted; prompt
// and cached tokens, of which the misses are the difference, when it ends.
func lookups(v spec.View, prompt *float64) *spec.Lookups {
	found := spec.NewLookups(prompt, map[string]*float64{metric.TierAny: v.Counter(CachedTokens)})
	tiers := spec.HitsByTier(v, HitTokens, LabelCacheTier, tier)
	if found == nil || len(tiers) == 0 {
		return found
	}
	found.Hits = spec.NewLookups(prompt, tiers).Hits
	return found
}

// blockPool is a KV cache that is reported in blocks.
func blockPool(blocks, used, tokensPerBlock, usedRatio *float64) spec.Pool {
	if usedRatio == nil && blocks != nil && used != nil && *blocks > 0 {
		usedRatio = spec.Ratio(new(*used / *blocks))
	}
	return spec.Pool{
		CapacityBlocks: blocks, CapacityTokens: spec.Product(blocks, tokensPerBlock),
		UsedTokens: spec.Product(used, tokensPerBlock), UsedRatio: usedRatio,
	}
}

// blockLookups are blocks found, on any tier, and not found.
func blockLookups(reused, missed *float64) *spec.Lookups {
	if reused == nil || missed == nil {
		return nil
	}
	return spec.NewLookups(new(*reused+*missed), map[string]*float64{metric.TierAny: reused})
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
func (it *iteration) complete(m *spec.Model) {
	kv := it.KVCache
	for _, value := range []**float64{&kv.MaxBlocks, &kv.UsedBlocks, &kv.TokensPerBlock, &kv.ReusedBlocks, &kv.MissedBlocks} {
		*value = spec.NotBelowZero(*value)
	}
	if m.CapacityBlocks == nil {
		m.Pool = blockPool(kv.MaxBlocks, kv.UsedBlocks, kv.TokensPerBlock, nil)
	}
	if m.PrefixBlocks == nil {
		m.PrefixBlocks = blockLookups(kv.ReusedBlocks, kv.MissedBlocks)
	}
	if len(m.Requests) == 0 {
		m.Requests = spec.Counts(map[string]*float64{
			metric.RequestsRunning: spec.NotBelowZero(it.ActiveRequests), metric.RequestsWaiting: spec.NotBelowZero(it.QueuedRequests),
			metric.RequestsPaused: spec.NotBelowZero(it.Batching.PausedRequests),
		})
	}
}

// speculation takes the counts of iterations, else those of requests that ended. Both appear with the
// first token: without an accepted one, a page has drafted ones only. No counter has the drafts.
func speculation(v spec.View) spec.Speculation {
	s := spec.Speculation{
		DraftTokens:    v.Counter(DraftTokens, DraftTokensByPos),
		AcceptedLength: spec.AboveZero(v.Gauge(AcceptanceLength)),
	}
	tokens := v.Counter(AcceptedTokens, AcceptedTokensByPos)
	if tokens == nil && s.DraftTokens != nil {
		tokens = new(0.0)
	}
	s.Accepted = spec.Accepted(tokens)
	return s
}

// tier returns the tier of a label cache_tier of HitTokens. Blocks
// that were prefetched from disk to host before the lookup count as host.
func tier(word string) string {
	switch word {
	case "gpu":
		return metric.TierDevice
	case metric.TierHost, metric.TierDisk:
		return word
	}
	return metric.TierOther
}

// size is that of a page by which blocks hold so many tokens.
func size(page spec.Page) spec.Size {
	return spec.Size{Tokens: spec.Highest(page, MaxBlocks) * spec.Highest(page, TokensPerBlock)}
}
