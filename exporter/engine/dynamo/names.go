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

// Names on the page of the KV block manager. Those of version 1 are recorded from 1.4.2; they have no labels, and the counters no
// _total. Version 2, from its observability crate, has them too and adds its own; no release up to 1.6.1 has it.
const (
	KVBMMatchedTokens       = "kvbm_matched_tokens"
	KVBMOffloadBytesObject  = "kvbm_offload_bytes_object"
	KVBMOnboardBytesObject  = "kvbm_onboard_bytes_object"
	KVBMHostHitRate         = "kvbm_host_cache_hit_rate"
	KVBMDiskHitRate         = "kvbm_disk_cache_hit_rate"
	KVBMObjectHitRate       = "kvbm_object_cache_hit_rate"
	KVBMObjectReadFailures  = "kvbm_object_read_failures"
	KVBMObjectWriteFailures = "kvbm_object_write_failures"
	KVBMOffloadBlocksD2H    = "kvbm_offload_blocks_d2h"
	KVBMOffloadBlocksH2D    = "kvbm_offload_blocks_h2d"
	KVBMOffloadBlocksD2D    = "kvbm_offload_blocks_d2d"
	KVBMOffloadBlocksD2O    = "kvbm_offload_blocks_d2o"
	KVBMOnboardBlocksH2D    = "kvbm_onboard_blocks_h2d"
	KVBMOnboardBlocksD2D    = "kvbm_onboard_blocks_d2d"
	KVBMOnboardBlocksO2D    = "kvbm_onboard_blocks_o2d"
	KVBMOnboardBlocksD2H    = "kvbm_onboard_blocks_d2h" // this and the following of version 2
	KVBMInflightOnboards    = "kvbm_inflight_onboard_hashes"
	KVBMTransferDuration    = "kvbm_transfer_duration_seconds" // by operation, route, outcome
	KVBMTransferFailures    = "kvbm_transfer_failures_total"   // by operation, route, reason
	KVBMTransferInflight    = "kvbm_transfer_inflight"         // by operation
	KVBMHitBlocks           = "kvbm_cache_blocks_hit_total"    // by tier
	LabelKVBMOperation      = "operation"
	LabelKVBMRoute          = "route"
	LabelKVBMOutcome        = "outcome"
	LabelKVBMReason         = "reason"
	LabelKVBMTier           = "tier"
)
