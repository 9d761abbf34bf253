package openai

import (
	"slices"
)

// Field is a request field that only some servers accept, by its name in JSON. A field inside an object has a dot.
type Field string

// The fields.
const (
	// FieldIgnoreEOS and FieldMinTokens force the length of an answer.
	FieldIgnoreEOS Field = "ignore_eos"
	FieldMinTokens Field = "min_tokens"
	// FieldContinuousUsage asks for the usage so far in every chunk, which gives the tokens of each.
	FieldContinuousUsage Field = "stream_options.continuous_usage_stats"
	// FieldCachedDetails asks for the tiers that the cached tokens came from.
	FieldCachedDetails Field = "return_cached_tokens_details"
	// FieldDraftDetails asks for the counts of speculative decoding.
	FieldDraftDetails Field = "return_spec_tokens_details"
	// FieldTokenIDs asks for the ids of the tokens of each chunk.
	FieldTokenIDs Field = "return_token_ids"
	// FieldCacheSalt separates the prefix caches of clients that send the same text.
	FieldCacheSalt Field = "cache_salt"

	// The fields below are OpenAI's own. Some servers refuse one of them, or know it by its other name.

	// FieldMaxTokens and FieldMaxCompletionTokens are the two names of the cap on output tokens.
	FieldMaxTokens           Field = "max_tokens"
	FieldMaxCompletionTokens Field = "max_completion_tokens"
	// FieldTemperature and FieldTopP decide how tokens are drawn.
	FieldTemperature Field = "temperature"
	FieldTopP        Field = "top_p"
	// FieldStreamOptions asks for the usage of a stream.
	FieldStreamOptions Field = "stream_options"
	// FieldStream can be left out of a request for a whole answer only.
	FieldStream Field = "stream"
)

// Vendor is what the requests of a kind of server differ in. Some servers answer 4xx to a field that they do not declare, so
// every field beyond OpenAI's has to be listed. The zero value is any server: all of them accept the old name of the cap.
type Vendor struct {
	// ChatCap is the name of the output cap on the chat endpoint, FieldMaxTokens if "".
	ChatCap Field
	// Both are the fields of both endpoints, Chat the additional fields of the chat endpoint, Newer the fields that only
	// later releases accept.
	Both, Chat, Newer []Field
}

// EngineOpenAI is any server that speaks OpenAI's format and is not a known engine.
const EngineOpenAI = "openai"

// Caps returns the names of the cap on output tokens, in the order in which a server is asked.
func (v Vendor) Caps(endpoint Endpoint) []Field {
	if endpoint == Chat && v.ChatCap == FieldMaxCompletionTokens {
		return []Field{FieldMaxCompletionTokens, FieldMaxTokens}
	}
	return []Field{FieldMaxTokens, FieldMaxCompletionTokens}
}

// Fields returns the fields that all releases accept on an endpoint.
func (v Vendor) Fields(endpoint Endpoint) []Field {
	if endpoint == Chat {
		return slices.Concat(v.Both, v.Chat)
	}
	return slices.Clone(v.Both)
}
