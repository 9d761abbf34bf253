package spec

// MaxModels is the maximum number of models of one source.
const MaxModels = 64

// Model is one model of an engine. Counts are since the engine started, over all its replicas and ranks.
type Model struct {
	Name string // as the engine writes it, with capitals if one of its series has them
	Pool
	// StatePools are pools of a hybrid model that hold something else than the KV cache of full attention.
	StatePools []StatePool
	// MemoryShare is the share of the memory that the engine was told to take, in its own terms.
	MemoryShare *float64
	// TierBytes are the bytes of KV cache in tiers other than the GPU, TierCapacityBytes the sizes of such tiers.
	TierBytes, TierCapacityBytes []TierValue
	// TierUsedTokens and TierCapacityTokens are the tokens in such tiers, and their capacity.
	TierUsedTokens, TierCapacityTokens []TierValue
	// TierDirectIO is 1 for a tier in files that bypasses the page cache, 0 for one that goes through it.
	TierDirectIO []TierValue
	// Moved are the KV cache that the engine itself copied between tiers.
	Moved []Move
	// EvictedTokens are the tokens whose KV cache left the GPU to make room.
	EvictedTokens *float64
	// Memory are bytes by kind: values of metric.LabelKind.
	Memory map[string]float64
	// PrefixTokens and PrefixBlocks are lookups in the prefix cache, nil if it does not count in them.
	PrefixTokens, PrefixBlocks *Lookups
	// Requested are counts that give lookups only together with earlier counts; nil if there are none.
	Requested *RequestedTokens
	// Preemptions are requests preempted from the batch.
	Preemptions *float64
	Speculation
	// Requests are by state: values of metric.LabelState.
	Requests map[string]float64
	// PromptTokens and GenerationTokens are the tokens of prompts and of answers.
	PromptTokens, GenerationTokens *float64
}

// Lookups are tokens or blocks looked up in the prefix cache: hits by tier, and misses, which had to be computed.
// Engines count hits and total separately: on a page made in between, misses can be a little off, even negative.
type Lookups struct {
	Total, Missed float64
	Hits          []TierValue
}

// RequestedTokens are the tokens of prompts, counted when a request begins, and the cached ones among them, counted
// when it ends. The difference of the two is no count of misses while a request is in flight,
// nor of requests that ended without a count of cached tokens.
type RequestedTokens struct {
	Begun, Reported float64 // requests
	Prompt, Cached  float64 // tokens of these
	Idle            bool    // no request is in flight
}

// Move is KV cache copied from one tier to another, both values of metric.LabelTier; nil where the engine does not count it.
type Move struct {
	From, To      string
	Bytes, Tokens *float64
}

// TierValue is a value of a tier, one of the values of metric.LabelTier.
type TierValue struct {
	Tier  string
	Value float64
}

// Pool is a KV cache; nil is absent.
type Pool struct {
	CapacityTokens, CapacityBlocks, CapacityBytes *float64
	// UsedTokens and UsedRatio are the part that requests hold, the ratio from 0 to 1.
	UsedTokens, UsedRatio *float64
}

// StatePool is a pool that a hybrid model has beside its KV cache, such as the states of Mamba layers. It can be full
// while the KV cache is empty, and requests wait for either.
type StatePool struct {
	// Kind is one of metric.PoolMamba and metric.PoolSlidingWindow.
	Kind string
	// UsedRatio is from 0 to 1, of the fullest replica.
	UsedRatio float64
}

// Speculation are the counts of speculative decoding; nil is absent.
type Speculation struct {
	// Drafts are the drafts that the model verified, DraftTokens the tokens in them.
	Drafts, DraftTokens *float64
	// Accepted are the accepted tokens by their position in the draft, from 0 on; of an engine that does not count by
	// position, one value without a position.
	Accepted []PositionValue
	// AcceptedLength is the mean number of tokens of a step with a draft, where the counts do not give it.
	AcceptedLength *float64
}

// PositionValue is a value of a position in a draft.
type PositionValue struct {
	Position string // "" is all positions together
	Value    float64
}
