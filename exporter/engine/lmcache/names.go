package lmcache

// Names on the page of the process of an engine, lmcache/observability.py; labels model_name and worker_id. They are also on the
// page of the engine.
const (
	Prefix          = "lmcache:"
	RequestedTokens = "lmcache:num_requested_tokens_total"
	HitTokens       = "lmcache:num_hit_tokens_total"
	LocalBytes      = "lmcache:local_cache_usage"
	StorageBytes    = "lmcache:local_storage_usage"
	RemoteBytes     = "lmcache:remote_cache_usage"
)

// Names on the page of the server of multiprocess mode, recorded from 0.5.6. L1 is memory of the server, L2 are its adapters.
const (
	ServerPrefix          = "lmcache_mp_"
	ServerRequestedTokens = "lmcache_mp_lookup_requested_tokens_total" // of whole chunks only
	ServerL1HitTokens     = "lmcache_mp_lookup_hit_l1_tokens_total"
	ServerL2HitTokens     = "lmcache_mp_lookup_hit_l2_tokens_total" // of all adapters together
	ServerL1Bytes         = "lmcache_mp_l1_memory_usage_bytes"
	ServerL1Ratio         = "lmcache_mp_l1_usage_ratio"
	ServerL2Bytes         = "lmcache_mp_l2_usage_bytes"
	LabelBackend          = "backend"
	LabelL1Tag            = "l1_tag"
	LabelL2Name           = "l2_name" // the type of an adapter
	LabelCacheSalt        = "cache_salt"
)
