package trtllm

import "github.com/umascope/umascope/exporter/engine/spec"

// grant is the share that the engine takes from what CUDA reports as free once weights, activations and graphs have been seen
// (_cal_max_memory of _torch/pyexecutor/_util.py). It asks CUDA on every GPU. On one that allocates from the pool that
// is MemFree, which is less by the page cache: the files of the weights, that it has just read, are in it.
func grant(m spec.GPUMemory, runtime spec.Interval, release string, weights *int64) spec.Grant {
	g := spec.Grant{
		Meaning: "share of what CUDA reports as free once the weights are loaded, for the KV cache (" + release + ")",
	}
	if weights == nil {
		return g
	}
	g.Flag = "--kv_cache_free_gpu_memory_fraction"
	counted := m.Available + m.Unpinnable
	free := spec.Interval{Low: m.Free, High: counted}
	name := "free by CUDA"
	if m.Free != counted {
		free.Low -= *weights
		name = "free by CUDA: without and with the page cache, in which the files of the weights stay"
	}
	left := free.Minus(spec.Exactly(*weights)).Minus(runtime)
	available := m.Available - *weights - runtime.High
	g.Set(available, m.Reserve, available, available+m.Unpinnable)
	kv := spec.Interval{Low: spec.Share(g.Hundredths, left.Positive().Low), High: spec.Share(g.Hundredths, left.Positive().High)}
	g.KV = &kv
	g.Steps = []spec.Step{
		{Name: name, Bytes: free.Positive()}, {Name: "weights", Bytes: spec.Exactly(-*weights)}, {Name: spec.RuntimeName, Bytes: runtime.Negative()},
		{Name: "KV cache: the share of that", Bytes: kv},
	}
	return g
}
