package dynamo

import "github.com/umascope/umascope/exporter/engine/spec"

// commandLine describes how the engine is started, with the names of 0.7. Its workers run another engine.
func commandLine() spec.CommandLine {
	return spec.CommandLine{
		Source:   "Dynamo 0.7",
		Commands: []string{"dynamo.frontend", "dynamo.router", "dynamo-run"},
		Starts:   "dynamo.",
		Prefixes: []string{"DYN_"},
		Variables: []spec.Option{
			spec.Number("DYN_KVBM_CPU_CACHE_GB"), spec.Number("DYN_KVBM_DISK_CACHE_GB"), spec.Number("DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS"), spec.Number("DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS"),
			spec.Number("DYN_KVBM_TRANSFER_BATCH_SIZE"), spec.Toggle("DYN_KVBM_DISK_DISABLE_O_DIRECT"), spec.Toggle("DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER"),
		},
		Options: []spec.Option{
			spec.Number("--kv-cache-block-size", "--kv-block-size"), spec.Word("--router-mode"), spec.Number("--kv-overlap-score-weight"), spec.Number("--router-temperature"),
			spec.Word("--connector"), spec.Word("--disaggregation-mode"), spec.Toggle("--is-prefill-worker"), spec.Toggle("--is-decode-worker"),
		},
	}
}
