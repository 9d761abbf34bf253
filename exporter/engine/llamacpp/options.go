package llamacpp

import "github.com/umascope/umascope/exporter/engine/spec"

// commandLine describes how the engine is started, with the names of November 2026.
func commandLine() spec.CommandLine {
	return spec.CommandLine{
		Source:   "llama.cpp of November 2026",
		Commands: []string{"llama-server", "llama-cli", "llama-bench", "llama-batched-bench"},
		Images:   []string{"llama.cpp"},
		Prefixes: []string{"LLAMA_", "GGML_"},
		Variables: []spec.Option{
			spec.Number("LLAMA_ARG_CTX_SIZE"), spec.Number("LLAMA_ARG_N_GPU_LAYERS"), spec.Word("LLAMA_ARG_CACHE_TYPE_K"), spec.Word("LLAMA_ARG_CACHE_TYPE_V"),
			spec.Toggle("LLAMA_ARG_FLASH_ATTN"), spec.Number("LLAMA_ARG_N_PARALLEL"), spec.Number("LLAMA_ARG_BATCH"), spec.Number("LLAMA_ARG_UBATCH"),
			spec.Toggle("GGML_CUDA_ENABLE_UNIFIED_MEMORY"),
		},
		Options: []spec.Option{
			spec.Number("--ctx-size", "-c"), spec.Number("--gpu-layers", "-ngl", "--n-gpu-layers"), spec.Word("--cache-type-k", "-ctk"), spec.Word("--cache-type-v", "-ctv"),
			spec.Toggle("--flash-attn", "-fa"), spec.Number("--parallel", "-np"), spec.Number("--batch-size", "-b"), spec.Number("--ubatch-size", "-ub"),
			spec.Toggle("--cont-batching", "-cb"), spec.Toggle("--no-cont-batching", "-nocb"), spec.Toggle("--mlock"), spec.Toggle("--mmap"), spec.Toggle("--no-mmap"),
			spec.Word("--split-mode", "-sm"), spec.Number("--tensor-split", "-ts"), spec.Number("--main-gpu", "-mg"),
			spec.Toggle("--kv-offload", "-kvo"), spec.Toggle("--no-kv-offload", "-nkvo"), spec.Toggle("--kv-unified", "-kvu"), spec.Number("--cache-reuse"),
			spec.Number("--cache-ram", "-cram"), spec.Toggle("--cache-prompt"), spec.Toggle("--no-cache-prompt"), spec.Toggle("--swa-full"),
			spec.Toggle("--cpu-moe", "-cmoe"), spec.Number("--n-cpu-moe", "-ncmoe"), spec.Number("--threads", "-t"), spec.Number("--threads-batch", "-tb"),
			spec.Number("--predict", "-n", "--n-predict"), spec.Number("--seed", "-s"),
			spec.Hidden("--hf-token", "-hft"), spec.Hidden("--hf-repo", "-hf", "-hfr"), spec.Hidden("--hf-file", "-hff"), spec.Hidden("--model-url", "-mu"),
			spec.Hidden("--model-draft", "-md"), spec.Hidden("--docker-repo", "-dr"), spec.Hidden("--override-tensor", "-ot"), spec.Hidden("--device", "-dev"),
		},
	}
}
