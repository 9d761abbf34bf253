package vllm

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// cacheTokens returns the tokens that the KV cache of a vLLM has room for, by the labels of its
// CacheConfigInfo: its own figure in newer releases, else blocks of so many tokens. It is nil where the labels
// give neither; unknown is the reason if they have sizes that do not fit each other.
func cacheTokens(labels map[string]string) (tokens *float64, unknown string) {
	if own := spec.LabelNumber(labels, LabelTokens); own != nil {
		return own, ""
	}
	each, unknown := blockTokens(labels)
	return spec.Product(spec.LabelNumber(labels, LabelBlocks), each), unknown
}

// blockTokens returns the tokens of a block. It is nil where the labels give neither blocks nor their size; unknown is the
// reason if a block may hold another number of tokens.
func blockTokens(labels map[string]string) (tokens *float64, unknown string) {
	blocks, size, own := spec.LabelNumber(labels, LabelBlocks), spec.LabelNumber(labels, LabelBlockSize), spec.LabelNumber(labels, LabelTokens)
	if blocks == nil || size == nil {
		return nil, ""
	}
	if unknown = blockTokensUnknown(labels); unknown != "" {
		return nil, unknown
	}
	if own != nil && *own != *blocks**size {
		return nil, "the labels have " + labels[LabelTokens] + " tokens for " + labels[LabelBlocks] + " blocks of " + labels[LabelBlockSize]
	}
	return size, ""
}

// blockTokensUnknown returns why a block may hold another number of tokens than block_size, "" if it holds that many.
// Models with several kinds of layers share the blocks among the kinds, and the label may be the size from before the
// engine fitted it to the state of Mamba layers.
func blockTokensUnknown(labels map[string]string) string {
	set := func(label string) bool {
		value := labels[label]
		return value != "" && value != "None" && value != "0"
	}
	size, effective := spec.LabelNumber(labels, LabelBlockSize), spec.LabelNumber(labels, LabelEffectiveBlockSize)
	blocks, override := spec.LabelNumber(labels, LabelBlocks), spec.LabelNumber(labels, LabelBlocksOverride)
	text := func(number float64) string { return strconv.FormatFloat(math.Trunc(number), 'f', -1, 64) }
	switch {
	case set(LabelMambaBlockSize), set(LabelMambaPadding):
		return "the model has Mamba layers, which share the blocks"
	case set(LabelSlidingWindow):
		return "the model has layers with a sliding window, which may share the blocks"
	case labels[LabelAttentionFree] == "True":
		return "the model has no attention"
	case labels[LabelSizeResolved] == "False":
		return "the size of a block is that from before the engine chose it"
	case effective != nil && *effective != *size:
		return "the labels give two sizes of a block, " + text(*size) + " and " + text(*effective)
	case override != nil && *override != *blocks:
		return "the labels give two numbers of blocks, " + text(*blocks) + " and " + text(*override)
	}
	return ""
}

// tier returns the tier of a label source of CachedBySource, from
// vllm/v1/metrics/cache_hit_source.py of 0.32.0. p2p is another vLLM instance, external_unspecified a
// connector that does not name its tier.
func tier(source string) string {
	switch source {
	case metric.TierDevice, metric.TierHost, metric.TierDisk:
		return source
	case "p2p", "external_unspecified":
		return metric.TierExternal
	}
	return metric.TierOther
}

// size reads the configurations on a page. The bytes that vLLM was configured with are not those of its cache where the
// number of blocks was set too.
func size(page spec.Page) spec.Size {
	var all spec.Size
	for _, config := range page[CacheConfigInfo] {
		all.ValueBytes = cmp.Or(all.ValueBytes, valueBytes(config.Labels[LabelCacheType]))
		tokens, _ := cacheTokens(config.Labels)
		if tokens == nil || !(*tokens > 0 && *tokens <= mostTokens) {
			continue
		}
		all.Tokens = max(all.Tokens, *tokens)
		if bytes := spec.LabelNumber(config.Labels, LabelBytes); bytes != nil && spec.LabelNumber(config.Labels, LabelBlocksOverride) == nil && all.TokenBytes == 0 {
			all.TokenBytes = *bytes / *tokens
		}
	}
	return all
}

// mostTokens is far above the size of any cache.
const mostTokens = 1e15

// valueBytes returns the size of a value of the KV cache by --kv-cache-dtype; 0 if unknown. auto is the model's type, which
// has two bytes unless --dtype float32 is given.
func valueBytes(kind string) float64 {
	switch {
	case kind == "auto", kind == "bfloat16", kind == "float16":
		return 2
	case strings.HasPrefix(kind, "fp8"):
		return 1
	}
	return 0
}
