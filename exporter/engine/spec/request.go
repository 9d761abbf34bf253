package spec

// Request describes what the requests of an engine with an OpenAI-compatible API have beyond OpenAI's own fields, by their
// names in JSON; a field inside an object has a dot.
type Request struct {
	// ChatCap is the name of the cap on output tokens on the chat endpoint, "" for max_tokens.
	ChatCap string
	// Both are the fields of both endpoints, Chat the additional fields of the chat endpoint, Newer the fields that only
	// later releases accept. An engine may refuse a field that is not listed.
	Both, Chat, Newer []string
	// Source is the text of the engine that declares the fields.
	Source string
	// Plain is set for an engine that takes OpenAI's fields and no others, so that it may be taken for any server.
	Plain bool
}

// Names of request fields that several engines take.
const (
	MaxCompletionTokens = "max_completion_tokens"
	IgnoreEOS           = "ignore_eos"
	MinTokens           = "min_tokens"
	ContinuousUsage     = "stream_options.continuous_usage_stats"
	ReturnTokenIDs      = "return_token_ids"
	CacheSalt           = "cache_salt"
)

// Reset describes the request that empties an engine's prefix cache, a POST without a body.
type Reset struct {
	Path string
	// Needs is what the engine must be started with for it, "" for nothing; Without is why a server of the engine may not
	// have it.
	Needs, Without string
}

// Tokenizer describes the request that counts the tokens of a text, a POST.
type Tokenizer struct {
	Path string
	// Text is the member with the text, Fixed are members with fixed values.
	Text  string
	Fixed map[string]any
}

// Context describes the answer that has the longest prompt with its answer, in tokens.
type Context struct {
	Path string
	// Read returns the tokens for a model, 0 if the answer does not have them.
	Read func(body []byte, model string) float64
}

// Settings describes where an engine reports its settings over HTTP.
type Settings struct {
	// Info is a series of its page of metrics with the settings in its labels, "" if there is none.
	Info string
	// Paths are those of a JSON object with the settings, the newest name first, and Members those that are kept of it: the
	// object may also have secrets.
	Paths, Members []string
}

// Wording are texts of an engine's answers, as it writes them.
type Wording struct {
	// TooLong are errors for a prompt above the engine's limit.
	TooLong []string
	// NoModel are errors for a model that is not served.
	NoModel []string
	// GivenUp are values of finish_reason of answers that were ended before they were finished.
	GivenUp []string
}
