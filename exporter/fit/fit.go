// Package fit computes how much of a GPU's memory an inference engine can be given, in the engine's own terms, and how
// many tokens its KV cache would hold. It reads models, and no machine: the caller brings the figures of its memory.
package fit

const gib = 1 << 30

// contextBytes is what a process holds of a GPU before it allocates anything: a CUDA context (0.508 GiB, measured on an
// H200 with driver 580). On GB10 it was not measured.
const contextBytes = gib / 2

// Interval is a range of bytes, or one value if both ends are equal.
type Interval struct {
	Low  int64 `json:"low_bytes"`
	High int64 `json:"high_bytes"`
}

// Exactly is one value.
func Exactly(bytes int64) Interval { return Interval{bytes, bytes} }

// minus subtracts: the low end is without the high end of the other.
func (i Interval) minus(other Interval) Interval {
	return Interval{i.Low - other.High, i.High - other.Low}
}

// negative is what taking the interval away adds.
func (i Interval) negative() Interval { return Interval{-i.High, -i.Low} }

// positive is the part of the interval that is not below 0.
func (i Interval) positive() Interval { return Interval{max(0, i.Low), max(0, i.High)} }

// Memory is the memory of one GPU before an engine starts, in bytes.
type Memory struct {
	// Total and Free are what cudaMemGetInfo reports. On a GPU that allocates from the pool they are MemTotal and
	// MemFree.
	Total, Free int64
	// Available is what an allocation can get: Free without Unpinnable, and what the kernel gives up to a program that asks
	// for memory. It is Free on a GPU with memory of its own.
	Available int64
	// Unpinnable is free memory in CMA. CUDA, and engines that ask the kernel for available memory, count it; an
	// allocation does not get it.
	Unpinnable int64
	// Reserve stays with the system and with other programs.
	Reserve int64
}

// Budget is what one engine can take, everything that it allocates included.
func (m Memory) Budget() int64 { return max(0, m.Available-m.Reserve) }

// Runtime is what an engine takes beside weights and KV cache: its CUDA context, activations and graphs. The low end is
// the context alone. The high end is what SGLang 0.5.23 keeps for them by itself, in MiB, with its defaults for a GPU of
// this size on one GPU (handle_gpu_memory_settings of srt/arg_groups/memory_hook.py): 512, 1.5 for each token of a
// prefill chunk, 2 for each request of the largest graph, 128; 10240 at least above 60 GiB.
func Runtime(total int64) Interval {
	const mib = 1 << 20
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
	return Interval{contextBytes, high * mib}
}

// Step is one line of the arithmetic: what is added or, with a sign, taken away. The last step is the result.
type Step struct {
	Name  string   `json:"step"`
	Bytes Interval `json:"bytes"`
}

// Engine is what one engine can be given.
type Engine struct {
	Name string `json:"engine"`
	// Flag is what the engine is started with. It is empty if the engine has none, or a model is needed to compute it.
	Flag string `json:"flag,omitempty"`
	// Hundredths and Limit are the share in the engine's own terms, in hundredths and rounded down: the one to type,
	// which leaves the reserve, and the one above which the engine cannot run. They are (Take - Keep) / Of and Most / Of, and
	// 0 without a flag.
	Hundredths int64 `json:"fraction_hundredths,omitempty"`
	Limit      int64 `json:"limit_hundredths,omitempty"`
	Take       int64 `json:"take_bytes,omitempty"`
	Keep       int64 `json:"keep_bytes,omitempty"`
	Most       int64 `json:"most_bytes,omitempty"`
	Of         int64 `json:"of_bytes,omitempty"`
	// Meaning is what the flag is a share of, with the version whose source it is from.
	Meaning string `json:"meaning"`
	// KV is the KV cache that a model gets with that share, at the end of the Steps; nil without a model.
	KV    *Interval `json:"kv_cache,omitempty"`
	Steps []Step    `json:"steps,omitempty"`
}

// set sets the share to parts of an amount.
func (e *Engine) set(take, keep, most, of int64) {
	e.Take, e.Keep, e.Most, e.Of = take, keep, most, of
	e.Hundredths, e.Limit = fraction(take-keep, of), fraction(most, of)
}

// fraction is a / b in hundredths, rounded down, from 0 to 100.
func fraction(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return min(100, 100*a/b)
}

// share is hundredths of an amount.
func share(hundredths, of int64) int64 { return hundredths * of / 100 }

// Engines computes what each engine can be given. Without a model, weights is nil.
func Engines(m Memory, weights *int64) []Engine {
	return []Engine{vllm(m, weights), sglang(m, weights), tensorRTLLM(m, weights), llamaCPP(m, weights)}
}

