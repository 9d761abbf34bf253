package fit

// Names of the engines.
const (
	vLLM     = "vLLM"
	sgLang   = "SGLang"
	tensorRT = "TensorRT-LLM"
	llama    = "llama.cpp"
)

// Sizing is the figure by which an engine sizes its KV cache on a GPU that allocates from the pool.
type Sizing struct {
	Engine string
	// Version is the release whose source was read, or the month of that source.
	Version string
	// CUDAFree reports that the engine sizes it by what cudaMemGetInfo reports as free: page cache makes it smaller. Others
	// ask the kernel for available memory, or have the size from a flag.
	CUDAFree bool
}

// Sizings lists the engines of Engines, in that order. This is the one place for it.
func Sizings() []Sizing {
	return []Sizing{
		{vLLM, "0.32.0", false},
		{sgLang, "0.5.23", false},
		{tensorRT, "of November 2026", true},
		{llama, "0.5.0", false},
	}
}

// Release is the name with the version.
func (s Sizing) Release() string { return s.Engine + " " + s.Version }

// releaseOf is the name of an engine with the version of Sizings.
func releaseOf(engine string) string {
	for _, s := range Sizings() {
		if s.Engine == engine {
			return s.Release()
		}
	}
	return engine
}
