package metric

import "strings"

// Series of inference engines, under the names on their pages. Engines rename them often: a value that is not on a page
// is absent.

// vLLM, vllm/v1/metrics/loggers.py, in addition to those in foreign.go. Those with gpu in the name were renamed in 0.9;
// external is a KV connector such as KVBM or LMCache. Labels are model_name and engine, the number of a data-parallel
// replica; cache_config_info, whose labels are its values, has the latter only.
const (
	ForeignVLLMPrefix           = "vllm:"
	ForeignVLLMCacheConfigInfo  = "vllm:cache_config_info"
	ForeignVLLMGPUUsage         = "vllm:gpu_cache_usage_perc"
	ForeignVLLMPrefixQueries    = "vllm:prefix_cache_queries_total"
	ForeignVLLMPrefixHits       = "vllm:prefix_cache_hits_total"
	ForeignVLLMGPUPrefixQueries = "vllm:gpu_prefix_cache_queries_total"
	ForeignVLLMGPUPrefixHits    = "vllm:gpu_prefix_cache_hits_total"
	ForeignVLLMExternalQueries  = "vllm:external_prefix_cache_queries_total"
	ForeignVLLMExternalHits     = "vllm:external_prefix_cache_hits_total"
	ForeignVLLMPromptTokensBy   = "vllm:prompt_tokens_by_source_total"        // newer releases, at the end of the prefill
	ForeignVLLMCachedBySource   = "vllm:prompt_tokens_cached_by_source_total" // 0.32, by tier, at admission
	ForeignVLLMOffloadedBytes   = "vllm:kv_offload_total_bytes_total"         // of its own offloading, by direction, not by tier
	ForeignVLLMPreemptions      = "vllm:num_preemptions_total"
	ForeignVLLMDrafts           = "vllm:spec_decode_num_drafts_total" // these four with speculative decoding only
	ForeignVLLMDraftTokens      = "vllm:spec_decode_num_draft_tokens_total"
	ForeignVLLMAcceptedTokens   = "vllm:spec_decode_num_accepted_tokens_total"
	ForeignVLLMAcceptedByPos    = "vllm:spec_decode_num_accepted_tokens_per_pos_total"

	ForeignVLLMLabelEngine             = "engine"
	ForeignVLLMLabelBlocks             = "num_gpu_blocks"
	ForeignVLLMLabelCacheType          = "cache_dtype"             // auto is the type of the model
	ForeignVLLMLabelBlocksOverride     = "num_gpu_blocks_override" // None unless set; with it, the setting in bytes is not the size
	ForeignVLLMLabelBlockSize          = "block_size"
	ForeignVLLMLabelTokens             = "kv_cache_size_tokens"  // newer releases
	ForeignVLLMLabelBytes              = "kv_cache_memory_bytes" // None unless set
	ForeignVLLMLabelMemoryShare        = "gpu_memory_utilization"
	ForeignVLLMLabelSizeResolved       = "_block_size_resolved" // False while block_size is a placeholder
	ForeignVLLMLabelMambaBlockSize     = "mamba_block_size"     // this and the next are None without Mamba layers
	ForeignVLLMLabelMambaPadding       = "mamba_page_size_padded"
	ForeignVLLMLabelSlidingWindow      = "sliding_window" // None if no layer has one
	ForeignVLLMLabelAttentionFree      = "is_attention_free"
	ForeignVLLMLabelEffectiveBlockSize = "effective_attention_block_size" // 0.32
	ForeignVLLMLabelTokenSource        = "source"
	ForeignVLLMLabelPosition           = "position"
	ForeignVLLMLabelTransfer           = "transfer_type"
	ForeignVLLMTransferLoad            = "CPU_to_GPU" // of ForeignVLLMLabelTransfer: what comes back, from files too
	ForeignVLLMSourceCompute           = "local_compute"
	ForeignVLLMSourceLocalHit          = "local_cache_hit"
	ForeignVLLMSourceExternal          = "external_kv_transfer"
)

// ForeignVLLMCacheTier returns the tier of a label source of ForeignVLLMCachedBySource, from
// vllm/v1/metrics/cache_hit_source.py of 0.32.0. p2p is another vLLM instance, external_unspecified a
// connector that does not name its tier.
func ForeignVLLMCacheTier(source string) string {
	switch source {
	case TierDevice, TierHost, TierDisk:
		return source
	case "p2p", "external_unspecified":
		return TierExternal
	}
	return TierOther
}

