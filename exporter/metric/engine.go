package metric

// Values of LabelTier on lookups in a prefix cache, in addition to those of KVBM. A lookup that several tiers answered,
// without a count by tier from the engine, is any; one that no tier answers is none.
const (
	TierExternal = "external" // a KV connector or storage backend: KVBM, LMCache
	TierAny      = "any"
	TierNone     = "none"
)

// Values of LabelResult on lookups in a prefix cache.
const (
	ResultHit  = "hit"
	ResultMiss = "miss"
)

// Values of LabelState on requests in an engine.
const (
	RequestsRunning  = "running"  // in the batch
	RequestsWaiting  = "waiting"  // waiting for a place in the batch
	RequestsPaused   = "paused"   // paused for lack of KV cache, still running
	RequestsInFlight = "inflight" // running or waiting: Dynamo's workers do not separate them
)

// Values of LabelKind on pools of a hybrid model: what they hold beside the KV cache of full attention.
const (
	PoolMamba         = "mamba"          // states of Mamba and linear attention layers
	PoolSlidingWindow = "sliding_window" // KV cache of layers with a sliding window
)

// Values of LabelDirection on tokens of an engine.
const (
	DirectionPrompt     = "prompt"
	DirectionGeneration = "generation"
)

// Values of LabelKind on memory of an engine, under the engine's own names. They overlap.
const (
	EngineMemoryWeights = "weights"
	EngineMemoryGraphs  = "graphs" // captured CUDA graphs
	EngineMemoryDevice  = "device" // all of the GPU that is not free, whatever process holds it
	EngineMemoryPinned  = "pinned" // of the host, page-locked
)

// Values of LabelResult on sockets that discovery looked at.
const (
	DiscoveryFound       = "found"       // its page is read
	DiscoveryGiven       = "given"       // its address is given by a flag or a file
	DiscoveryNoPage      = "no_page"     // an engine that has no page of metrics, or whose page is off
	DiscoveryUnknown     = "unknown"     // no known engine, or no answer
	DiscoveryUnreachable = "unreachable" // no loopback address leads to it
	DiscoveryNotAsked    = "not_asked"   // no known server program serves HTTP there, so that it is not connected to
	DiscoveryDropped     = "dropped"     // found, and beyond the limit of sources
)

// DiscoveryResults lists them all.
func DiscoveryResults() []string {
	return []string{DiscoveryFound, DiscoveryGiven, DiscoveryNoPage, DiscoveryUnknown, DiscoveryUnreachable, DiscoveryNotAsked, DiscoveryDropped}
}

const (
	enginePage = "page of metrics of the engine"

	// manySources is the help text of values that both a frontend and the engines behind it report.
	manySources = " A frontend and the engines behind it are sources of their own and count the same."
)

