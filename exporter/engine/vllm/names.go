package vllm

// Names on the page of metrics, vllm/v1/metrics/loggers.py, in addition to those of package metric. Those with gpu in the
// name were renamed in 0.9; external is a KV connector such as KVBM or LMCache. Labels are model_name and engine, the number
// of a data-parallel replica; cache_config_info, whose labels are its values, has the latter only.
const (
	Prefix                  = "vllm:"
	CacheConfigInfo         = "vllm:cache_config_info"
	GPUUsage                = "vllm:gpu_cache_usage_perc"
	PrefixQueries           = "vllm:prefix_cache_queries_total"
	PrefixHits              = "vllm:prefix_cache_hits_total"
	GPUPrefixQueries        = "vllm:gpu_prefix_cache_queries_total"
	GPUPrefixHits           = "vllm:gpu_prefix_cache_hits_total"
	ExternalQueries         = "vllm:external_prefix_cache_queries_total"
	ExternalHits            = "vllm:external_prefix_cache_hits_total"
	PromptTokensBy          = "vllm:prompt_tokens_by_source_total"        // newer releases, at the end of the prefill
	CachedBySource          = "vllm:prompt_tokens_cached_by_source_total" // 0.32, by tier, at admission
	OffloadedBytes          = "vllm:kv_offload_total_bytes_total"         // of its own offloading, by direction, not by tier
	StoredBytes             = "vllm:kv_offload_store_bytes_total"         // these two since 0.26, of all tiers together
	LoadedBytes             = "vllm:kv_offload_load_bytes_total"
	TierReadBytes           = "vllm:kv_offload_tiering_read_bytes_total" // these two by tier below the host's
	TierWrittenBytes        = "vllm:kv_offload_tiering_write_bytes_total"
	OffloadInfo             = "vllm:kv_offload_config_info" // 0.33, its labels are its values, one series for each tier
	SimpleOffloadInfo       = "vllm:simple_kv_offload_info" // its labels are its values
	SimpleLoadedBlocks      = "vllm:simple_kv_offload_load_blocks_total"
	Preemptions             = "vllm:num_preemptions_total"
	Drafts                  = "vllm:spec_decode_num_drafts_total" // these four with speculative decoding only
	DraftTokens             = "vllm:spec_decode_num_draft_tokens_total"
	AcceptedTokens          = "vllm:spec_decode_num_accepted_tokens_total"
	AcceptedByPos           = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
	LabelEngine             = "engine"
	LabelBlocks             = "num_gpu_blocks"
	LabelCacheType          = "cache_dtype"             // auto is the type of the model
	LabelBlocksOverride     = "num_gpu_blocks_override" // None unless set; with it, the setting in bytes is not the size
	LabelBlockSize          = "block_size"
	LabelTokens             = "kv_cache_size_tokens"  // newer releases
	LabelBytes              = "kv_cache_memory_bytes" // None unless set
	LabelMemoryShare        = "gpu_memory_utilization"
	LabelSizeResolved       = "_block_size_resolved" // False while block_size is a placeholder
	LabelMambaBlockSize     = "mamba_block_size"     // this and the next are None without Mamba layers
	LabelMambaPadding       = "mamba_page_size_padded"
	LabelSlidingWindow      = "sliding_window" // None if no layer has one
	LabelAttentionFree      = "is_attention_free"
	LabelEffectiveBlockSize = "effective_attention_block_size" // 0.32
	LabelTokenSource        = "source"
	LabelTier               = "tier" // 0:primary, 1:fs, 2:obj
	LabelPosition           = "position"
	LabelBackend            = "backend"                 // cpu or disk
	LabelPageCache          = "page_cache"              // true or false; always false with the backend cpu
	LabelHostBytes          = "cpu_kv_cache_size_bytes" // empty on the series of other tiers
	LabelPoolBlocks         = "capacity_blocks"         // as large as blocks of the GPU
	LabelTransfer           = "transfer_type"
	TransferStore           = "GPU_to_CPU"
	TransferLoad            = "CPU_to_GPU" // of LabelTransfer: what comes back, from files too
	SourceCompute           = "local_compute"
	SourceLocalHit          = "local_cache_hit"
	SourceExternal          = "external_kv_transfer"
)
