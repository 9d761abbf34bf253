package llamacpp

import (
	"fmt"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// grant has no share: its KV cache is for the tokens of --ctx-size.
func grant(m spec.GPUMemory, runtime spec.Interval, release string, weights *int64) spec.Grant {
	g := spec.Grant{Meaning: "no share: its KV cache is for the tokens of --ctx-size, and allocated at the start (" + release + ")"}
	g.Slots = slots
	if weights != nil {
		g.Cache("for one engine", spec.Exactly(m.Budget()), *weights, runtime)
	}
	return g
}

// slots are the arguments of llama.cpp for so many tokens: --ctx-size is for all slots of --parallel together.
func slots(tokens, context int64) []string {
	const block, most = 256, 256 // to which llama.cpp rounds up; LLAMA_MAX_SEQ
	sequences := min(most, max(1, tokens/context))
	size := min(tokens, sequences*context) / block * block
	if size == 0 {
		return nil
	}
	return []string{"--ctx-size", fmt.Sprint(size), "--parallel", fmt.Sprint(sequences)}
}