// Inference engines in one model. All values are the engine's own; a value that it does not report is absent.
var (
	EngineUp = gauge(Def{Name: "uma_engine_up", Unit: State, Sum: SumNever(), Telemetry: true,
		Help:   "Whether the page of an engine could be read and is one of a known engine. 0 is a state like any other while the engine is not running.",
		Source: enginePage, Labels: []Label{LabelSource}})
	EngineInfo = gauge(Def{Name: "uma_engine_info", Unit: Info, Sum: SumNever(), Telemetry: true,
		Help:   "Which engine answers, and which models it says it serves; the name of a model and the version are empty where it does not say. A name proves nothing about the weights.",
		Source: enginePage + "; /version; /props of llama.cpp; /openapi.json of Dynamo's frontend; /v1/models of an engine without a page that discovery found", Labels: []Label{LabelSource, LabelEngine, LabelModel, LabelVersion}})
	EngineKVCapacityBytes = gauge(Def{Name: "uma_engine_kv_capacity_bytes", Unit: Bytes, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Size of the KV cache on the first GPU of each replica of the engine." + manySources,
		Source: "vLLM kv_cache_memory_bytes where set without num_gpu_blocks_override; SGLang kv_cache_memory_usage_gb", Labels: []Label{LabelSource, LabelModel}})
	EngineKVCapacityTokens = gauge(Def{Name: "uma_engine_kv_capacity_tokens", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Tokens that the KV cache has room for, over all replicas of the engine." + manySources,
		Source: enginePage + "; /slots of llama.cpp with one slot", Labels: []Label{LabelSource, LabelModel}})
	EngineKVCapacityBlocks = gauge(Def{Name: "uma_engine_kv_capacity_blocks", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Blocks of the KV cache, over all replicas of the engine. Dynamo's frontend has those of one worker, so they are absent unless its router names exactly one; pages of workers have theirs." + manySources,
		Source: enginePage, Labels: []Label{LabelSource, LabelModel}})
	EngineKVUsedRatio = gauge(Def{Name: "uma_engine_kv_used_ratio", Unit: Ratio, Sum: SumNever(), Telemetry: true,
		Help:   "Share of the KV cache that requests hold, of hybrid models without their other pools. What is kept for reuse only counts as free in vLLM and SGLang.",
		Source: enginePage, Labels: []Label{LabelSource, LabelModel}})
	EngineStatePoolUsedRatio = gauge(Def{Name: "uma_engine_state_pool_used_ratio", Unit: Ratio, Sum: SumNever(), Telemetry: true,
		Help:   "Share in use of a pool that a hybrid model has beside its KV cache, of the fullest replica: requests wait when it is full, however empty the KV cache is. Absent until the pool is first used, since the engine writes 0 for a pool that its model lacks.",
		Source: "SGLang mamba_usage, swa_token_usage", Labels: []Label{LabelSource, LabelModel, LabelKind}})
	EngineKVUsedTokens = gauge(Def{Name: "uma_engine_kv_used_tokens", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Tokens of the KV cache that requests hold; worked out from blocks where the engine counts these." + manySources,
		Source: enginePage + "; /slots of llama.cpp", Labels: []Label{LabelSource, LabelModel}})
	EngineKVTierUsedBytes = gauge(Def{Name: "uma_engine_kv_tier_used_bytes", Unit: Bytes, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Bytes of KV cache held in a tier beside the GPU; external is a remote one." + manySources,
		Source: "LMCache local_cache_usage, local_storage_usage, remote_cache_usage; of its server l1_memory_usage_bytes, l2_usage_bytes; Mooncake master_allocated_bytes, master_allocated_file_size_bytes, master_nof_allocated_bytes", Labels: []Label{LabelSource, LabelModel, LabelTier}})
	EngineKVTierCapacityBytes = gauge(Def{Name: "uma_engine_kv_tier_capacity_bytes", Unit: Bytes, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Size of a tier beside the GPU. Of LMCache's server absent until the tier holds something." + manySources,
		Source: "vLLM kv_offload_config_info; LMCache's server l1_memory_usage_bytes / l1_usage_ratio; Mooncake master_total_capacity_bytes, master_total_file_capacity_bytes, master_total_nof_capacity_bytes", Labels: []Label{LabelSource, LabelModel, LabelTier}})
	EngineKVTierUsedTokens = gauge(Def{Name: "uma_engine_kv_tier_used_tokens", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Tokens whose KV cache is held in a tier beside the GPU, over all replicas of the engine." + manySources,
		Source: "SGLang hicache_host_used_tokens", Labels: []Label{LabelSource, LabelModel, LabelTier}})
	EngineKVTierCapacityTokens = gauge(Def{Name: "uma_engine_kv_tier_capacity_tokens", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Tokens that a tier beside the GPU has room for, over all replicas of the engine." + manySources,
		Source: "SGLang hicache_host_total_tokens; vLLM simple_kv_offload_info", Labels: []Label{LabelSource, LabelModel, LabelTier}})
	EngineKVTierDirectIO = gauge(Def{Name: "uma_engine_kv_tier_direct_io", Unit: State, Sum: SumNever(), Telemetry: true,
		Help:   "Whether a tier in files bypasses the page cache (O_DIRECT), by the engine's own word. Without it the tier takes the memory that it is there to spare.",
		Source: "vLLM simple_kv_offload_info", Labels: []Label{LabelSource, LabelModel, LabelTier}})
	EngineKVMovedBytesTotal = counter(Def{Name: "uma_engine_kv_moved_bytes_total", Unit: Bytes, Sum: SumKeeping(LabelSource, LabelFrom, LabelTo), Telemetry: true,
		Help:   "Bytes of KV cache that an engine itself copied from one tier to another. A byte that goes through the host counts once for each step." + manySources,
		Source: enginePage + ", of its own offloading", Labels: []Label{LabelSource, LabelModel, LabelFrom, LabelTo}})
	EngineKVMovedTokensTotal = counter(Def{Name: "uma_engine_kv_moved_tokens_total", Unit: Count, Sum: SumKeeping(LabelSource, LabelFrom, LabelTo), Telemetry: true,
		Help:   "The same in tokens, of engines that count these.",
		Source: enginePage + ", of its own offloading", Labels: []Label{LabelSource, LabelModel, LabelFrom, LabelTo}})
	EngineKVEvictedTokensTotal = counter(Def{Name: "uma_engine_kv_evicted_tokens_total", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Tokens whose KV cache left the GPU to make room for others: a prompt that begins alike is found in a lower tier, or computed again." + manySources,
		Source: enginePage, Labels: []Label{LabelSource, LabelModel}})
	EngineMemoryBytes = gauge(Def{Name: "uma_engine_memory_bytes", Unit: Bytes, Sum: SumNever(), Telemetry: true,
		Help:   "Memory by the engine's own word: weights and captured graphs of the first GPU of each replica, pinned memory of the host, and device, which is all of the GPU that CUDA does not see as free, of whichever program: on a unified machine page cache too.",
		Source: "SGLang weight_memory_usage_gb, graph_memory_usage_gb; TensorRT-LLM gpu_memory_usage_bytes, pinned_memory_usage_bytes", Labels: []Label{LabelSource, LabelModel, LabelKind}})
	EnginePrefixCacheTokensTotal = counter(Def{Name: "uma_engine_prefix_cache_tokens_total", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Prompt tokens looked up in the prefix cache: each was found in one tier, or in none and had to be computed. The share of hits is hits over all of them. Of Dynamo's frontend as of the last reading without a request in flight; absent if its engine reports no cached tokens." + manySources,
		Source: enginePage, Labels: []Label{LabelSource, LabelModel, LabelTier, LabelResult}})
	EnginePrefixCacheBlocksTotal = counter(Def{Name: "uma_engine_prefix_cache_blocks_total", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "The same in blocks, of engines that count these." + manySources,
		Source: "TensorRT-LLM", Labels: []Label{LabelSource, LabelModel, LabelTier, LabelResult}})
	EnginePreemptionsTotal = counter(Def{Name: "uma_engine_preemptions_total", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Requests preempted for lack of KV cache, to be computed again.",
		Source: "vLLM preemptions, SGLang retractions", Labels: []Label{LabelSource, LabelModel}})
	EngineSpecDraftsTotal = counter(Def{Name: "uma_engine_spec_drafts_total", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Drafts of speculative decoding that the model verified: one for each request and step that had a draft. The mean length accepted is 1 + accepted tokens / drafts, since the model adds one token of its own to each. SGLang and llama.cpp count a request when it ends.",
		Source: "vLLM and llama.cpp spec_decode_num_drafts, SGLang spec_verify_calls", Labels: []Label{LabelSource, LabelModel}})
	EngineSpecDraftTokensTotal = counter(Def{Name: "uma_engine_spec_draft_tokens_total", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Tokens drafted by speculative decoding. llama.cpp counts them, at 0, without speculative decoding too.",
		Source: "vLLM, llama.cpp and TensorRT-LLM spec_decode_num_draft_tokens", Labels: []Label{LabelSource, LabelModel}})
	EngineSpecAcceptedTokensTotal = counter(Def{Name: "uma_engine_spec_accepted_tokens_total", Unit: Count, Sum: SumKeeping(LabelSource), Telemetry: true,
		Help:   "Drafted tokens that the model accepted, by their position in the draft, from 0 on; position is empty where the engine does not count by position.",
		Source: "vLLM and llama.cpp spec_decode_num_accepted_tokens_per_pos; TensorRT-LLM spec_decode_num_accepted_tokens", Labels: []Label{LabelSource, LabelModel, LabelPosition}})
	EngineSpecAcceptedLength = gauge(Def{Name: "uma_engine_spec_accepted_length", Unit: Count, Sum: SumNever(), Telemetry: true,
		Help:   "Tokens that a step with a draft gave, the model's own token included: the mean of the engine's last interval, of engines whose counters do not give it.",
		Source: "SGLang spec_accept_length, of its last log interval; TensorRT-LLM spec_decode_acceptance_length, of its last iteration", Labels: []Label{LabelSource, LabelModel}})
	EngineRequests = gauge(Def{Name: "uma_engine_requests", Unit: Count, Sum: SumKeeping(LabelSource, LabelState), Telemetry: true,
		Help:   "Requests in the engine: running, waiting, paused (running, but put off for lack of KV cache), or inflight where the engine does not distinguish them." + manySources,
		Source: enginePage, Labels: []Label{LabelSource, LabelModel, LabelState}})
	EngineTokensTotal = counter(Def{Name: "uma_engine_tokens_total", Unit: Count, Sum: SumKeeping(LabelSource, LabelDirection), Telemetry: true,
		Help:   "Tokens of prompts taken in, those found in a cache included where the engine counts them, and tokens generated. Some engines count a request when it ends." + manySources,
		Source: enginePage, Labels: []Label{LabelSource, LabelModel, LabelDirection}})
	EngineDiscoverySockets = gauge(Def{Name: "uma_engine_discovery_sockets", Unit: Count,
		Help:   "Listening TCP sockets of processes that hold GPU memory, and of those around them, by what discovery found: found (an engine, whose page is read), given (its address is given by a flag or a file), no_page (an engine without a page of metrics), unknown (no known engine, or no answer), unreachable (no loopback address leads to it, such as into a container that publishes no port), not_asked (not a port where a known server program serves HTTP, so that nothing connects to it), dropped (beyond the limit of sources). The pages for people list them with reasons. Absent with --no-discovery.",
		Source: "/proc/<pid>/net/tcp, tcp6, fd; arguments of docker-proxy and of server programs; answers on loopback", Labels: []Label{LabelResult}})
)

func engineDefs() []Definer {
	return []Definer{
		EngineUp, EngineInfo, EngineKVCapacityBytes, EngineKVCapacityTokens, EngineKVCapacityBlocks, EngineKVUsedRatio, EngineStatePoolUsedRatio,
		EngineKVUsedTokens, EngineKVTierUsedBytes, EngineKVTierCapacityBytes, EngineKVTierUsedTokens, EngineKVTierCapacityTokens, EngineKVTierDirectIO,
		EngineKVMovedBytesTotal, EngineKVMovedTokensTotal, EngineKVEvictedTokensTotal, EngineMemoryBytes,
		EnginePrefixCacheTokensTotal, EnginePrefixCacheBlocksTotal,
		EnginePreemptionsTotal, EngineSpecDraftsTotal, EngineSpecDraftTokensTotal, EngineSpecAcceptedTokensTotal, EngineSpecAcceptedLength,
		EngineRequests, EngineTokensTotal, EngineDiscoverySockets,
	}
}
