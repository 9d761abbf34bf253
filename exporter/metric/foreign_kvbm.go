package metric

// Series of Dynamo's KV block manager. Those of version 1 are from lib/llm/src/block_manager/metrics_kvbm.rs
// of ai-dynamo/dynamo at 3c24940c: they have no labels, and the counters no _total. Version 2 has them
// too and adds its own, from its observability crate; no release up to 1.6.1 has it. The dashboard that comes with Dynamo has dynamo_
// before every name.
const (
	ForeignKVBMMatchedTokens = "kvbm_matched_tokens"

	ForeignKVBMOffloadBytesObject = "kvbm_offload_bytes_object"
	ForeignKVBMOnboardBytesObject = "kvbm_onboard_bytes_object"

	ForeignKVBMHostHitRate   = "kvbm_host_cache_hit_rate"
	ForeignKVBMDiskHitRate   = "kvbm_disk_cache_hit_rate"
	ForeignKVBMObjectHitRate = "kvbm_object_cache_hit_rate"

	// Of version 2.
	ForeignKVBMOnboardBlocksD2H    = "kvbm_onboard_blocks_d2h"
	ForeignKVBMInflightOnboards    = "kvbm_inflight_onboard_hashes"
	ForeignKVBMObjectReadFailures  = "kvbm_object_read_failures"
	ForeignKVBMObjectWriteFailures = "kvbm_object_write_failures"
	ForeignKVBMTransferDuration    = "kvbm_transfer_duration_seconds" // by operation, route, outcome
	ForeignKVBMTransferFailures    = "kvbm_transfer_failures_total"   // by operation, route, reason
	ForeignKVBMTransferInflight    = "kvbm_transfer_inflight"         // by operation
	ForeignKVBMHitBlocks           = "kvbm_cache_blocks_hit_total"    // by tier
)

// ForeignKVBMPrefixes are the prefixes of the names above.
func ForeignKVBMPrefixes() []string { return []string{"", "dynamo_"} }

// KVBMRoute is a route of KV blocks. The letters of its name mean different tiers by operation: h2d is from host to
// disk when offloading and from host to device when onboarding.
type KVBMRoute struct {
	// Op and Letters are KVBM's names for it, in the labels operation and route too.
	Op, Letters string
	// From and To are the tiers.
	From, To string
	// Blocks is the series that counts the blocks.
	Blocks string
}

// KVBMRoutes lists them all; that from disk to host is of version 2.
func KVBMRoutes() []KVBMRoute {
	return []KVBMRoute{
		{OpOffload, "d2h", TierDevice, TierHost, "kvbm_offload_blocks_d2h"},
		{OpOffload, "h2d", TierHost, TierDisk, "kvbm_offload_blocks_h2d"},
		{OpOffload, "d2d", TierDevice, TierDisk, "kvbm_offload_blocks_d2d"},
		{OpOffload, "d2o", TierDevice, TierObject, "kvbm_offload_blocks_d2o"},
		{OpOnboard, "d2h", TierDisk, TierHost, ForeignKVBMOnboardBlocksD2H},
		{OpOnboard, "h2d", TierHost, TierDevice, "kvbm_onboard_blocks_h2d"},
		{OpOnboard, "d2d", TierDisk, TierDevice, "kvbm_onboard_blocks_d2d"},
		{OpOnboard, "o2d", TierObject, TierDevice, "kvbm_onboard_blocks_o2d"},
	}
}

// Series of NIXL's telemetry, from docs/telemetry.md of ai-dynamo/nixl at 8770b655, with the labels
// agent_name and hostname. It is experimental and must be built into the library that an image has.
const (
	ForeignNIXLTxBytes       = "agent_tx_bytes_total"
	ForeignNIXLRxBytes       = "agent_rx_bytes_total"
	ForeignNIXLTxRequests    = "agent_tx_requests_num_total"
	ForeignNIXLRxRequests    = "agent_rx_requests_num_total"
	ForeignNIXLTransferTime  = "agent_xfer_time_total" // microseconds
	ForeignNIXLRegistered    = "agent_memory_registered_total"
	ForeignNIXLErrors        = "agent_errors_total" // by status
	ForeignNIXLDroppedEvents = "agent_telemetry_events_dropped_total"
)

// ForeignKVBM lists the complete names above: what a page can have.
func ForeignKVBM() []string {
	names := []string{
		ForeignKVBMMatchedTokens, ForeignKVBMOffloadBytesObject, ForeignKVBMOnboardBytesObject, ForeignKVBMHostHitRate,
		ForeignKVBMDiskHitRate, ForeignKVBMObjectHitRate, ForeignKVBMInflightOnboards, ForeignKVBMObjectReadFailures,
		ForeignKVBMObjectWriteFailures, ForeignKVBMTransferDuration, ForeignKVBMTransferFailures, ForeignKVBMTransferInflight,
		ForeignKVBMHitBlocks, ForeignNIXLTxBytes, ForeignNIXLRxBytes, ForeignNIXLTxRequests, ForeignNIXLRxRequests,
		ForeignNIXLTransferTime, ForeignNIXLRegistered, ForeignNIXLErrors, ForeignNIXLDroppedEvents,
	}
	for _, route := range KVBMRoutes() {
		names = append(names, route.Blocks)
	}
	return names
}
