package sglang

import (
	"encoding/json"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// argumentsPath is where the server returns its arguments, under its older name.
const argumentsPath = "/get_server_info"

// modelInfo recognizes the answer that has the path of the tokenizer and the kind of model.
func modelInfo(status int, body []byte) string {
	var info struct {
		Tokenizer    *string `json:"tokenizer_path"`
		IsGeneration *bool   `json:"is_generation"`
	}
	if status == 200 && json.Unmarshal(body, &info) == nil && info.Tokenizer != nil && info.IsGeneration != nil {
		return "it answers at /get_model_info"
	}
	return ""
}

// gateway is sglang-router 0.3, which answers as a router to the path where the engine returns its arguments:
//
//	{"router_manager":true,"routers_count":1,"workers_count":1}
func gateway() *spec.Gateway {
	return &spec.Gateway{
		Name: "sglang-router", Path: argumentsPath, Because: "it answers at " + argumentsPath + " as a router",
		Is: func(body []byte) bool {
			var info struct {
				RouterManager *bool `json:"router_manager"`
			}
			return json.Unmarshal(body, &info) == nil && info.RouterManager != nil
		},
	}
}

// settings are the members of the server's arguments (python/sglang/srt/server_args.py) that decide what a run measures. It is
// a list of those that may be kept, since the answer also contains API keys.
func settings() []string {
	return []string{
		"attention_backend", "chunked_prefill_size", "context_length", "cuda_graph_max_bs", "decode_attention_backend", "disable_cuda_graph",
		"disable_overlap_schedule", "disable_radix_cache", "disaggregation_mode", "dp_size", "dtype", "enable_hierarchical_cache",
		"enable_mixed_chunk", "enable_torch_compile", "ep_size", "hicache_io_backend", "hicache_ratio", "hicache_size",
		"hicache_storage_backend", "hicache_write_policy", "kv_cache_dtype", "load_format", "max_prefill_tokens", "max_running_requests",
		"max_total_num_tokens", "max_total_tokens", "mem_fraction_static", "page_size", "pp_size", "prefill_attention_backend",
		"quantization", "sampling_backend", "schedule_conservativeness", "schedule_policy", "speculative_algorithm",
		"speculative_eagle_topk", "speculative_num_draft_tokens", "speculative_num_steps", "stream_interval", "tp_size",
	}
}
