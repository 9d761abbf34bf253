package collect

import (
	"context"
	"fmt"
)

// SourceOptions say where engines and KVBM publish their metrics.
type SourceOptions struct {
	// KVBMURLs and EngineURLs are metrics pages, such as http://127.0.0.1:6880/metrics.
	KVBMURLs, EngineURLs []string
	// TargetsFile names more of both in file_sd form and is read anew when it changes; "" names none.
	TargetsFile string
	// KVBMLogs are logs of engines with KVBM, which hold what its metrics lack.
	KVBMLogs []string
	// BytesPerBlock is the size of a KV block of a source, in bytes, for those that do not say; by source
	// label, under "" for all.
	BytesPerBlock map[string]uint64
	// IterationStats asks TensorRT-LLM for its JSON statistics, which hands each of them to one
	// reader only.
	IterationStats bool
}

// kvbmSpec is the collector of KV block managers.
func kvbmSpec() Spec {
	return Spec{
		Name: "kvbm",
		Help: "KV blocks moved between device, host and disk by Dynamo KVBM, and its disk-tier files.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
