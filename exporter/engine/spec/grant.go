package spec

const gib = 1 << 30

// ContextBytes is what a process holds of a GPU before it allocates anything: a CUDA context (0.508 GiB, measured on an
// H200 with driver 580). On GB10 it was not measured.
const ContextBytes = gib / 2

// Interval is a range of bytes, or one value if both ends are equal.
type Interval struct {
	Low  int64 `json:"low_bytes"`
	High int64 `json:"high_bytes"`
}

// Exactly is one value.
func Exactly(bytes int64) Interval { return Interval{bytes, bytes} }

// Minus subtracts: the low end is without the high end of the other.
func (i Interval) Minus(other Interval) Interval {
	return Interval{i.Low - other.High, i.High - other.Low}
}

// Negative is what taking the interval away adds.
func (i Interval) Negative() Interval { return Interval{-i.High, -i.Low} }

// Positive is the part of the interval that is not below 0.
func (i Interval) Positive() Interval { return Interval{max(0, i.Low), max(0, i.High)} }

// GPUMemory is the memory of one GPU before an engine starts, in bytes.
type GPUMemory struct {
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
func (m GPUMemory) Budget() int64 { return max(0, m.Available-m.Reserve) }

// Step is one line of the arithmetic: what is added or, with a sign, taken away. The last step is the result.
type Step struct {
	Name  string   `json:"step"`
	Bytes Interval `json:"bytes"`
}

// Grant is what one engine can be given.
type Grant struct {
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
	// Slots returns the arguments with which an engine without a share has a cache for so many tokens, in slots of a context;
	// nil for an engine with a share.
	Slots func(tokens, context int64) []string `json:"-"`
}

// Set sets the share to parts of an amount.
func (g *Grant) Set(take, keep, most, of int64) {
	g.Take, g.Keep, g.Most, g.Of = take, keep, most, of
	g.Hundredths, g.Limit = fraction(take-keep, of), fraction(most, of)
}

// fraction is a / b in hundredths, rounded down, from 0 to 100.
func fraction(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return min(100, 100*a/b)
}

// Share is hundredths of an amount.
func Share(hundredths, of int64) int64 { return hundredths * of / 100 }

// Cache sets the KV cache to what weights and runtime leave of an amount.
func (g *Grant) Cache(name string, amount Interval, weights int64, runtime Interval) {
	kv := amount.Minus(Exactly(weights)).Minus(runtime).Positive()
	g.KV = &kv
	g.Steps = []Step{{name, amount}, {"weights", Exactly(-weights)}}
	if runtime != (Interval{}) {
		g.Steps = append(g.Steps, Step{RuntimeName, runtime.Negative()})
	}
	g.Steps = append(g.Steps, Step{"KV cache", kv})
}

// RuntimeName names the line of what an engine takes beside weights and KV cache.
const RuntimeName = "runtime: context, activations, graphs"

// Sizing describes how an engine sizes its KV cache.
type Sizing struct {
	// Version is the release whose source was read, or the month of that source.
	Version string
	// CUDAFree reports that the engine sizes it, on a GPU that allocates from the pool, by what cudaMemGetInfo reports as free:
	// page cache makes it smaller. Others ask the kernel for available memory, or have the size from a flag.
	CUDAFree bool
	// Grant computes what the engine can be given, but for its name and with the release in the meaning. Runtime is what it
	// takes beside weights and KV cache. Without a model, weights is nil.
	Grant func(m GPUMemory, runtime Interval, release string, weights *int64) Grant
	// Runtime is what the engine keeps by itself for activations and graphs on a GPU with a total of so many bytes; nil if it
	// keeps no fixed amount.
	Runtime func(total int64) int64
}

// Release is the title of an engine with the version of its Sizing.
func (e Engine) Release() string { return e.Title + " " + e.Sizing.Version }

// Runtime is what an engine takes beside weights and KV cache: its CUDA context, activations and graphs. The low end is
// the context alone. The high end is the most that an engine keeps for them by itself.
func (all Engines) Runtime(total int64) Interval {
	most := int64(ContextBytes)
	for _, e := range all {
		if e.Sizing != nil && e.Sizing.Runtime != nil {
			most = max(most, e.Sizing.Runtime(total))
		}
	}
	return Interval{ContextBytes, most}
}