// Paths of the JSON that engines publish, and of TensorRT-LLM's page. It serves each entry on its draining path to one
// reader only.
const (
	ForeignModelsPath              = "/v1/models"
	ForeignVersionPath             = "/version" // vLLM, TensorRT-LLM
	ForeignTensorRTLLMPagePath     = "/prometheus/metrics"
	ForeignTensorRTLLMDrainingPath = "/metrics"
	ForeignLlamaCPPPropertiesPath  = "/props"
	ForeignLlamaCPPSlotsPath       = "/slots"
	ForeignDynamoOpenAPIPath       = "/openapi.json" // of the frontend: info.version
)

// ForeignEngineOfOwner returns the engine whose models have this owner in its list of models (owned_by), without the
// suffix of simulated ones; "" for others.
func ForeignEngineOfOwner(owner string) string {
	switch strings.ToLower(strings.TrimSuffix(owner, ForeignSimulatedSuffix)) {
	case "vllm":
		return EngineVLLM
	case "sglang":
		return EngineSGLang
	case "tensorrt_llm":
		return EngineTensorRTLLM
	case "nvidia":
		return EngineDynamo
	case "llamacpp":
		return EngineLlamaCPP
	default:
		return ""
	}
}

// TensorRT-LLM, tensorrt_llm/metrics/collector.py at 050f80de, on /prometheus/metrics. 1.1 has few of them,
// and those of iterations need enable_iter_perf_stats.
const (
	ForeignTensorRTLLMPrefix           = "trtllm_"
	ForeignTensorRTLLMMaxBlocks        = "trtllm_kv_cache_max_blocks"
	ForeignTensorRTLLMUsedBlocks       = "trtllm_kv_cache_used_blocks"
	ForeignTensorRTLLMTokensPerBlock   = "trtllm_kv_cache_tokens_per_block"
	ForeignTensorRTLLMKVUsage          = "trtllm_kv_cache_utilization"
	ForeignTensorRTLLMReusedBlocks     = "trtllm_kv_cache_reused_blocks_total"
	ForeignTensorRTLLMMissedBlocks     = "trtllm_kv_cache_missed_blocks_total"
	ForeignTensorRTLLMCachedTokens     = "trtllm_prompt_cached_tokens_total"
	ForeignTensorRTLLMPromptTokens     = "trtllm_prompt_tokens_total"
	ForeignTensorRTLLMGenerationTokens = "trtllm_generation_tokens_total"
	ForeignTensorRTLLMSuccess          = "trtllm_request_success_total"
	ForeignTensorRTLLMRunning          = "trtllm_num_requests_running"
	ForeignTensorRTLLMWaiting          = "trtllm_num_requests_waiting"
	ForeignTensorRTLLMPaused           = "trtllm_num_paused_requests"
	ForeignTensorRTLLMHitTokens        = "trtllm_prompt_cache_hit_tokens_total"      // by tier, at admission
	ForeignTensorRTLLMDraftTokens      = "trtllm_spec_decode_num_draft_tokens_total" // this and the next of iterations
	ForeignTensorRTLLMAcceptedTokens   = "trtllm_spec_decode_num_accepted_tokens_total"
	ForeignTensorRTLLMAcceptanceLength = "trtllm_spec_decode_acceptance_length" // of one iteration, 0 without a draft

	ForeignTensorRTLLMDraftTokensByPos    = "trtllm_spec_decode_drafted_tokens_total" // this and the next of requests that ended, by token_position
	ForeignTensorRTLLMAcceptedTokensByPos = "trtllm_spec_decode_accepted_tokens_total"

	ForeignTensorRTLLMGPUMemory    = "trtllm_gpu_memory_usage_bytes"
	ForeignTensorRTLLMPinnedMemory = "trtllm_pinned_memory_usage_bytes"

	ForeignTensorRTLLMLabelCacheLevel = "cache_level" // position in the list of tiers
	ForeignTensorRTLLMLabelCacheTier  = "cache_tier"
	ForeignTensorRTLLMLabelFinish     = "finished_reason"
	ForeignTensorRTLLMLabelPosition   = "token_position"

	ForeignTensorRTLLMOldSuccess = "request_success_total" // releases without prefix
)

// ForeignTensorRTLLMUnprefixed reports whether a name is one of the series of releases of TensorRT-LLM that have no
// prefix, all of them.
func ForeignTensorRTLLMUnprefixed(name string) bool {
	switch name {
	case ForeignTensorRTLLMOldSuccess, "e2e_request_latency_seconds", "time_to_first_token_seconds", "time_per_output_token_seconds", "request_queue_time_seconds":
		return true
	}
	return false
}

