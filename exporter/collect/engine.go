package collect

import (
	"context"
	"fmt"
)

// engineSpec is the collector of inference engines.
func engineSpec() Spec {
	return Spec{
		Name: "engine",
		Help: "KV cache, prefix cache and queues of vLLM, TensorRT-LLM, SGLang, Dynamo, llama.cpp, LMCache.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
