package metric

// Values of LabelOp on what a KV block manager moves. To offload is to copy blocks to a slower tier, to
// onboard is to bring them back.
const (
	OpOffload = "offload"
	OpOnboard = "onboard"
)

// Values of LabelTier, LabelFrom and LabelTo: the place of KV blocks. TierOther is a tier whose name in the source is
// unknown here.
const (
	TierDevice = "device"
	TierHost   = "host"
	TierDisk   = "disk"
	TierObject = "object"
	TierOther  = "other"
)

// Values of LabelDirection on what NIXL moves, under NIXL's names.
const (
	DirectionTx = "tx"
	DirectionRx = "rx"
)

// Values of LabelVersion on uma_kvbm_info: which of its metrics a page has.
const (
	KVBMVersion1    = "v1"
	KVBMVersion2    = "v2"
	KVBMVersionNIXL = "nixl" // only those of the transfer layer
)

const (
	kvbmPage = "KVBM, /metrics"
	kvbmV2   = "KVBM v2, in no release up to Dynamo 1.6.1, /metrics"
	kvbmLog  = "log of the engine, line Cache Hit Rates"
	nixlPage = "NIXL telemetry, /metrics"

	// countedTwice is the help text of counts that include the same block on every leg of its way.
	countedTwice = " A block that goes from device by host to disk is counted on both legs."
)

