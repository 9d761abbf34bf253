package trtllm

// Names on the page in addition, tensorrt_llm/metrics/collector.py at 050f80de. umascope does not read
// them; its simulated engine serves them, so that its page is as complete as a real one.
const (
	FreeBlocks = "trtllm_kv_cache_free_blocks"
	HitRate    = "trtllm_kv_cache_hit_rate"
	HostUsage  = "trtllm_kv_cache_host_utilization"
	FirstToken = "trtllm_time_to_first_token_seconds"
	PerToken   = "trtllm_time_per_output_token_seconds"
	Duration   = "trtllm_e2e_request_latency_seconds"
	Queue      = "trtllm_request_queue_time_seconds"
)
