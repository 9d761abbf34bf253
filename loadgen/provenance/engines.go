package provenance

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// engine is a server whose options are listed.
type engine string

const (
	vllm     engine = "vllm"
	sglang   engine = "sglang"
	trtllm   engine = "trtllm"
	llamacpp engine = "llama.cpp"
	ollama   engine = "ollama"
	dynamo   engine = "dynamo"
)

// form is the form of an option's value. A value of another form is hashed: it is not a value of this option.
type form int

const (
	hidden form = iota // the name is listed, the value is never kept
	number             // with a unit, or a list with commas; or auto
	word               // such as fp8_e4m3
	toggle             // without a value, or on and off
)

// option is an option that changes what a run measures. The first name is the canonical one.
type option struct {
	form  form
	names []string
}

func of(f form, names ...string) option { return option{f, names} }

// optionsOf lists the options whose values are kept: memory, lengths, KV cache, parallelism, quantization, batching,
// offloading. Names are those of vLLM 0.12, SGLang 0.5, TensorRT-LLM 1.2, llama.cpp of November 2026 and Dynamo 0.7,
// with their older spellings. - and _ in names are equal.
func optionsOf(e engine) []option {
	switch e {
	case vllm:
		return []option{
			of(number, "--gpu-memory-utilization"), of(number, "--max-model-len"), of(number, "--kv-cache-memory-bytes", "--kv-cache-memory"),
			of(word, "--kv-cache-dtype"), of(number, "--block-size"), of(number, "--num-gpu-blocks-override"), of(number, "--max-num-seqs"),
			of(number, "--max-num-batched-tokens"), of(number, "--max-seq-len-to-capture"),
			of(number, "--tensor-parallel-size", "-tp"), of(number, "--pipeline-parallel-size", "-pp"), of(number, "--data-parallel-size", "-dp"),
			of(number, "--data-parallel-size-local", "-dpl"), of(number, "--decode-context-parallel-size", "-dcp"), of(toggle, "--enable-expert-parallel", "-ep"),
			of(number, "--nnodes", "-n"), of(number, "--node-rank", "-r"),
			of(word, "--quantization", "-q"), of(word, "--dtype"), of(word, "--load-format"), of(word, "--attention-backend"),
			of(toggle, "--enable-prefix-caching"), of(toggle, "--no-enable-prefix-caching"), of(word, "--prefix-caching-hash-algo"),
			of(toggle, "--enable-chunked-prefill"), of(toggle, "--no-enable-chunked-prefill"),
			of(toggle, "--async-scheduling"), of(toggle, "--no-async-scheduling"), of(toggle, "--enforce-eager"),
			of(number, "--swap-space"), of(number, "--cpu-offload-gb"), of(number, "--kv-offloading-size"), of(word, "--kv-offloading-backend"), of(number, "--seed"),
		}
	case sglang:
		return []option{
			of(number, "--mem-fraction-static"), of(number, "--context-length"), of(word, "--kv-cache-dtype"), of(number, "--page-size"),
			of(number, "--max-running-requests"), of(number, "--max-total-tokens"), of(number, "--max-prefill-tokens"), of(number, "--chunked-prefill-size"),
			of(number, "--tensor-parallel-size", "--tp-size", "--tp"), of(number, "--pipeline-parallel-size", "--pp-size", "--pp"),
			of(number, "--data-parallel-size", "--dp-size", "--dp"), of(number, "--expert-parallel-size", "--ep-size", "--ep"),
			of(number, "--nnodes"), of(number, "--node-rank"),
			of(word, "--quantization"), of(word, "--dtype"), of(word, "--load-format"), of(word, "--attention-backend"),
			of(toggle, "--disable-radix-cache"), of(toggle, "--disable-cuda-graph"), of(number, "--cuda-graph-max-bs"),
			of(toggle, "--enable-hierarchical-cache"), of(number, "--hicache-ratio"), of(number, "--hicache-size"), of(word, "--hicache-write-policy"),
			of(word, "--hicache-io-backend"), of(word, "--hicache-mem-layout"), of(word, "--hicache-storage-backend"),
			of(number, "--cpu-offload-gb"), of(word, "--schedule-policy"), of(number, "--schedule-conservativeness"), of(number, "--random-seed"),
		}
	case trtllm:
		return []option{
			of(number, "--kv_cache_free_gpu_memory_fraction", "--kv_cache_free_gpu_mem_fraction", "--free_gpu_memory_fraction"),
			of(word, "--kv_cache_dtype"), of(number, "--max_seq_len"), of(number, "--max_input_len"), of(number, "--max_batch_size"),
			of(number, "--max_num_tokens"), of(number, "--max_beam_width"), of(number, "--tp_size", "--tp"), of(number, "--pp_size", "--pp"),
			of(number, "--ep_size", "--ep"), of(number, "--cp_size"), of(number, "--gpus_per_node"), of(number, "--cluster_size"),
			of(word, "--backend"), of(word, "--quantization", "-q"), of(number, "--num_postprocess_workers"), of(toggle, "--enable_chunked_prefill"),
			of(toggle, "--enable_chunked_context"),
		}
	case llamacpp:
		return []option{
			of(number, "--ctx-size", "-c"), of(number, "--gpu-layers", "-ngl", "--n-gpu-layers"), of(word, "--cache-type-k", "-ctk"), of(word, "--cache-type-v", "-ctv"),
			of(toggle, "--flash-attn", "-fa"), of(number, "--parallel", "-np"), of(number, "--batch-size", "-b"), of(number, "--ubatch-size", "-ub"),
			of(toggle, "--cont-batching", "-cb"), of(toggle, "--no-cont-batching", "-nocb"), of(toggle, "--mlock"), of(toggle, "--mmap"), of(toggle, "--no-mmap"),
			of(word, "--split-mode", "-sm"), of(number, "--tensor-split", "-ts"), of(number, "--main-gpu", "-mg"),
			of(toggle, "--kv-offload", "-kvo"), of(toggle, "--no-kv-offload", "-nkvo"), of(toggle, "--kv-unified", "-kvu"), of(number, "--cache-reuse"),
			of(number, "--cache-ram", "-cram"), of(toggle, "--cache-prompt"), of(toggle, "--no-cache-prompt"), of(toggle, "--swa-full"),
			of(toggle, "--cpu-moe", "-cmoe"), of(number, "--n-cpu-moe", "-ncmoe"), of(number, "--threads", "-t"), of(number, "--threads-batch", "-tb"),
			of(number, "--predict", "-n", "--n-predict"), of(number, "--seed", "-s"),
			of(hidden, "--hf-token", "-hft"), of(hidden, "--hf-repo", "-hf", "-hfr"), of(hidden, "--hf-file", "-hff"), of(hidden, "--model-url", "-mu"),
			of(hidden, "--model-draft", "-md"), of(hidden, "--docker-repo", "-dr"), of(hidden, "--override-tensor", "-ot"), of(hidden, "--device", "-dev"),
		}
	case dynamo:
		return []option{
			of(number, "--kv-cache-block-size", "--kv-block-size"), of(word, "--router-mode"), of(number, "--kv-overlap-score-weight"), of(number, "--router-temperature"),
			of(word, "--connector"), of(word, "--disaggregation-mode"), of(toggle, "--is-prefill-worker"), of(toggle, "--is-decode-worker"),
		}
	}
	return nil
}

