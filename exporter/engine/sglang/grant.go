package sglang

import "github.com/umascope/umascope/exporter/engine/spec"

// grant is what the engine takes as its share from what is available when its context exists and no weights are loaded; it keeps the
// rest for activations and graphs (_profile_available_bytes of srt/mem_cache/kv_cache_configurator.py). Where the GPU is
// integrated it asks for MemAvailable (get_available_gpu_memory of srt/utils/common.py). So its rest must hold the
// reserve of the system as well.
func grant(m spec.GPUMemory, runtime spec.Interval, release string, weights *int64) spec.Grant {
	counted := m.Available + m.Unpinnable
	before := spec.Interval{Low: counted - spec.ContextBytes, High: counted}.Positive()
	g := spec.Grant{
		Flag:    "--mem-fraction-static",
		Meaning: "share of what is available before it loads, for weights and KV cache; activations and graphs take from the rest (" + release + ")",
	}
	g.Set(m.Budget(), runtime.High, m.Available-runtime.Low, counted)
	if weights != nil {
		static := spec.Interval{Low: spec.Share(g.Hundredths, before.Low), High: spec.Share(g.Hundredths, before.High)}
		g.Cache("share of what is available", static, *weights, spec.Interval{})
	}
	return g
}

// runtime is what 0.5.23 keeps for activations and graphs by itself, in MiB, with its defaults for a GPU of this size on one
// GPU (handle_gpu_memory_settings of srt/arg_groups/memory_hook.py): 512, 1.5 for each token of a prefill chunk, 2 for each
// request of the largest graph, 128; 10240 at least above 60 GiB.
func runtime(total int64) int64 {
	const mib, gib = 1 << 20, 1 << 30
	high := int64(0)
	for _, class := range []struct{ below, chunk, graphs int64 }{
		{20 * gib, 2048, 8}, {35 * gib, 4096, 48}, {60 * gib, 4096, 32}, {160 * gib, 8192, 256}, {1 << 62, 16384, 512},
	} {
		if total < class.below {
			high = 512 + class.chunk*3/2 + 2*class.graphs + 128
			break
		}
	}
	if total > 60*gib {
		high = max(high, 10240)
	}
	return high * mib
}
