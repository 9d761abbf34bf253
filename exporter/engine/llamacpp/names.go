package llamacpp

// Names on the page of metrics and paths, tools/server/README.md; series of the KV cache are on the pages of old builds only.
const (
	PropertiesPath  = "/props"
	SlotsPath       = "/slots"
	Prefix          = "llamacpp:"
	PromptTokens    = "llamacpp:prompt_tokens_total"
	CachedTokens    = "llamacpp:prompt_tokens_cached_total" // newer builds; not among the former
	PredictedTokens = "llamacpp:tokens_predicted_total"
	Processing      = "llamacpp:requests_processing"
	Deferred        = "llamacpp:requests_deferred"
	KVUsage         = "llamacpp:kv_cache_usage_ratio"
	KVTokens        = "llamacpp:kv_cache_tokens"
	Drafts          = "llamacpp:spec_decode_num_drafts_total" // newer builds
	DraftTokens     = "llamacpp:spec_decode_num_draft_tokens_total"
	AcceptedTokens  = "llamacpp:spec_decode_num_accepted_tokens_total"
	AcceptedByPos   = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total" // from the first draft on
	LabelPosition   = "position"
)