// ForeignTensorRTLLMCacheTier returns the tier of a label cache_tier of ForeignTensorRTLLMHitTokens. Blocks
// that were prefetched from disk to host before the lookup count as host.
func ForeignTensorRTLLMCacheTier(word string) string {
	switch word {
	case "gpu":
		return TierDevice
	case TierHost, TierDisk:
		return word
	}
	return TierOther
}

// SGLang, python/sglang/srt/observability/metrics_collector.py, 0.5. Gauges have the labels of ranks, counters do not;
// with priority scheduling a gauge has a series for every priority and one without priority for all.
const (
	ForeignSGLangPrefix            = "sglang:"
	ForeignSGLangMaxTokens         = "sglang:max_total_num_tokens"
	ForeignSGLangUsedTokens        = "sglang:num_used_tokens"
	ForeignSGLangTokenUsage        = "sglang:token_usage"      // of the fullest pool
	ForeignSGLangFullUsage         = "sglang:full_token_usage" // these four in releases that know hybrid models
	ForeignSGLangSlidingUsage      = "sglang:swa_token_usage"  // 0 without such a pool
	ForeignSGLangMambaUsage        = "sglang:mamba_usage"
	ForeignSGLangKVUsedTokens      = "sglang:kv_used_tokens"
	ForeignSGLangPageSize          = "sglang:page_size"                // 0.5.23
	ForeignSGLangCacheConfigInfo   = "sglang:cache_config_info"        // before 0.5.23
	ForeignSGLangKVGigabytes       = "sglang:kv_cache_memory_usage_gb" // of 2^30 bytes
	ForeignSGLangCachedTokens      = "sglang:cached_tokens_total"
	ForeignSGLangPromptTokens      = "sglang:prompt_tokens_total"
	ForeignSGLangGenerationTokens  = "sglang:generation_tokens_total"
	ForeignSGLangRunning           = "sglang:num_running_reqs"
	ForeignSGLangQueued            = "sglang:num_queue_reqs"
	ForeignSGLangRetractedTotal    = "sglang:num_retracted_requests_total" // exists since the first one
	ForeignSGLangRetracted         = "sglang:num_retracted_reqs"           // in the last batch
	ForeignSGLangHostUsedTokens    = "sglang:hicache_host_used_tokens"     // where HiCache is on
	ForeignSGLangHostTotalTokens   = "sglang:hicache_host_total_tokens"
	ForeignSGLangWeightGigabytes   = "sglang:weight_memory_usage_gb"  // of 2^30 bytes
	ForeignSGLangGraphGigabytes    = "sglang:graph_memory_usage_gb"   // by phase, of 2^30 bytes
	ForeignSGLangVerifyCalls       = "sglang:spec_verify_calls_total" // 0.5.23: at the end of a request, from the first one on
	ForeignSGLangAcceptLength      = "sglang:spec_accept_length"      // 0 without speculative decoding
	ForeignSGLangLabelPageSize     = "page_size"
	ForeignSGLangLabelCacheSource  = "cache_source"
	ForeignSGLangLabelPriority     = "priority"
	ForeignSGLangLabelReplica      = "dp_rank"
	ForeignSGLangLabelTensorRank   = "tp_rank"
	ForeignSGLangLabelPipelineRank = "pp_rank"
	ForeignSGLangLabelExpertRank   = "moe_ep_rank"
	ForeignSGLangLabelPhase        = "phase"
)

// ForeignSGLangCacheTier returns the tier of a label cache_source of ForeignSGLangCachedTokens: "total" where the engine does
// not tell tiers apart, "storage" for any HiCache backend since 0.5.20. From 0.5.15 to 0.5.18 the name of the backend's class
// follows, of which HiCacheFile alone is certainly a disk of this machine (srt/observability/metrics_collector.py).
func ForeignSGLangCacheTier(source string) string {
	switch {
	case source == "", source == "total":
		return TierAny
	case source == TierDevice, source == TierHost:
		return source
	case source == "storage_HiCacheFile":
		return TierDisk
	case strings.HasPrefix(source, "storage"):
		return TierExternal
	}
	return TierOther
}

