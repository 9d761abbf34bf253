package vllm

import "github.com/umascope/umascope/exporter/engine/spec"

// commandLine describes how the engine is started, with the names of 0.12 and their older spellings.
func commandLine() spec.CommandLine {
	return spec.CommandLine{
		Source:   "vLLM 0.12 and older",
		Commands: []string{"vllm", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main"},
		Images:   []string{"vllm"},
		Prefixes: []string{"VLLM_"},
		Variables: []spec.Option{
			spec.Toggle("VLLM_USE_V1"), spec.Word("VLLM_ATTENTION_BACKEND"), spec.Number("VLLM_CPU_KVCACHE_SPACE"), spec.Word("VLLM_KV_CACHE_LAYOUT"),
		},
		Options: []spec.Option{
			spec.Number("--gpu-memory-utilization"), spec.Number("--max-model-len"), spec.Number("--kv-cache-memory-bytes", "--kv-cache-memory"),
			spec.Word("--kv-cache-dtype"), spec.Number("--block-size"), spec.Number("--num-gpu-blocks-override"), spec.Number("--max-num-seqs"),
			spec.Number("--max-num-batched-tokens"), spec.Number("--max-seq-len-to-capture"),
			spec.Number("--tensor-parallel-size", "-tp"), spec.Number("--pipeline-parallel-size", "-pp"), spec.Number("--data-parallel-size", "-dp"),
			spec.Number("--data-parallel-size-local", "-dpl"), spec.Number("--decode-context-parallel-size", "-dcp"), spec.Toggle("--enable-expert-parallel", "-ep"),
			spec.Number("--nnodes", "-n"), spec.Number("--node-rank", "-r"),
			spec.Word("--quantization", "-q"), spec.Word("--dtype"), spec.Word("--load-format"), spec.Word("--attention-backend"),
			spec.Toggle("--enable-prefix-caching"), spec.Toggle("--no-enable-prefix-caching"), spec.Word("--prefix-caching-hash-algo"),
			spec.Toggle("--enable-chunked-prefill"), spec.Toggle("--no-enable-chunked-prefill"),
			spec.Toggle("--async-scheduling"), spec.Toggle("--no-async-scheduling"), spec.Toggle("--enforce-eager"),
			spec.Number("--swap-space"), spec.Number("--cpu-offload-gb"), spec.Number("--kv-offloading-size"), spec.Word("--kv-offloading-backend"), spec.Number("--seed"),
		},
	}
}