// KV blocks that Dynamo's KV block manager moves between tiers, its hits in them, and their content.
var (
	KVBMUp = gauge(Def{Name: "uma_kvbm_up", Unit: State, Sum: SumNever(), Telemetry: true,
		Help:   "Whether the page of a KV block manager could be read. 0 is normal where KVBM is off.",
		Source: kvbmPage, Labels: []Label{LabelSource}})
	KVBMInfo = gauge(Def{Name: "uma_kvbm_info", Unit: Info, Sum: SumNever(),
		Help:   "Which metrics a page has: v1, v2 (in no release up to Dynamo 1.6.1), or nixl where there are only those of the transfer layer. In v1 a read of the disk is an onboard from disk to device, in v2 one from disk to host.",
		Source: kvbmPage, Labels: []Label{LabelSource, LabelVersion}})
	KVBMBlocksTotal = counter(Def{Name: "uma_kvbm_blocks_total", Unit: Count, Telemetry: true, Sum: SumKeeping(LabelOp, LabelFrom, LabelTo),
		Help:   "KV blocks copied from one tier to another. Only onboards from disk prove that the SSD was read." + countedTwice,
		Source: kvbmPage + " kvbm_{offload,onboard}_blocks_*", Labels: []Label{LabelSource, LabelOp, LabelFrom, LabelTo}})
	KVBMBytesTotal = counter(Def{Name: "uma_kvbm_bytes_total", Unit: Bytes, Telemetry: true, Sum: SumKeeping(LabelOp, LabelFrom, LabelTo),
		Help:   "Bytes of the KV blocks copied, where the size of a block is known; of the object tier as the source counts them." + countedTwice,
		Source: "uma_kvbm_blocks_total x uma_kvbm_block_bytes; " + kvbmPage + " kvbm_*_bytes_object", Labels: []Label{LabelSource, LabelOp, LabelFrom, LabelTo}})
	KVBMBlockBytes = gauge(Def{Name: "uma_kvbm_block_bytes", Unit: Bytes, Sum: SumNever(),
		Help:   "Size of a KV block that bytes are worked out with.",
		Source: "--kvbm.bytes-per-block, else bytes_per_block in the one log of the engine", Labels: []Label{LabelSource}})
	KVBMMatchedTokensTotal = counter(Def{Name: "uma_kvbm_matched_tokens_total", Unit: Count, Telemetry: true,
		Help:   "Prompt tokens that were found in the tiers below the device. There is no count of those looked for; the engine's prompt tokens are nearest to it.",
		Source: kvbmPage + " kvbm_matched_tokens", Labels: []Label{LabelSource}})
	KVBMWindowHitRatio = gauge(Def{Name: "uma_kvbm_window_hit_ratio", Unit: Ratio, Sum: SumNever(),
		Help:   "Share of the blocks asked for that a tier had, over the last requests (1000 unless configured), not over all time. 0 also before the first request, and for the object tier always in releases that do not count it.",
		Source: kvbmPage + " kvbm_*_cache_hit_rate", Labels: []Label{LabelSource, LabelTier}})
	KVBMWindowHitBlocks = gauge(Def{Name: "uma_kvbm_window_hit_blocks", Unit: Count, Sum: SumKeeping(LabelTier),
		Help:   "Blocks found in a tier over the same requests as uma_kvbm_window_queried_blocks; their ratio is the window hit ratio. As of the last line of the log, which has one only when the figures change.",
		Source: kvbmLog, Labels: []Label{LabelSource, LabelTier}})
	KVBMWindowQueriedBlocks = gauge(Def{Name: "uma_kvbm_window_queried_blocks", Unit: Count,
		Help:   "Blocks asked for over the last requests (1000 unless configured). As of the last line of the log, which has one only when the figures change.",
		Source: kvbmLog, Labels: []Label{LabelSource}})
	KVBMHitBlocksTotal = counter(Def{Name: "uma_kvbm_hit_blocks_total", Unit: Count, Telemetry: true,
		Help:   "Blocks served by a tier.",
		Source: kvbmV2 + " kvbm_cache_blocks_hit_total", Labels: []Label{LabelSource, LabelTier}})
	KVBMOnboardsInFlight = gauge(Def{Name: "uma_kvbm_onboards_in_flight", Unit: Count,
		Help:   "Sequence hashes with an onboard in flight. One that stays above 0 without progress is a guard that was leaked, and holds requests up.",
		Source: kvbmV2 + " kvbm_inflight_onboard_hashes", Labels: []Label{LabelSource}})
	KVBMTransfersInFlight = gauge(Def{Name: "uma_kvbm_transfers_in_flight", Unit: Count,
		Help:   "Transfers in flight.",
		Source: kvbmV2 + " kvbm_transfer_inflight", Labels: []Label{LabelSource, LabelOp}})
	KVBMTransfersTotal = counter(Def{Name: "uma_kvbm_transfers_total", Unit: Count, Sum: SumKeeping(LabelOp, LabelFrom, LabelTo),
		Help:   "Transfers ended, by their result in the word of the source. A transfer moves several blocks." + countedTwice,
		Source: kvbmV2 + " kvbm_transfer_duration_seconds_count", Labels: []Label{LabelSource, LabelOp, LabelFrom, LabelTo, LabelResult}})
	KVBMTransferSecondsTotal = counter(Def{Name: "uma_kvbm_transfer_seconds_total", Unit: Seconds, Sum: SumKeeping(LabelOp, LabelFrom, LabelTo),
		Help:   "Time from begin to end of transfers, those at the same time counted several times; with uma_kvbm_transfers_total it gives the mean.",
		Source: kvbmV2 + " kvbm_transfer_duration_seconds_sum", Labels: []Label{LabelSource, LabelOp, LabelFrom, LabelTo, LabelResult}})
	KVBMTransferFailuresTotal = counter(Def{Name: "uma_kvbm_transfer_failures_total", Unit: Count,
		Help:   "Transfers failed, by reason in the word of the source.",
		Source: kvbmV2 + " kvbm_transfer_failures_total", Labels: []Label{LabelSource, LabelOp, LabelFrom, LabelTo, LabelReason}})
	KVBMObjectFailuresTotal = counter(Def{Name: "uma_kvbm_object_failures_total", Unit: Count,
		Help:   "Blocks whose read from or write to the object store failed.",
		Source: kvbmPage + " kvbm_object_{read,write}_failures", Labels: []Label{LabelSource, LabelOp}})
	KVBMDiskFileBytes = gauge(Def{Name: "uma_kvbm_disk_file_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Size of the file that is the disk tier, allocated whole at the start: capacity, not use. The file has lost its name by then, so that ls and du do not show it. One that several processes have open is shown once, for the first of them.",
		Source: "/proc/<pid>/fd of processes that use a GPU and those in their cgroups", Labels: []Label{LabelPID, LabelComm, LabelCgroup, LabelPath}})
	KVBMDiskFileInfo = gauge(Def{Name: "uma_kvbm_disk_file_info", Unit: Info, Sum: SumNever(), Telemetry: true,
		Help:   "Which drive holds the file that is the disk tier, through partitions, LVM and dm-crypt; several if the volume is spread over them. Absent for a file in memory or on a network.",
		Source: "device of the file, /sys/dev/block/<major>:<minor> and its slaves", Labels: []Label{LabelPID, LabelComm, LabelCgroup, LabelPath, LabelDevice}})
	KVBMDiskFileDirectIO = gauge(Def{Name: "uma_kvbm_disk_file_direct_io", Unit: State, Sum: SumNever(), Telemetry: true,
		Help:   "Whether a descriptor of the disk tier bypasses the page cache (O_DIRECT). Without it the tier takes the memory that it is there to spare.",
		Source: "/proc/<pid>/fdinfo", Labels: []Label{LabelPID, LabelComm, LabelCgroup, LabelPath}})
	KVBMConfiguredCacheBytes = gauge(Def{Name: "uma_kvbm_configured_cache_bytes", Unit: Bytes, Sum: SumNever(), Telemetry: true,
		Help:   "Size of a tier that an engine was started with; 0 is one that was turned off. All workers of an engine have the same, and share it. Absent where a number of blocks was given instead.",
		Source: "/proc/<pid>/environ of processes that use a GPU, DYN_KVBM_{CPU,DISK}_CACHE_GB x 10^9", Labels: []Label{LabelPID, LabelComm, LabelCgroup, LabelTier}})
	KVBMDiskFilterEnabled = gauge(Def{Name: "uma_kvbm_disk_filter_enabled", Unit: State, Sum: SumNever(), Telemetry: true,
		Help:   "Whether an engine was started with KVBM's disk offload filter, which is the default: a block is written to the disk only when it is computed for the second time. Absent where no disk tier is configured.",
		Source: "/proc/<pid>/environ of processes that use a GPU, DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER", Labels: []Label{LabelPID, LabelComm, LabelCgroup}})
	KVBMNIXLBytesTotal = counter(Def{Name: "uma_kvbm_nixl_bytes_total", Unit: Bytes, Telemetry: true,
		Help:   "Bytes that NIXL moved. Direction tx is its operation WRITE, rx its READ: with a backend of files to and from the file.",
		Source: nixlPage + " agent_{tx,rx}_bytes_total", Labels: []Label{LabelSource, LabelAgent, LabelDirection}})
	KVBMNIXLRequestsTotal = counter(Def{Name: "uma_kvbm_nixl_requests_total", Unit: Count,
		Help:   "Transfer requests of NIXL, by the directions of uma_kvbm_nixl_bytes_total.",
		Source: nixlPage + " agent_{tx,rx}_requests_num_total", Labels: []Label{LabelSource, LabelAgent, LabelDirection}})
	KVBMNIXLTransferSecondsTotal = counter(Def{Name: "uma_kvbm_nixl_transfer_seconds_total", Unit: Seconds, Telemetry: true,
		Help:   "Time from begin to end of NIXL's transfers of both directions, those at the same time counted several times.",
		Source: nixlPage + " agent_xfer_time_total, in microseconds", Labels: []Label{LabelSource, LabelAgent}})
	KVBMNIXLRegisteredBytesTotal = counter(Def{Name: "uma_kvbm_nixl_registered_bytes_total", Unit: Bytes,
		Help:   "Memory and files registered for transfers since the start. Minus uma_kvbm_nixl_deregistered_bytes_total it is what is registered now.",
		Source: nixlPage + " agent_memory_registered_total", Labels: []Label{LabelSource, LabelAgent}})
	KVBMNIXLDeregisteredBytesTotal = counter(Def{Name: "uma_kvbm_nixl_deregistered_bytes_total", Unit: Bytes,
		Help:   "Memory and files that were registered and are no longer, as NIXL 1.5.1 counts them.",
		Source: nixlPage + " agent_memory_deregistered_total", Labels: []Label{LabelSource, LabelAgent}})
	KVBMNIXLErrorsTotal = counter(Def{Name: "uma_kvbm_nixl_errors_total", Unit: Count,
		Help:   "Errors of NIXL by status, in its own word.",
		Source: nixlPage + " agent_errors_total", Labels: []Label{LabelSource, LabelAgent, LabelStatus}})
	KVBMNIXLDroppedEventsTotal = counter(Def{Name: "uma_kvbm_nixl_dropped_events_total", Unit: Count,
		Help:   "Telemetry events that NIXL dropped: its other counts are too low by as many.",
		Source: nixlPage + " agent_telemetry_events_dropped_total", Labels: []Label{LabelSource, LabelAgent}})
)

func kvbmDefs() []Definer {
	return []Definer{
		KVBMUp, KVBMInfo, KVBMBlocksTotal, KVBMBytesTotal, KVBMBlockBytes, KVBMMatchedTokensTotal,
		KVBMWindowHitRatio, KVBMWindowHitBlocks, KVBMWindowQueriedBlocks, KVBMHitBlocksTotal,
		KVBMOnboardsInFlight, KVBMTransfersInFlight, KVBMTransfersTotal, KVBMTransferSecondsTotal,
		KVBMTransferFailuresTotal, KVBMObjectFailuresTotal, KVBMDiskFileBytes, KVBMDiskFileInfo, KVBMDiskFileDirectIO,
		KVBMConfiguredCacheBytes, KVBMDiskFilterEnabled, KVBMNIXLBytesTotal, KVBMNIXLRequestsTotal, KVBMNIXLTransferSecondsTotal,
		KVBMNIXLRegisteredBytesTotal, KVBMNIXLDeregisteredBytesTotal, KVBMNIXLErrorsTotal, KVBMNIXLDroppedEventsTotal,
	}
}
