package vllm

import "github.com/umascope/umascope/exporter/engine/spec"

// grant is the share of the total of an engine that does not start if less is available (request_memory of
// v1/worker/utils.py), and takes from that share all that it allocated before the KV cache (determine_available_memory of
// v1/worker/gpu_worker.py). Where the GPU is integrated it asks for MemAvailable (MemorySnapshot of utils/mem_utils.py).
func grant(m spec.GPUMemory, runtime spec.Interval, release string, weights *int64) spec.Grant {
	g := spec.Grant{
		Flag:    "--gpu-memory-utilization",
		Meaning: "share of the total, for all that the engine allocates; it does not start if less is available (" + release + ")",
	}
	g.Set(m.Budget(), 0, m.Available, m.Total)
	if weights != nil {
		g.Cache("share of the total", spec.Exactly(spec.Share(g.Hundredths, m.Total)), *weights, runtime)
	}
	return g
}