// Dynamo, pages of 0.7.1 and 1.6.1. Before 1.0 its frontend writes the label model in lower case on series of
// requests, and as it was given on those that begin with model. Input tokens are observed when a request begins,
// cached tokens when it ends, and not at all if it is cancelled or the engine does not report them. The number of
// workers is on the page where the router chooses by KV cache.
const (
	ForeignDynamoFrontendPrefix    = "dynamo_frontend_"
	ForeignDynamoInflight          = "dynamo_frontend_inflight_requests"
	ForeignDynamoQueued            = "dynamo_frontend_queued_requests"
	ForeignDynamoInputTokensSum    = "dynamo_frontend_input_sequence_tokens_sum"
	ForeignDynamoInputTokensCount  = "dynamo_frontend_input_sequence_tokens_count"
	ForeignDynamoOutputTokens      = "dynamo_frontend_output_tokens_total"
	ForeignDynamoOutputTokensSum   = "dynamo_frontend_output_sequence_tokens_sum" // releases without the former
	ForeignDynamoCachedTokensSum   = "dynamo_frontend_cached_tokens_sum"
	ForeignDynamoCachedTokensCount = "dynamo_frontend_cached_tokens_count"
	ForeignDynamoModelBlocks       = "dynamo_frontend_model_total_kv_blocks" // of one worker
	ForeignDynamoModelBlockSize    = "dynamo_frontend_model_kv_cache_block_size"
	ForeignDynamoWorkerRegistered  = "dynamo_component_router_worker_registered" // on the page of the frontend
	ForeignDynamoLabelRouterWorker = "router_worker_id"
	ForeignDynamoLabelRank         = "dp_rank"
	ForeignDynamoLabelComponent    = "dynamo_component"
	ForeignDynamoLabelWorker       = "worker_id" // LMCache has a label of this name too

	// A worker. The names with kvstats were replaced in 0.9; an engine of 1.3 or later gives its hit rate too.
	ForeignDynamoWorkerPrefix      = "dynamo_component_"
	ForeignDynamoWorkerInflight    = "dynamo_component_inflight_requests"
	ForeignDynamoWorkerTotalBlocks = "dynamo_component_total_blocks"
	ForeignDynamoWorkerKVUsage     = "dynamo_component_gpu_cache_usage_percent" // 0 to 1
	ForeignDynamoOldTotalBlocks    = "dynamo_component_kvstats_total_blocks"
	ForeignDynamoOldActiveBlocks   = "dynamo_component_kvstats_active_blocks"
	ForeignDynamoOldKVUsage        = "dynamo_component_kvstats_gpu_cache_usage_percent" // 0 to 1
	ForeignDynamoLabelEndpoint     = "dynamo_endpoint"
	ForeignDynamoGenerate          = "generate"
)

// ForeignDynamoAddedLabels are the labels that a worker adds to its own series and to those of its engine.
func ForeignDynamoAddedLabels() []string {
	return []string{"dynamo_namespace", ForeignDynamoLabelComponent, ForeignDynamoLabelEndpoint, ForeignDynamoLabelWorker}
}

// llama.cpp, tools/server/README.md; series of the KV cache are on the pages of old builds only.
const (
	ForeignLlamaCPPPrefix          = "llamacpp:"
	ForeignLlamaCPPPromptTokens    = "llamacpp:prompt_tokens_total"
	ForeignLlamaCPPCachedTokens    = "llamacpp:prompt_tokens_cached_total" // newer builds; not among the former
	ForeignLlamaCPPPredictedTokens = "llamacpp:tokens_predicted_total"
	ForeignLlamaCPPProcessing      = "llamacpp:requests_processing"
	ForeignLlamaCPPDeferred        = "llamacpp:requests_deferred"
	ForeignLlamaCPPKVUsage         = "llamacpp:kv_cache_usage_ratio"
	ForeignLlamaCPPKVTokens        = "llamacpp:kv_cache_tokens"
	ForeignLlamaCPPDrafts          = "llamacpp:spec_decode_num_drafts_total" // newer builds
	ForeignLlamaCPPDraftTokens     = "llamacpp:spec_decode_num_draft_tokens_total"
	ForeignLlamaCPPAcceptedTokens  = "llamacpp:spec_decode_num_accepted_tokens_total"
	ForeignLlamaCPPAcceptedByPos   = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total" // from the first draft on
	ForeignLlamaCPPLabelPosition   = "position"
)

// LMCache, lmcache/observability.py; labels model_name and worker_id. They are also on the page of the engine whose
// process it shares.
const (
	ForeignLMCachePrefix          = "lmcache:"
	ForeignLMCacheRequestedTokens = "lmcache:num_requested_tokens_total"
	ForeignLMCacheHitTokens       = "lmcache:num_hit_tokens_total"
	ForeignLMCacheLocalBytes      = "lmcache:local_cache_usage"
	ForeignLMCacheStorageBytes    = "lmcache:local_storage_usage"
	ForeignLMCacheRemoteBytes     = "lmcache:remote_cache_usage"
)

// ForeignLabelModel is the label of Dynamo for a model and ForeignLabelModelName that of the other engines.
const (
	ForeignLabelModel     = "model"
	ForeignLabelModelName = "model_name"
)
