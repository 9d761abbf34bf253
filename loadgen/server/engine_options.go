package server

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// engineName is a server whose options are listed.
type engineName string

const (
	vllm     engineName = "vllm"
	sglang   engineName = "sglang"
	trtllm   engineName = "trtllm"
	llamacpp engineName = "llama.cpp"
	ollama   engineName = "ollama"
	dynamo   engineName = "dynamo"
)

// form is the form of an option's value. A value of another form is hashed: it is not a value of this option.
type form int

const (
	hiddenValue form = iota // the name is listed, the value is never kept
	numberValue             // with a unit, or a list with commas; or auto
	wordValue               // such as fp8_e4m3
	toggleValue             // without a value, or on and off
)

// engineOption is an option that changes what a run measures. The first name is the canonical one.
type engineOption struct {
	form  form
	names []string
}

func optionOf(f form, names ...string) engineOption { return engineOption{f, names} }

// optionsOf lists the options whose values are kept: memory, lengths, KV cache, parallelism, quantization, batching,
// offloading. Names are those of vLLM 0.12, SGLang 0.5, TensorRT-LLM 1.2, llama.cpp of November 2026 and Dynamo 0.7,
// with their older spellings. - and _ in names are equal.
func optionsOf(e engineName) []engineOption {
	switch e {
	case vllm:
		return []engineOption{
			optionOf(numberValue, "--gpu-memory-utilization"), optionOf(numberValue, "--max-model-len"), optionOf(numberValue, "--kv-cache-memory-bytes", "--kv-cache-memory"),
			optionOf(wordValue, "--kv-cache-dtype"), optionOf(numberValue, "--block-size"), optionOf(numberValue, "--num-gpu-blocks-override"), optionOf(numberValue, "--max-num-seqs"),
			optionOf(numberValue, "--max-num-batched-tokens"), optionOf(numberValue, "--max-seq-len-to-capture"),
			optionOf(numberValue, "--tensor-parallel-size", "-tp"), optionOf(numberValue, "--pipeline-parallel-size", "-pp"), optionOf(numberValue, "--data-parallel-size", "-dp"),
			optionOf(numberValue, "--data-parallel-size-local", "-dpl"), optionOf(numberValue, "--decode-context-parallel-size", "-dcp"), optionOf(toggleValue, "--enable-expert-parallel", "-ep"),
			optionOf(numberValue, "--nnodes", "-n"), optionOf(numberValue, "--node-rank", "-r"),
			optionOf(wordValue, "--quantization", "-q"), optionOf(wordValue, "--dtype"), optionOf(wordValue, "--load-format"), optionOf(wordValue, "--attention-backend"),
			optionOf(toggleValue, "--enable-prefix-caching"), optionOf(toggleValue, "--no-enable-prefix-caching"), optionOf(wordValue, "--prefix-caching-hash-algo"),
			optionOf(toggleValue, "--enable-chunked-prefill"), optionOf(toggleValue, "--no-enable-chunked-prefill"),
			optionOf(toggleValue, "--async-scheduling"), optionOf(toggleValue, "--no-async-scheduling"), optionOf(toggleValue, "--enforce-eager"),
			optionOf(numberValue, "--swap-space"), optionOf(numberValue, "--cpu-offload-gb"), optionOf(numberValue, "--kv-offloading-size"), optionOf(wordValue, "--kv-offloading-backend"), optionOf(numberValue, "--seed"),
		}
	case sglang:
		return []engineOption{
			optionOf(numberValue, "--mem-fraction-static"), optionOf(numberValue, "--context-length"), optionOf(wordValue, "--kv-cache-dtype"), optionOf(numberValue, "--page-size"),
			optionOf(numberValue, "--max-running-requests"), optionOf(numberValue, "--max-total-tokens"), optionOf(numberValue, "--max-prefill-tokens"), optionOf(numberValue, "--chunked-prefill-size"),
			optionOf(numberValue, "--tensor-parallel-size", "--tp-size", "--tp"), optionOf(numberValue, "--pipeline-parallel-size", "--pp-size", "--pp"),
			optionOf(numberValue, "--data-parallel-size", "--dp-size", "--dp"), optionOf(numberValue, "--expert-parallel-size", "--ep-size", "--ep"),
			optionOf(numberValue, "--nnodes"), optionOf(numberValue, "--node-rank"),
			optionOf(wordValue, "--quantization"), optionOf(wordValue, "--dtype"), optionOf(wordValue, "--load-format"), optionOf(wordValue, "--attention-backend"),
			optionOf(toggleValue, "--disable-radix-cache"), optionOf(toggleValue, "--disable-cuda-graph"), optionOf(numberValue, "--cuda-graph-max-bs"),
			optionOf(toggleValue, "--enable-hierarchical-cache"), optionOf(numberValue, "--hicache-ratio"), optionOf(numberValue, "--hicache-size"), optionOf(wordValue, "--hicache-write-policy"),
			optionOf(wordValue, "--hicache-io-backend"), optionOf(wordValue, "--hicache-mem-layout"), optionOf(wordValue, "--hicache-storage-backend"),
			optionOf(numberValue, "--cpu-offload-gb"), optionOf(wordValue, "--schedule-policy"), optionOf(numberValue, "--schedule-conservativeness"), optionOf(numberValue, "--random-seed"),
		}
	case trtllm:
		return []engineOption{
			optionOf(numberValue, "--kv_cache_free_gpu_memory_fraction", "--kv_cache_free_gpu_mem_fraction", "--free_gpu_memory_fraction"),
			optionOf(wordValue, "--kv_cache_dtype"), optionOf(numberValue, "--max_seq_len"), optionOf(numberValue, "--max_input_len"), optionOf(numberValue, "--max_batch_size"),
			optionOf(numberValue, "--max_num_tokens"), optionOf(numberValue, "--max_beam_width"), optionOf(numberValue, "--tp_size", "--tp"), optionOf(numberValue, "--pp_size", "--pp"),
			optionOf(numberValue, "--ep_size", "--ep"), optionOf(numberValue, "--cp_size"), optionOf(numberValue, "--gpus_per_node"), optionOf(numberValue, "--cluster_size"),
			optionOf(wordValue, "--backend"), optionOf(wordValue, "--quantization", "-q"), optionOf(numberValue, "--num_postprocess_workers"), optionOf(toggleValue, "--enable_chunked_prefill"),
			optionOf(toggleValue, "--enable_chunked_context"),
		}
	case llamacpp:
		return []engineOption{
			optionOf(numberValue, "--ctx-size", "-c"), optionOf(numberValue, "--gpu-layers", "-ngl", "--n-gpu-layers"), optionOf(wordValue, "--cache-type-k", "-ctk"), optionOf(wordValue, "--cache-type-v", "-ctv"),
			optionOf(toggleValue, "--flash-attn", "-fa"), optionOf(numberValue, "--parallel", "-np"), optionOf(numberValue, "--batch-size", "-b"), optionOf(numberValue, "--ubatch-size", "-ub"),
			optionOf(toggleValue, "--cont-batching", "-cb"), optionOf(toggleValue, "--no-cont-batching", "-nocb"), optionOf(toggleValue, "--mlock"), optionOf(toggleValue, "--mmap"), optionOf(toggleValue, "--no-mmap"),
			optionOf(wordValue, "--split-mode", "-sm"), optionOf(numberValue, "--tensor-split", "-ts"), optionOf(numberValue, "--main-gpu", "-mg"),
			optionOf(toggleValue, "--kv-offload", "-kvo"), optionOf(toggleValue, "--no-kv-offload", "-nkvo"), optionOf(toggleValue, "--kv-unified", "-kvu"), optionOf(numberValue, "--cache-reuse"),
			optionOf(numberValue, "--cache-ram", "-cram"), optionOf(toggleValue, "--cache-prompt"), optionOf(toggleValue, "--no-cache-prompt"), optionOf(toggleValue, "--swa-full"),
			optionOf(toggleValue, "--cpu-moe", "-cmoe"), optionOf(numberValue, "--n-cpu-moe", "-ncmoe"), optionOf(numberValue, "--threads", "-t"), optionOf(numberValue, "--threads-batch", "-tb"),
			optionOf(numberValue, "--predict", "-n", "--n-predict"), optionOf(numberValue, "--seed", "-s"),
			optionOf(hiddenValue, "--hf-token", "-hft"), optionOf(hiddenValue, "--hf-repo", "-hf", "-hfr"), optionOf(hiddenValue, "--hf-file", "-hff"), optionOf(hiddenValue, "--model-url", "-mu"),
			optionOf(hiddenValue, "--model-draft", "-md"), optionOf(hiddenValue, "--docker-repo", "-dr"), optionOf(hiddenValue, "--override-tensor", "-ot"), optionOf(hiddenValue, "--device", "-dev"),
		}
	case dynamo:
		return []engineOption{
			optionOf(numberValue, "--kv-cache-block-size", "--kv-block-size"), optionOf(wordValue, "--router-mode"), optionOf(numberValue, "--kv-overlap-score-weight"), optionOf(numberValue, "--router-temperature"),
			optionOf(wordValue, "--connector"), optionOf(wordValue, "--disaggregation-mode"), optionOf(toggleValue, "--is-prefill-worker"), optionOf(toggleValue, "--is-decode-worker"),
		}
	}
	return nil
}

