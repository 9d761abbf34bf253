package sglang

// Names on the page of metrics, python/sglang/srt/observability/metrics_collector.py, 0.5. Gauges have the labels of ranks,
// counters do not; with priority scheduling a gauge has a series for every priority and one without priority for all.
const (
	Prefix            = "sglang:"
	MaxTokens         = "sglang:max_total_num_tokens"
	UsedTokens        = "sglang:num_used_tokens"
	TokenUsage        = "sglang:token_usage"      // of the fullest pool
	FullUsage         = "sglang:full_token_usage" // these four in releases that know hybrid models
	SlidingUsage      = "sglang:swa_token_usage"  // 0 without such a pool
	MambaUsage        = "sglang:mamba_usage"
	KVUsedTokens      = "sglang:kv_used_tokens"
	PageSize          = "sglang:page_size"                // 0.5.23
	CacheConfigInfo   = "sglang:cache_config_info"        // before 0.5.23
	KVGigabytes       = "sglang:kv_cache_memory_usage_gb" // of 2^30 bytes
	CachedTokens      = "sglang:cached_tokens_total"
	PromptTokens      = "sglang:prompt_tokens_total"
	GenerationTokens  = "sglang:generation_tokens_total"
	Running           = "sglang:num_running_reqs"
	Queued            = "sglang:num_queue_reqs"
	RetractedTotal    = "sglang:num_retracted_requests_total" // exists since the first one
	Retracted         = "sglang:num_retracted_reqs"           // in the last batch
	HostUsedTokens    = "sglang:hicache_host_used_tokens"     // where HiCache is on
	HostTotalTokens   = "sglang:hicache_host_total_tokens"
	WeightGigabytes   = "sglang:weight_memory_usage_gb"     // of 2^30 bytes
	GraphGigabytes    = "sglang:graph_memory_usage_gb"      // by phase, of 2^30 bytes
	VerifyCalls       = "sglang:spec_verify_calls_total"    // 0.5.23: at the end of a request, from the first one on
	AcceptLength      = "sglang:spec_accept_length"         // 0 without speculative decoding
	EvictedTokens     = "sglang:evicted_tokens_total"       // from the GPU; like the six below without the name of the model
	BackupBytes       = "sglang:hicache_backup_bytes_total" // these with HiCache
	BackupTokens      = "sglang:hicache_backup_tokens_total"
	LoadBackBytes     = "sglang:load_back_bytes_total"
	LoadBackTokens    = "sglang:load_back_tokens_total"
	StoredTokens      = "sglang:backuped_tokens_total" // these two with a storage backend
	PrefetchedTokens  = "sglang:prefetched_tokens_total"
	LabelCacheType    = "cache_type" // of the caches' series
	LabelBackend      = "storage_backend"
	LabelPool         = "pool"
	LabelPageSize     = "page_size"
	LabelCacheSource  = "cache_source"
	LabelPriority     = "priority"
	LabelReplica      = "dp_rank"
	LabelTensorRank   = "tp_rank"
	LabelPipelineRank = "pp_rank"
	LabelExpertRank   = "moe_ep_rank"
	LabelPhase        = "phase"
)
