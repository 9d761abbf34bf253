package lmcache

// Names on the page of metrics, lmcache/observability.py; labels model_name and worker_id. They are also on the page of the
// engine whose process it shares.
const (
	Prefix          = "lmcache:"
	RequestedTokens = "lmcache:num_requested_tokens_total"
	HitTokens       = "lmcache:num_hit_tokens_total"
	LocalBytes      = "lmcache:local_cache_usage"
	StorageBytes    = "lmcache:local_storage_usage"
	RemoteBytes     = "lmcache:remote_cache_usage"
)
