package rundir

import (
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

const (
	// LargestBlock is the largest default block of a KV cache among engines, in tokens: of one on a CPU. Hybrid models
	// have larger ones, which their engine reports.
	LargestBlock = 128
	// mostBlock is the largest plausible block, in tokens.
	mostBlock = 16 << 10
)

// CacheBlock returns the tokens of a block of the engine's KV cache by its own settings, of several engines behind one
// page the most; 0 if they do not report them.
func (s Server) CacheBlock(engines spec.Engines) int {
	most := 0
	for _, name := range engines.BlockSettings() {
		for value := range strings.SplitSeq(s.Settings[name], ", ") {
			if tokens, err := strconv.Atoi(value); err == nil && tokens <= mostBlock {
				most = max(most, tokens)
			}
		}
	}
	return most
}

// CacheHolds returns how many tokens of a depth a prefix cache holds, which has whole blocks only; 0 for a depth that is
// shorter than a block. Where the size of a block is not known (0), it allows for the largest, but for less than all of
// the depth.
func CacheHolds(depth, block int) int {
	if block == 0 {
		return max(1, depth-LargestBlock)
	}
	return max(0, depth-block)
}