// vllm is refused at the start if less is available than its share of the total (request_memory of v1/worker/utils.py),
// and takes from that share all that it allocated before the KV cache (determine_available_memory of
// v1/worker/gpu_worker.py). Where the GPU is integrated it asks for MemAvailable (MemorySnapshot of utils/mem_utils.py).
func vllm(m Memory, weights *int64) Engine {
	e := Engine{
		Name: vLLM, Flag: "--gpu-memory-utilization",
		Meaning: "share of the total, for all that the engine allocates; it does not start if less is available (" + releaseOf(vLLM) + ")",
	}
	e.set(m.Budget(), 0, m.Available, m.Total)
	if weights != nil {
		e.cache("share of the total", Exactly(share(e.Hundredths, m.Total)), *weights, Runtime(m.Total))
	}
	return e
}

// sglang takes its share from what is available when its context exists and no weights are loaded, and keeps the rest
// for activations and graphs (_profile_available_bytes of srt/mem_cache/kv_cache_configurator.py). Where the GPU is
// integrated it asks for MemAvailable (get_available_gpu_memory of srt/utils/common.py). So its rest must hold the
// reserve of the system as well.
func sglang(m Memory, weights *int64) Engine {
	runtime := Runtime(m.Total)
	counted := m.Available + m.Unpinnable
	before := Interval{counted - contextBytes, counted}.positive()
	e := Engine{
		Name: sgLang, Flag: "--mem-fraction-static",
		Meaning: "share of what is available before it loads, for weights and KV cache; activations and graphs take from the rest (" + releaseOf(sgLang) + ")",
	}
	e.set(m.Budget(), runtime.High, m.Available-runtime.Low, counted)
	if weights != nil {
		static := Interval{share(e.Hundredths, before.Low), share(e.Hundredths, before.High)}
		e.cache("share of what is available", static, *weights, Interval{})
	}
	return e
}

// tensorRTLLM takes its share from what CUDA reports as free once weights, activations and graphs have been seen
// (_cal_max_memory of _torch/pyexecutor/_util.py). It asks CUDA on every GPU. On one that allocates from the pool that
// is MemFree, which is less by the page cache: the files of the weights, that it has just read, are in it.
func tensorRTLLM(m Memory, weights *int64) Engine {
	e := Engine{
		Name:    tensorRT,
		Meaning: "share of what CUDA reports as free once the weights are loaded, for the KV cache (" + releaseOf(tensorRT) + ")",
	}
	if weights == nil {
		return e
	}
	e.Flag = "--kv_cache_free_gpu_memory_fraction"
	runtime := Runtime(m.Total)
	counted := m.Available + m.Unpinnable
	free := Interval{m.Free, counted}
	name := "free by CUDA"
	if m.Free != counted {
		free.Low -= *weights
		name = "free by CUDA: without and with the page cache, in which the files of the weights stay"
	}
	left := free.minus(Exactly(*weights)).minus(runtime)
	available := m.Available - *weights - runtime.High
	e.set(available, m.Reserve, available, available+m.Unpinnable)
	kv := Interval{share(e.Hundredths, left.positive().Low), share(e.Hundredths, left.positive().High)}
	e.KV = &kv
	e.Steps = []Step{
		{name, free.positive()}, {"weights", Exactly(-*weights)}, {runtimeName, runtime.negative()}, {"KV cache: the share of that", kv},
	}
	return e
}

// llamaCPP has no share: its KV cache is for the tokens of --ctx-size.
func llamaCPP(m Memory, weights *int64) Engine {
	e := Engine{Name: llama, Meaning: "no share: its KV cache is for the tokens of --ctx-size, and allocated at the start (" + releaseOf(llama) + ")"}
	if weights != nil {
		e.cache("for one engine", Exactly(m.Budget()), *weights, Runtime(m.Total))
	}
	return e
}

const runtimeName = "runtime: context, activations, graphs"

// cache sets the KV cache to what weights and runtime leave of an amount.
func (e *Engine) cache(name string, amount Interval, weights int64, runtime Interval) {
	kv := amount.minus(Exactly(weights)).minus(runtime).positive()
	e.KV = &kv
	e.Steps = []Step{{name, amount}, {"weights", Exactly(-weights)}}
	if runtime != (Interval{}) {
		e.Steps = append(e.Steps, Step{runtimeName, runtime.negative()})
	}
	e.Steps = append(e.Steps, Step{"KV cache", kv})
}
