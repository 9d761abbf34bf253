// Package openai sends one streaming request to an OpenAI-compatible endpoint and returns one Record: what arrived, and
// when.
//
// On the hot path it stamps and copies bytes and classifies events without decoding. Values come from a decode at the
// end of the stream. It imports no other package of this module.
package openai

// Status is how a request ended.
type Status string

// The statuses. Only requests with StatusOK enter a latency figure.
const (
	StatusOK        Status = "ok"
	StatusHTTP      Status = "http"      // answered with a status other than 2xx
	StatusInBand    Status = "in_band"   // error report, or the finish_reason of an answer that was given up or filtered, inside a 200 stream
	StatusTruncated Status = "truncated" // stream ended with neither finish_reason nor [DONE]
	StatusTimeout   Status = "timeout"
	StatusCancelled Status = "cancelled"
	StatusConnect   Status = "connect" // no connection, or lost before headers
)

// Statuses returns all statuses; counters by status start at 0 for each.
func Statuses() []Status {
	return []Status{StatusOK, StatusHTTP, StatusInBand, StatusTruncated, StatusTimeout, StatusCancelled, StatusConnect}
}

// Record is one line of requests.jsonl. Fields ending in _ns are offsets in nanoseconds from the run's start on one
// monotonic clock. A field is absent (nil) if its event did not happen.
type Record struct {
	Run string `json:"run" pack:"run"`
	// Rank is the rank of the process that sent the request, if several shared the load; absent if one process sent all
	// of it.
	Rank *int `json:"rank,omitempty"`
	// Server is the URL of the server, if several shared the load; absent if all requests went to one.
	Server       string `json:"server,omitempty" pack:"url"`
	Phase        string `json:"phase" pack:"name"`
	Index        int    `json:"index"`
	Conversation string `json:"conversation,omitempty" pack:"conversation"`
	Turn         int    `json:"turn,omitempty"`
	// Session is the number of the client that held the conversation.
	Session string `json:"session,omitempty" pack:"conversation"`

	PromptSHA256      string `json:"prompt_sha256" pack:"sum"`
	PrefixSHA256      string `json:"prefix_sha256,omitempty" pack:"sum"`
	ParamsSHA256      string `json:"params_sha256,omitempty" pack:"sum"`
	InputTokensTarget int    `json:"input_tokens_target,omitempty"`
	// RepeatedTokensTarget is how many of these tokens, at the prompt's beginning, other requests of the schedule share
	// by design: a prefix cache may answer them. It leaves out the history of a conversation.
	RepeatedTokensTarget int `json:"repeated_tokens_target,omitempty"`

	IntendedNS int64 `json:"intended_ns"`
	// EligibleNS and DispatchNS are absent if the request never became eligible.
	EligibleNS       *int64 `json:"eligible_ns,omitempty"`
	DispatchNS       *int64 `json:"dispatch_ns,omitempty"`
	WrittenNS        *int64 `json:"written_ns,omitempty"`
	ConnectionReused *bool  `json:"connection_reused,omitempty"`
	// StaleConnections counts kept connections that the server had already closed: the request got no byte there and
	// was sent again on another connection. Its latencies include the time lost.
	StaleConnections int `json:"stale_connections,omitempty"`
	// ConnectionNS is the time that network and server took to open the request's connection, between DispatchNS and
	// WrittenNS. The rest of the time between these two is the client's.
	ConnectionNS   int64  `json:"connection_ns,omitempty"`
	HeadersNS      *int64 `json:"headers_ns,omitempty"`
	FirstEventNS   *int64 `json:"first_event_ns,omitempty"`
	FirstEventType string `json:"first_event_type,omitempty" pack:"name"` // role, payload, usage, comment, error, done, empty
	FirstTokenNS   *int64 `json:"first_token_ns,omitempty"`               // first payload: text, reasoning, tool fragment or audio
	// FirstVisibleNS is the first payload that is not reasoning. It is absent if text under an unknown member came before
	// it, which may have been visible output.
	FirstVisibleNS *int64 `json:"first_visible_ns,omitempty"`

	// ArrivalsNS holds the arrival of every payload chunk: the first as an offset from the run's start, each later one
	// as the difference to its predecessor. Chunks of one read share one arrival: when its last byte came into the
	// client's socket, by the kernel's stamp of packets or, without stamps, when the read returned.
	ArrivalsNS []int64 `json:"arrivals_ns,omitempty"`
	// ArrivalTokens holds the tokens of each payload chunk, if the server reports them (token_ids, continuous usage or
	// logprobs); otherwise it is empty. Above 1 they were drafted and accepted, or the server sends several steps in
	// one chunk.
	ArrivalTokens []int `json:"arrival_tokens,omitempty"`
	// ArrivalTokensSource is how the server reports them: token_ids, logprobs or usage.
	ArrivalTokensSource string `json:"arrival_tokens_source,omitempty" pack:"name"`
	// SilentTokens of ArrivalTokens came by their ids in events without text before the chunk: half a character, a
	// special token. It is empty if there are none.
	SilentTokens []int `json:"silent_tokens,omitempty"`
	// ArrivalKinds has one letter per payload chunk: t text, r reasoning, c tool call, a audio without a transcript, u text
	// under an unknown member.
	ArrivalKinds string `json:"arrival_kinds,omitempty" pack:"letters"`
	// ReadIDs numbers the network read that completed each payload chunk.
	ReadIDs []int `json:"read_ids,omitempty"`
	// UnsureChunks are the payload chunks, by index, that may have arrived earlier than ArrivalsNS has them, by up to
	// UnsureNS: the client read late, and later bytes came in the same read. The kernel stamps the newest byte of a read
	// only; an older one came after the read before. UnsureWaitNS is how long the newest byte waited for the read. Absent
	// if all arrivals are exact, or the kernel stamps none.
	UnsureChunks []int   `json:"unsure_chunks,omitempty"`
	UnsureNS     []int64 `json:"unsure_ns,omitempty"`
	UnsureWaitNS []int64 `json:"unsure_wait_ns,omitempty"`
	EndNS        *int64  `json:"end_ns,omitempty"` // end of the response body, or [DONE] if the server went on after it
	// BrokenOffNS is when a request without an end of body ended: it timed out, was cancelled, or its connection was
	// refused or lost. Until then it was in flight.
	BrokenOffNS *int64 `json:"broken_off_ns,omitempty"`

	TokensIn     *int   `json:"tokens_in,omitempty"`
	TokensOut    *int   `json:"tokens_out,omitempty"`
	TokensCached *int   `json:"tokens_cached,omitempty"`
	TokensSource string `json:"tokens_source,omitempty" pack:"name"` // usage, token_ids, logprobs, chunks
	// UsageFault is why the server's counts cannot be right; the record then has no token count. Empty if they can.
	UsageFault string `json:"usage_fault,omitempty" pack:"text"`
	// UnknownMembers name the members of delta, message or choice that no known API has and whose text counts as output,
	// such as delta.thinking; at most 8.
	UnknownMembers []string `json:"unknown_members,omitempty" pack:"name"`
	// TokensCachedByTier is the source tier of cached tokens, of an engine that reports it on request.
	TokensCachedByTier *TierTokens `json:"tokens_cached_by_tier,omitempty"`
	// TokensReasoning of TokensOut are reasoning; TokensAccepted of them were drafted and accepted.
	TokensReasoning *int `json:"tokens_reasoning,omitempty"`
	TokensAccepted  *int `json:"tokens_accepted,omitempty"`
	// TokensDrafted were drafted by speculative decoding, in so many Drafts that the model verified.
	TokensDrafted *int `json:"tokens_drafted,omitempty"`
	Drafts        *int `json:"drafts,omitempty"`
	// TokensPerStep is the mean number of tokens that the engine decoded in one step, as the engine reports it.
	TokensPerStep float64 `json:"tokens_per_step,omitempty"`
	FinishReason  string  `json:"finish_reason,omitempty" pack:"name"`

	HTTPStatus      int    `json:"http_status,omitempty"`
	Status          Status `json:"status" pack:"name"`
	Error           string `json:"error,omitempty"`
	ServerRequestID string `json:"server_request_id,omitempty"`
	OutputChars     int    `json:"output_chars"`
	OutputSHA256    string `json:"output_sha256,omitempty" pack:"sum"` // reasoning, text and tool fragments in order
}

// TierTokens are tokens by the tier of the KV cache that held them; absent if not reported.
type TierTokens struct {
	Device  *int `json:"device,omitempty"`
	Host    *int `json:"host,omitempty"`
	Storage *int `json:"storage,omitempty"`
}