// variables lists the environment variables whose values are kept. Their prefixes name the program that reads them.
func variables() []engineOption {
	return []engineOption{
		optionOf(numberValue, "OLLAMA_CONTEXT_LENGTH"), optionOf(numberValue, "OLLAMA_NUM_PARALLEL"), optionOf(numberValue, "OLLAMA_MAX_LOADED_MODELS"), optionOf(wordValue, "OLLAMA_KV_CACHE_TYPE"),
		optionOf(toggleValue, "OLLAMA_FLASH_ATTENTION"), optionOf(numberValue, "OLLAMA_GPU_OVERHEAD"), optionOf(numberValue, "OLLAMA_MAX_QUEUE"), optionOf(numberValue, "OLLAMA_KEEP_ALIVE"),
		optionOf(toggleValue, "OLLAMA_SCHED_SPREAD"), optionOf(toggleValue, "OLLAMA_NEW_ENGINE"),
		optionOf(numberValue, "LLAMA_ARG_CTX_SIZE"), optionOf(numberValue, "LLAMA_ARG_N_GPU_LAYERS"), optionOf(wordValue, "LLAMA_ARG_CACHE_TYPE_K"), optionOf(wordValue, "LLAMA_ARG_CACHE_TYPE_V"),
		optionOf(toggleValue, "LLAMA_ARG_FLASH_ATTN"), optionOf(numberValue, "LLAMA_ARG_N_PARALLEL"), optionOf(numberValue, "LLAMA_ARG_BATCH"), optionOf(numberValue, "LLAMA_ARG_UBATCH"),
		optionOf(toggleValue, "GGML_CUDA_ENABLE_UNIFIED_MEMORY"),
		optionOf(toggleValue, "VLLM_USE_V1"), optionOf(wordValue, "VLLM_ATTENTION_BACKEND"), optionOf(numberValue, "VLLM_CPU_KVCACHE_SPACE"), optionOf(wordValue, "VLLM_KV_CACHE_LAYOUT"),
		optionOf(numberValue, "LMCACHE_CHUNK_SIZE"), optionOf(toggleValue, "LMCACHE_LOCAL_CPU"), optionOf(numberValue, "LMCACHE_MAX_LOCAL_CPU_SIZE"), optionOf(numberValue, "LMCACHE_MAX_LOCAL_DISK_SIZE"),
		optionOf(numberValue, "DYN_KVBM_CPU_CACHE_GB"), optionOf(numberValue, "DYN_KVBM_DISK_CACHE_GB"),
		optionOf(numberValue, "DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS"), optionOf(numberValue, "DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS"),
		optionOf(numberValue, "DYN_KVBM_TRANSFER_BATCH_SIZE"), optionOf(toggleValue, "DYN_KVBM_DISK_DISABLE_O_DIRECT"), optionOf(toggleValue, "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER"),
	}
}

