package trtllm

import "github.com/umascope/umascope/exporter/engine/spec"

// commandLine describes how the engine is started, with the names of 1.2 and their older spellings.
func commandLine() spec.CommandLine {
	return spec.CommandLine{
		Source:     "TensorRT-LLM 1.2 and older",
		Commands:   []string{"trtllm-serve", "trtllm-bench", "trtllm-eval", "tensorrt_llm.commands.serve"},
		ImagePaths: []string{"tensorrt-llm", "trtllm"},
		Prefixes:   []string{"TRTLLM_", "TLLM_"},
		Options: []spec.Option{
			spec.Number("--kv_cache_free_gpu_memory_fraction", "--kv_cache_free_gpu_mem_fraction", "--free_gpu_memory_fraction"),
			spec.Word("--kv_cache_dtype"), spec.Number("--max_seq_len"), spec.Number("--max_input_len"), spec.Number("--max_batch_size"),
			spec.Number("--max_num_tokens"), spec.Number("--max_beam_width"), spec.Number("--tp_size", "--tp"), spec.Number("--pp_size", "--pp"),
			spec.Number("--ep_size", "--ep"), spec.Number("--cp_size"), spec.Number("--gpus_per_node"), spec.Number("--cluster_size"),
			spec.Word("--backend"), spec.Word("--quantization", "-q"), spec.Number("--num_postprocess_workers"), spec.Toggle("--enable_chunked_prefill"),
			spec.Toggle("--enable_chunked_context"),
		},
	}
}
