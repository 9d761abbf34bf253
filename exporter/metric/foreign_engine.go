package metric

// Series of inference engines, as they stand on their pages. Engines rename them often: whatever is not
// on a page is not told.

// vLLM, vllm/v1/metrics/loggers.py, beside those in foreign.go. Those with gpu in the name were renamed in
// 0.9; external is a KV connector such as KVBM or LMCache. Labels are model_name and engine, the number
// of a data-parallel replica; cache_config_info, whose labels are its values, has the latter only.
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
	ForeignVLLMPromptTokensBy   = "vllm:prompt_tokens_by_source_total" // newer releases
	ForeignVLLMPreemptions      = "vllm:num_preemptions_total"

	ForeignVLLMLabelEngine      = "engine"
	ForeignVLLMLabelBlocks      = "num_gpu_blocks"
	ForeignVLLMLabelBlockSize   = "block_size"
	ForeignVLLMLabelTokens      = "kv_cache_size_tokens"  // newer releases
	ForeignVLLMLabelBytes       = "kv_cache_memory_bytes" // None unless set
	ForeignVLLMLabelTokenSource = "source"
	ForeignVLLMSourceCompute    = "local_compute"
	ForeignVLLMSourceLocalHit   = "local_cache_hit"
	ForeignVLLMSourceExternal   = "external_kv_transfer"
)

// Paths of what engines publish in JSON, and of TensorRT-LLM's page. What it has on its draining path it
// hands to one reader only.
const (
	ForeignVersionPath             = "/version" // vLLM, TensorRT-LLM
	ForeignTensorRTLLMPagePath     = "/prometheus/metrics"
	ForeignTensorRTLLMDrainingPath = "/metrics"
	ForeignLlamaCPPPropertiesPath  = "/props"
	ForeignLlamaCPPSlotsPath       = "/slots"
)

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
)

// SGLang, python/sglang/srt/observability/metrics_collector.py, 0.5. Gauges have the labels of ranks,
// counters have not; with priority scheduling a gauge stands there for every priority and without one
// for all.
const (
	ForeignSGLangPrefix           = "sglang:"
	ForeignSGLangMaxTokens        = "sglang:max_total_num_tokens"
	ForeignSGLangUsedTokens       = "sglang:num_used_tokens"
	ForeignSGLangTokenUsage       = "sglang:token_usage"
	ForeignSGLangPageSize         = "sglang:page_size"
	ForeignSGLangCacheConfigInfo  = "sglang:cache_config_info"
	ForeignSGLangKVGigabytes      = "sglang:kv_cache_memory_usage_gb" // of 2^30 bytes
	ForeignSGLangCachedTokens     = "sglang:cached_tokens_total"
	ForeignSGLangPromptTokens     = "sglang:prompt_tokens_total"
	ForeignSGLangGenerationTokens = "sglang:generation_tokens_total"
	ForeignSGLangRunning          = "sglang:num_running_reqs"
	ForeignSGLangQueued           = "sglang:num_queue_reqs"
	ForeignSGLangRetractedTotal   = "sglang:num_retracted_requests_total" // there since the first one
	ForeignSGLangRetracted        = "sglang:num_retracted_reqs"           // in the last batch
	ForeignSGLangLabelPageSize    = "page_size"
	ForeignSGLangLabelCacheSource = "cache_source"
	ForeignSGLangLabelPriority    = "priority"
	ForeignSGLangLabelReplica     = "dp_rank"
)

// Dynamo, docs/observability/metrics.md of ai-dynamo/dynamo at a7b23c00. Its frontend writes the label model
// in lower case on series of requests, and as it was given on those that begin with model.
const (
	ForeignDynamoFrontendPrefix     = "dynamo_frontend_"
	ForeignDynamoInflight           = "dynamo_frontend_inflight_requests"
	ForeignDynamoQueued             = "dynamo_frontend_queued_requests"
	ForeignDynamoInputTokensSum     = "dynamo_frontend_input_sequence_tokens_sum"
	ForeignDynamoOutputTokens       = "dynamo_frontend_output_tokens_total"
	ForeignDynamoOutputTokensSum    = "dynamo_frontend_output_sequence_tokens_sum" // releases without the former
	ForeignDynamoCachedTokensSum    = "dynamo_frontend_cached_tokens_sum"
	ForeignDynamoModelBlocks        = "dynamo_frontend_model_total_kv_blocks"
	ForeignDynamoModelBlockSize     = "dynamo_frontend_model_kv_cache_block_size"
	ForeignDynamoModelWorkers       = "dynamo_frontend_model_workers"
	ForeignDynamoWorkerPrefix       = "dynamo_component_"
	ForeignDynamoWorkerInflight     = "dynamo_component_inflight_requests"
	ForeignDynamoWorkerTotalBlocks  = "dynamo_component_kvstats_total_blocks"
	ForeignDynamoWorkerActiveBlocks = "dynamo_component_kvstats_active_blocks"
	ForeignDynamoWorkerKVUsage      = "dynamo_component_kvstats_gpu_cache_usage_percent" // 0 to 1
	ForeignDynamoLabelEndpoint      = "dynamo_endpoint"
	ForeignDynamoGenerate           = "generate"
)

// llama.cpp, tools/server/README.md; series of the KV cache are on the pages of old builds only.
const (
	ForeignLlamaCPPPrefix          = "llamacpp:"
	ForeignLlamaCPPPromptTokens    = "llamacpp:prompt_tokens_total"
	ForeignLlamaCPPPredictedTokens = "llamacpp:tokens_predicted_total"
	ForeignLlamaCPPProcessing      = "llamacpp:requests_processing"
	ForeignLlamaCPPDeferred        = "llamacpp:requests_deferred"
	ForeignLlamaCPPKVUsage         = "llamacpp:kv_cache_usage_ratio"
	ForeignLlamaCPPKVTokens        = "llamacpp:kv_cache_tokens"
)

// LMCache, lmcache/observability.py; labels model_name and worker_id. On the page of the engine whose
// process it shares they stand beside that engine's.
const (
	ForeignLMCachePrefix          = "lmcache:"
	ForeignLMCacheRequestedTokens = "lmcache:num_requested_tokens_total"
	ForeignLMCacheHitTokens       = "lmcache:num_hit_tokens_total"
	ForeignLMCacheLocalBytes      = "lmcache:local_cache_usage"
	ForeignLMCacheStorageBytes    = "lmcache:local_storage_usage"
	ForeignLMCacheRemoteBytes     = "lmcache:remote_cache_usage"
)

// ForeignLabelModel is the label of Dynamo and ForeignLabelModelName that of the others for a model.
const (
	ForeignLabelModel     = "model"
	ForeignLabelModelName = "model_name"
)