// readByEngines reports whether an engine, CUDA or a library that both load reads a variable of that name.
func readByEngines(name string) bool {
	prefixes := []string{
		"VLLM_", "SGLANG_", "SGL_", "TRTLLM_", "TLLM_", "LLAMA_", "GGML_", "OLLAMA_", "DYN_", "LMCACHE_", "MOONCAKE_", "NIXL_", "UCX_", "CUFILE_",
		"CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "TORCH", "PYTORCH_", "TRITON_", "FLASHINFER_", "FLASH_ATTN", "HF_", "TRANSFORMERS_", "OMP_", "MKL_", "MALLOC_", "LD_",
		"PYTHONPATH", "PYTHONHASHSEED", "RAY_",
	}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// enginesOf returns the engines whose program or Python module a word is; none for any other word. The list is closed:
// the names on it are recorded.
func enginesOf(text string) []engineName {
	switch path.Base(text) {
	case "vllm", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main":
		return []engineName{vllm}
	case "sglang", "sglang.launch_server", "sglang.bench_one_batch", "sglang.bench_offline_throughput":
		return []engineName{sglang}
	case "trtllm-serve", "trtllm-bench", "trtllm-eval", "tensorrt_llm.commands.serve":
		return []engineName{trtllm}
	case "llama-server", "llama-cli", "llama-bench", "llama-batched-bench":
		return []engineName{llamacpp}
	case "ollama":
		return []engineName{ollama}
	case "dynamo.vllm":
		return []engineName{dynamo, vllm}
	case "dynamo.sglang":
		return []engineName{dynamo, sglang}
	case "dynamo.trtllm":
		return []engineName{dynamo, trtllm}
	case "dynamo.frontend", "dynamo.router", "dynamo-run":
		return []engineName{dynamo}
	}
	return nil
}

// enginesOfImage returns the engines that an image starts by default, by the last part of its name.
func enginesOfImage(image string) []engineName {
	name, _, _ := strings.Cut(image, "@")
	name = strings.ToLower(path.Base(name))
	whole := strings.ToLower(image)
	switch {
	case strings.Contains(name, "vllm"):
		return []engineName{vllm}
	case strings.Contains(name, "sglang"):
		return []engineName{sglang}
	case strings.Contains(whole, "tensorrt-llm"), strings.Contains(whole, "trtllm"):
		return []engineName{trtllm}
	case strings.Contains(name, "llama.cpp"):
		return []engineName{llamacpp}
	case strings.Contains(name, "ollama"):
		return []engineName{ollama}
	}
	return nil
}

// optionTable maps every name of an option to the option.
type optionTable map[string]engineOption

func tableOf(engines []engineName) optionTable {
	t := optionTable{}
	for _, e := range engines {
		for _, o := range optionsOf(e) {
			for _, name := range o.names {
				t[spelled(name)] = o
			}
		}
	}
	return t
}

// spelled returns the common spelling of a long name: engines accept - for _.
func spelled(name string) string {
	if strings.HasPrefix(name, "--") {
		return "--" + strings.ReplaceAll(name[2:], "_", "-")
	}
	return name
}

var (
	numberPattern = regexp.MustCompile(`^(?:auto|none|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?(?:[kKmMgGtT]i?[bB]?|[smh])?(?:,-?[0-9]+(?:\.[0-9]+)?)*)$`)
	wordPattern   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,31}$`)
	togglePattern = regexp.MustCompile(`^(?i:on|off|true|false|auto|0|1)$`)
)

// fits reports whether a value has the form of the option.
func (o engineOption) fits(value string) bool {
	switch o.form {
	case numberValue:
		return len(value) <= 64 && numberPattern.MatchString(value)
	case wordValue:
		return wordPattern.MatchString(value)
	case toggleValue:
		return togglePattern.MatchString(value)
	}
	return false
}
