package metric

import (
	"math"
	"strconv"
)

// ForeignVLLMCacheTokens returns the tokens that the KV cache of a vLLM has room for, by the labels of its
// ForeignVLLMCacheConfigInfo: its own figure in newer releases, else blocks of so many tokens. It is nil where the labels
// give neither; unknown is the reason if they have sizes that do not fit each other.
func ForeignVLLMCacheTokens(labels map[string]string) (tokens *float64, unknown string) {
	if own := ForeignVLLMNumber(labels, ForeignVLLMLabelTokens); own != nil {
		return own, ""
	}
	blocks, size := ForeignVLLMNumber(labels, ForeignVLLMLabelBlocks), ForeignVLLMNumber(labels, ForeignVLLMLabelBlockSize)
	if blocks == nil || size == nil {
		return nil, ""
	}
	if unknown = blockTokensUnknown(labels); unknown != "" {
		return nil, unknown
	}
	return new(*blocks * *size), ""
}

// ForeignVLLMNumber is a whole number in a label, nil for other text, such as None.
func ForeignVLLMNumber(labels map[string]string, label string) *float64 {
	number, err := strconv.ParseUint(labels[label], 10, 53)
	if err != nil {
		return nil
	}
	return new(float64(number))
}

// blockTokensUnknown returns why a block may hold another number of tokens than block_size, "" if it holds that many.
// Models with several kinds of layers share the blocks among the kinds, and the label may be the size from before the
// engine fitted it to the state of Mamba layers.
func blockTokensUnknown(labels map[string]string) string {
	set := func(label string) bool {
		value := labels[label]
		return value != "" && value != "None" && value != "0"
	}
	size, effective := ForeignVLLMNumber(labels, ForeignVLLMLabelBlockSize), ForeignVLLMNumber(labels, ForeignVLLMLabelEffectiveBlockSize)
	blocks, override := ForeignVLLMNumber(labels, ForeignVLLMLabelBlocks), ForeignVLLMNumber(labels, ForeignVLLMLabelBlocksOverride)
	text := func(number float64) string { return strconv.FormatFloat(math.Trunc(number), 'f', -1, 64) }
	switch {
	case set(ForeignVLLMLabelMambaBlockSize), set(ForeignVLLMLabelMambaPadding):
		return "the model has Mamba layers, which share the blocks"
	case set(ForeignVLLMLabelSlidingWindow):
		return "the model has layers with a sliding window, which may share the blocks"
	case labels[ForeignVLLMLabelAttentionFree] == "True":
		return "the model has no attention"
	case labels[ForeignVLLMLabelSizeResolved] == "False":
		return "the size of a block is that from before the engine chose it"
	case effective != nil && *effective != *size:
		return "the labels give two sizes of a block, " + text(*size) + " and " + text(*effective)
	case override != nil && *override != *blocks:
		return "the labels give two numbers of blocks, " + text(*blocks) + " and " + text(*override)
	}
	return ""
}
