// Package openai sends one streaming request to an OpenAI-compatible endpoint and returns one
// Record of what came back and when.
//
// On the hot path it stamps and copies bytes and classifies events without decoding; values
// come from a decode at the end of the stream. It imports nothing of ours.
package openai

// Status is how a request ended.
type Status string

// The statuses. Only requests that ended OK enter any latency figure.
const (
	StatusOK        Status = "ok"
	StatusHTTP      Status = "http"      // answered with a status other than 2xx
	StatusInBand    Status = "in_band"   // error report, or the finish_reason of an answer that was given up, inside a 200 stream
	StatusTruncated Status = "truncated" // stream ended with neither finish_reason nor [DONE]
	StatusTimeout   Status = "timeout"
	StatusCancelled Status = "cancelled"
	StatusConnect   Status = "connect" // no connection, or lost before headers
)

// Statuses lists them all; counters by status start at 0 for each.
func Statuses() []Status {
	return []Status{StatusOK, StatusHTTP, StatusInBand, StatusTruncated, StatusTimeout, StatusCancelled, StatusConnect}
}

// Record is one line of requests.jsonl. Fields ending in _ns are offsets in nanoseconds from the
// run's start on one monotonic clock; absent (nil) is what did not happen.
type Record struct {
	Run string `json:"run"`
	// Rank is that of the process that sent it, of those that shared a load; absent where one had it all.
	Rank         *int   `json:"rank,omitempty"`
	Phase        string `json:"phase"`
	Index        int    `json:"index"`
	Conversation string `json:"conversation,omitempty"`
	Turn         int    `json:"turn,omitempty"`
	// Session is the client that held the conversation, by its number.
	Session string `json:"session,omitempty"`

	PromptSHA256      string `json:"prompt_sha256"`
	PrefixSHA256      string `json:"prefix_sha256,omitempty"`
	ParamsSHA256      string `json:"params_sha256,omitempty"`
	InputTokensTarget int    `json:"input_tokens_target,omitempty"`
	// RepeatedTokensTarget of these, at the prompt's beginning, other requests of the schedule have too, by design: a
	// prefix cache may answer them. The history of a conversation is not in it.
	RepeatedTokensTarget int `json:"repeated_tokens_target,omitempty"`

	IntendedNS int64 `json:"intended_ns"`
	// EligibleNS and DispatchNS are absent of a request whose turn never came.
	EligibleNS       *int64 `json:"eligible_ns,omitempty"`
	DispatchNS       *int64 `json:"dispatch_ns,omitempty"`
	WrittenNS        *int64 `json:"written_ns,omitempty"`
	ConnectionReused *bool  `json:"connection_reused,omitempty"`
	// StaleConnections counts kept connections that turned out to be closed by the server: the request
	// got no byte there and was sent again on another. The time lost is in its latencies.
	StaleConnections int    `json:"stale_connections,omitempty"`
	HeadersNS        *int64 `json:"headers_ns,omitempty"`
	FirstEventNS     *int64 `json:"first_event_ns,omitempty"`
	FirstEventType   string `json:"first_event_type,omitempty"` // role, payload, usage, comment, error, done, empty
	FirstTokenNS     *int64 `json:"first_token_ns,omitempty"`   // first payload: text, reasoning, tool fragment or audio
	FirstVisibleNS   *int64 `json:"first_visible_ns,omitempty"` // first payload that is not reasoning

	// ArrivalsNS holds the arrival of every payload chunk: the first as an offset from the run's
	// start, each later one as the difference to its predecessor. Chunks of one read share one arrival.
	ArrivalsNS []int64 `json:"arrivals_ns,omitempty"`
	// ArrivalTokens holds the tokens of each payload chunk, where the server says (token_ids,
	// continuous usage or logprobs); empty where it does not. Above 1 they were drafted and accepted,
	// or the server sends several steps in one chunk.
	ArrivalTokens []int `json:"arrival_tokens,omitempty"`
	// ArrivalKinds has one letter per payload chunk: t text, r reasoning, c tool call, a audio without words.
	ArrivalKinds string `json:"arrival_kinds,omitempty"`
	// ReadIDs numbers the network read that completed each payload chunk.
	ReadIDs []int `json:"read_ids,omitempty"`
	// WaitedReadIDs are the reads whose last byte had been in the socket of the client for a millisecond
	// and more when it was read, and WaitedNS is for how long: the client stood still. By the kernel's
	// stamps of packets; absent where it gives none.
	WaitedReadIDs []int   `json:"waited_read_ids,omitempty"`
	WaitedNS      []int64 `json:"waited_ns,omitempty"`
	EndNS         *int64  `json:"end_ns,omitempty"` // end of the response body
	// BrokenOffNS is when a request ended that has no end of body: it ran out of time, was cancelled,
	// or its connection was refused or lost. Until then it was in flight.
	BrokenOffNS *int64 `json:"broken_off_ns,omitempty"`

	TokensIn     *int   `json:"tokens_in,omitempty"`
	TokensOut    *int   `json:"tokens_out,omitempty"`
	TokensCached *int   `json:"tokens_cached,omitempty"`
	TokensSource string `json:"tokens_source,omitempty"` // usage, token_ids, logprobs, chunks
	// TokensCachedByTier is where cached tokens came from; SGLang says so when it is asked.
	TokensCachedByTier *TierTokens `json:"tokens_cached_by_tier,omitempty"`
	// TokensReasoning of TokensOut are reasoning; TokensAccepted of them were drafted and accepted.
	TokensReasoning *int `json:"tokens_reasoning,omitempty"`
	TokensAccepted  *int `json:"tokens_accepted,omitempty"`
	// TokensPerStep is the mean number of tokens that the engine decoded in one step, by its own word.
	TokensPerStep float64 `json:"tokens_per_step,omitempty"`
	FinishReason  string  `json:"finish_reason,omitempty"`

	HTTPStatus      int    `json:"http_status,omitempty"`
	Status          Status `json:"status"`
	Error           string `json:"error,omitempty"`
	ServerRequestID string `json:"server_request_id,omitempty"`
	OutputChars     int    `json:"output_chars"`
	OutputSHA256    string `json:"output_sha256,omitempty"` // reasoning, text and tool fragments in order
}

// TierTokens are tokens by the tier of the KV cache that held them; absent is what was not told.
type TierTokens struct {
	Device  *int `json:"device,omitempty"`
	Host    *int `json:"host,omitempty"`
	Storage *int `json:"storage,omitempty"`
}
