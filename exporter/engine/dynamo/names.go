package dynamo

// Names on the pages of metrics of 0.7.1 and 1.6.1. Before 1.0 the frontend writes the label model in lower case on series of
// requests, and as it was given on those that begin with model. Input tokens are observed when a request begins, cached
// tokens when it ends, and not at all if it is cancelled or the engine does not report them. The number of workers is on the
// page where the router chooses by KV cache. The names of a worker with kvstats were replaced in 0.9; an engine of 1.3 or
// later gives its hit rate too.
const (
	OpenAPIPath       = "/openapi.json" // of the frontend: info.version
	FrontendPrefix    = "dynamo_frontend_"
	Inflight          = "dynamo_frontend_inflight_requests"
	Queued            = "dynamo_frontend_queued_requests"
	InputTokensSum    = "dynamo_frontend_input_sequence_tokens_sum"
	InputTokensCount  = "dynamo_frontend_input_sequence_tokens_count"
	OutputTokens      = "dynamo_frontend_output_tokens_total"
	OutputTokensSum   = "dynamo_frontend_output_sequence_tokens_sum" // releases without the former
	CachedTokensSum   = "dynamo_frontend_cached_tokens_sum"
	CachedTokensCount = "dynamo_frontend_cached_tokens_count"
	ModelBlocks       = "dynamo_frontend_model_total_kv_blocks" // of one worker
	ModelBlockSize    = "dynamo_frontend_model_kv_cache_block_size"
	WorkerRegistered  = "dynamo_component_router_worker_registered" // on the page of the frontend
	LabelRouterWorker = "router_worker_id"
	LabelRank         = "dp_rank"
	LabelComponent    = "dynamo_component"
	LabelWorker       = "worker_id" // LMCache has a label of this name too
	WorkerPrefix      = "dynamo_component_"
	WorkerInflight    = "dynamo_component_inflight_requests"
	WorkerTotalBlocks = "dynamo_component_total_blocks"
	WorkerKVUsage     = "dynamo_component_gpu_cache_usage_percent" // 0 to 1
	OldTotalBlocks    = "dynamo_component_kvstats_total_blocks"
	OldActiveBlocks   = "dynamo_component_kvstats_active_blocks"
	OldKVUsage        = "dynamo_component_kvstats_gpu_cache_usage_percent" // 0 to 1
	LabelEndpoint     = "dynamo_endpoint"
	Generate          = "generate"
	ModelContext      = "dynamo_frontend_model_context_length"
)