// variables lists the environment variables whose values are kept. Their prefixes name the program that reads them.
func variables() []option {
	return []option{
		of(number, "OLLAMA_CONTEXT_LENGTH"), of(number, "OLLAMA_NUM_PARALLEL"), of(number, "OLLAMA_MAX_LOADED_MODELS"), of(word, "OLLAMA_KV_CACHE_TYPE"),
		of(toggle, "OLLAMA_FLASH_ATTENTION"), of(number, "OLLAMA_GPU_OVERHEAD"), of(number, "OLLAMA_MAX_QUEUE"), of(number, "OLLAMA_KEEP_ALIVE"),
		of(toggle, "OLLAMA_SCHED_SPREAD"), of(toggle, "OLLAMA_NEW_ENGINE"),
		of(number, "LLAMA_ARG_CTX_SIZE"), of(number, "LLAMA_ARG_N_GPU_LAYERS"), of(word, "LLAMA_ARG_CACHE_TYPE_K"), of(word, "LLAMA_ARG_CACHE_TYPE_V"),
		of(toggle, "LLAMA_ARG_FLASH_ATTN"), of(number, "LLAMA_ARG_N_PARALLEL"), of(number, "LLAMA_ARG_BATCH"), of(number, "LLAMA_ARG_UBATCH"),
		of(toggle, "GGML_CUDA_ENABLE_UNIFIED_MEMORY"),
		of(toggle, "VLLM_USE_V1"), of(word, "VLLM_ATTENTION_BACKEND"), of(number, "VLLM_CPU_KVCACHE_SPACE"), of(word, "VLLM_KV_CACHE_LAYOUT"),
		of(number, "LMCACHE_CHUNK_SIZE"), of(toggle, "LMCACHE_LOCAL_CPU"), of(number, "LMCACHE_MAX_LOCAL_CPU_SIZE"), of(number, "LMCACHE_MAX_LOCAL_DISK_SIZE"),
		of(number, "DYN_KVBM_CPU_CACHE_GB"), of(number, "DYN_KVBM_DISK_CACHE_GB"),
		of(number, "DYN_KVBM_CPU_CACHE_OVERRIDE_NUM_BLOCKS"), of(number, "DYN_KVBM_DISK_CACHE_OVERRIDE_NUM_BLOCKS"),
		of(number, "DYN_KVBM_TRANSFER_BATCH_SIZE"), of(toggle, "DYN_KVBM_DISK_DISABLE_O_DIRECT"), of(toggle, "DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER"),
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
func enginesOf(text string) []engine {
	switch path.Base(text) {
	case "vllm", "vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main":
		return []engine{vllm}
	case "sglang", "sglang.launch_server", "sglang.bench_one_batch", "sglang.bench_offline_throughput":
		return []engine{sglang}
	case "trtllm-serve", "trtllm-bench", "trtllm-eval", "tensorrt_llm.commands.serve":
		return []engine{trtllm}
	case "llama-server", "llama-cli", "llama-bench", "llama-batched-bench":
		return []engine{llamacpp}
	case "ollama":
		return []engine{ollama}
	case "dynamo.vllm":
		return []engine{dynamo, vllm}
	case "dynamo.sglang":
		return []engine{dynamo, sglang}
	case "dynamo.trtllm":
		return []engine{dynamo, trtllm}
	case "dynamo.frontend", "dynamo.router", "dynamo-run":
		return []engine{dynamo}
	}
	return nil
}

// enginesOfImage returns the engines that an image starts by default, by the last part of its name.
func enginesOfImage(image string) []engine {
	name, _, _ := strings.Cut(image, "@")
	name = strings.ToLower(path.Base(name))
	whole := strings.ToLower(image)
	switch {
	case strings.Contains(name, "vllm"):
		return []engine{vllm}
	case strings.Contains(name, "sglang"):
		return []engine{sglang}
	case strings.Contains(whole, "tensorrt-llm"), strings.Contains(whole, "trtllm"):
		return []engine{trtllm}
	case strings.Contains(name, "llama.cpp"):
		return []engine{llamacpp}
	case strings.Contains(name, "ollama"):
		return []engine{ollama}
	}
	return nil
}

// table maps every name of an option to the option.
type table map[string]option

func tableOf(engines []engine) table {
	t := table{}
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
func (o option) fits(value string) bool {
	switch o.form {
	case number:
		return len(value) <= 64 && numberPattern.MatchString(value)
	case word:
		return wordPattern.MatchString(value)
	case toggle:
		return togglePattern.MatchString(value)
	}
	return false
}
