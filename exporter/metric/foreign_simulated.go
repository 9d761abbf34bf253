package metric

// ForeignSimulatedSuffix ends the owner name of the models of a simulated engine, such as umascope's own.
const ForeignSimulatedSuffix = "-simulated"

// Series on the pages of engines in addition to those in foreign_engine.go. umascope does not read them; its simulated
// engine serves them, so that its page is as complete as a real one.
const (
	// TensorRT-LLM, tensorrt_llm/metrics/collector.py at 050f80de.
	ForeignTensorRTLLMFreeBlocks   = "trtllm_kv_cache_free_blocks"
	ForeignTensorRTLLMHitRate      = "trtllm_kv_cache_hit_rate"
	ForeignTensorRTLLMHostUsage    = "trtllm_kv_cache_host_utilization"
	ForeignTensorRTLLMOffloadBytes = "trtllm_kv_cache_offload_bytes_total"
	ForeignTensorRTLLMOnboardBytes = "trtllm_kv_cache_onboard_bytes_total"
	ForeignTensorRTLLMFirstToken   = "trtllm_time_to_first_token_seconds"
	ForeignTensorRTLLMPerToken     = "trtllm_time_per_output_token_seconds"
	ForeignTensorRTLLMDuration     = "trtllm_e2e_request_latency_seconds"
	ForeignTensorRTLLMQueue        = "trtllm_request_queue_time_seconds"

	// SGLang, python/sglang/srt/observability/metrics_collector.py, 0.5.
	ForeignSGLangHitRate    = "sglang:cache_hit_rate"
	ForeignSGLangRequests   = "sglang:num_requests_total"
	ForeignSGLangFirstToken = "sglang:time_to_first_token_seconds"
	ForeignSGLangGap        = "sglang:inter_token_latency_seconds"
	ForeignSGLangDuration   = "sglang:e2e_request_latency_seconds"
	ForeignSGLangQueue      = "sglang:queue_time_seconds"

	// Dynamo's frontend, docs/observability/metrics_examples/fe.log of ai-dynamo/dynamo at ce30a764.
	ForeignDynamoInputTokens  = "dynamo_frontend_input_sequence_tokens"
	ForeignDynamoOutputLength = "dynamo_frontend_output_sequence_tokens"
	ForeignDynamoCachedTokens = "dynamo_frontend_cached_tokens"
	ForeignDynamoFirstToken   = "dynamo_frontend_time_to_first_token_seconds"
	ForeignDynamoGap          = "dynamo_frontend_inter_token_latency_seconds"
	ForeignDynamoDuration     = "dynamo_frontend_request_duration_seconds"
	ForeignDynamoModelContext = "dynamo_frontend_model_context_length"
	ForeignDynamoModelMaxSeqs = "dynamo_frontend_model_max_num_seqs"

	// ForeignLabelEngineType is a label of TensorRT-LLM and SGLang.
	ForeignLabelEngineType = "engine_type"
)
