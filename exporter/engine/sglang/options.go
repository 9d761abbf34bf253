package sglang

import "github.com/umascope/umascope/exporter/engine/spec"

// commandLine describes how the engine is started, with the names of 0.5 and their older spellings.
func commandLine() spec.CommandLine {
	return spec.CommandLine{
		Source:   "SGLang 0.5 and older",
		Commands: []string{"sglang", "sglang.launch_server", "sglang.bench_one_batch", "sglang.bench_offline_throughput"},
		Images:   []string{"sglang"},
		Prefixes: []string{"SGLANG_", "SGL_"},
		Options: []spec.Option{
			spec.Number("--mem-fraction-static"), spec.Number("--context-length"), spec.Word("--kv-cache-dtype"), spec.Number("--page-size"),
			spec.Number("--max-running-requests"), spec.Number("--max-total-tokens"), spec.Number("--max-prefill-tokens"), spec.Number("--chunked-prefill-size"),
			spec.Number("--tensor-parallel-size", "--tp-size", "--tp"), spec.Number("--pipeline-parallel-size", "--pp-size", "--pp"),
			spec.Number("--data-parallel-size", "--dp-size", "--dp"), spec.Number("--expert-parallel-size", "--ep-size", "--ep"),
			spec.Number("--nnodes"), spec.Number("--node-rank"),
			spec.Word("--quantization"), spec.Word("--dtype"), spec.Word("--load-format"), spec.Word("--attention-backend"),
			spec.Toggle("--disable-radix-cache"), spec.Toggle("--disable-cuda-graph"), spec.Number("--cuda-graph-max-bs"),
			spec.Toggle("--enable-hierarchical-cache"), spec.Number("--hicache-ratio"), spec.Number("--hicache-size"), spec.Word("--hicache-write-policy"),
			spec.Word("--hicache-io-backend"), spec.Word("--hicache-mem-layout"), spec.Word("--hicache-storage-backend"),
			spec.Number("--cpu-offload-gb"), spec.Word("--schedule-policy"), spec.Number("--schedule-conservativeness"), spec.Number("--random-seed"),
		},
	}
}
