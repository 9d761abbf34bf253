package trtllm

// Names on the page of metrics, tensorrt_llm/metrics/collector.py at 050f80de. 1.1 has few of them, and those of iterations
// need enable_iter_perf_stats. The server hands each entry on its draining path to one reader only.
const (
	PagePath            = "/prometheus/metrics"
	DrainingPath        = "/metrics"
	Prefix              = "trtllm_"
	MaxBlocks           = "trtllm_kv_cache_max_blocks"
	UsedBlocks          = "trtllm_kv_cache_used_blocks"
	TokensPerBlock      = "trtllm_kv_cache_tokens_per_block"
	KVUsage             = "trtllm_kv_cache_utilization"
	ReusedBlocks        = "trtllm_kv_cache_reused_blocks_total"
	MissedBlocks        = "trtllm_kv_cache_missed_blocks_total"
	CachedTokens        = "trtllm_prompt_cached_tokens_total"
	PromptTokens        = "trtllm_prompt_tokens_total"
	GenerationTokens    = "trtllm_generation_tokens_total"
	Success             = "trtllm_request_success_total"
	Running             = "trtllm_num_requests_running"
	Waiting             = "trtllm_num_requests_waiting"
	Paused              = "trtllm_num_paused_requests"
	HitTokens           = "trtllm_prompt_cache_hit_tokens_total"      // by tier, at admission
	DraftTokens         = "trtllm_spec_decode_num_draft_tokens_total" // this and the next of iterations
	AcceptedTokens      = "trtllm_spec_decode_num_accepted_tokens_total"
	AcceptanceLength    = "trtllm_spec_decode_acceptance_length"    // of one iteration, 0 without a draft
	DraftTokensByPos    = "trtllm_spec_decode_drafted_tokens_total" // this and the next of requests that ended, by token_position
	AcceptedTokensByPos = "trtllm_spec_decode_accepted_tokens_total"
	OffloadBytes        = "trtllm_kv_cache_offload_bytes_total"
	OnboardBytes        = "trtllm_kv_cache_onboard_bytes_total"
	GPUMemory           = "trtllm_gpu_memory_usage_bytes"
	PinnedMemory        = "trtllm_pinned_memory_usage_bytes"
	LabelCacheLevel     = "cache_level" // position in the list of tiers
	LabelCacheTier      = "cache_tier"
	LabelFinish         = "finished_reason"
	LabelPosition       = "token_position"
	OldSuccess          = "request_success_total" // releases without prefix
)
