package openai

import (
	"fmt"
	"slices"
	"strings"
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

// Caps returns the names of the cap on output tokens, in the order in which an engine is asked.
func Caps(engine string, endpoint Endpoint) []Field {
	v, err := vendorOf(engine)
	if err == nil && endpoint == Chat && v.chatCap == FieldMaxCompletionTokens {
		return []Field{FieldMaxCompletionTokens, FieldMaxTokens}
	}
	return []Field{FieldMaxTokens, FieldMaxCompletionTokens}
}

// vendor describes an engine's requests. TensorRT-LLM and Dynamo answer 4xx to a field that they do not declare, so
// every field beyond OpenAI's has to be listed.
type vendor struct {
	name    string
	chatCap Field // the name of the output cap on the chat endpoint
	// both are the fields of both endpoints, chat the additional fields of the chat endpoint, newer the fields that
	// only later releases accept.
	both, chat, newer []Field
}

// vendors returns the table. Its sources are the request classes of vLLM (entrypoints/openai/protocol.py), TensorRT-LLM
// (serve/openai_protocol.py, extra = forbid), SGLang (srt/entrypoints/openai/protocol.py) and Dynamo's frontend
// (lib/llm/src/protocols/openai: common_ext.rs and validate.rs).
func vendors() []vendor {
	forced := []Field{FieldIgnoreEOS, FieldMinTokens}
	usage := slices.Concat(forced, []Field{FieldContinuousUsage})
	more := slices.Concat(usage, []Field{FieldTokenIDs, FieldCacheSalt})
	return []vendor{
		{name: "vllm", chatCap: FieldMaxCompletionTokens, both: more},
		{name: "trtllm", chatCap: FieldMaxCompletionTokens, both: usage, chat: []Field{FieldCacheSalt}},
		{name: "sglang", chatCap: FieldMaxTokens, both: more, newer: []Field{FieldCachedDetails, FieldDraftDetails}},
		{name: "dynamo", chatCap: FieldMaxCompletionTokens, both: forced, newer: []Field{FieldContinuousUsage, FieldCacheSalt}},
		// Any other server. All of them accept the old name of the cap: Ollama 0.6.8 ignores the new one and generates
		// until the model stops.
		{name: EngineOpenAI, chatCap: FieldMaxTokens},
		{name: EngineLlamaCPP, chatCap: FieldMaxTokens},
	}
}

// EngineOpenAI is any server that speaks OpenAI's format and is not one of the other engines.
const EngineOpenAI = "openai"

// EngineLlamaCPP is llama.cpp's server. It takes the same request fields as EngineOpenAI.
const EngineLlamaCPP = "llamacpp"

// Engines returns the engines' names as the flag --engine takes them; EngineOpenAI is any other engine.
func Engines() []string {
	var names []string
	for _, v := range vendors() {
		names = append(names, v.name)
	}
	return names
}

// vendorOf looks up an engine by the name that the flag --engine takes; "" is EngineOpenAI.
func vendorOf(engine string) (vendor, error) {
	if engine == "" {
		engine = EngineOpenAI
	}
	all := vendors()
	i := slices.IndexFunc(all, func(v vendor) bool { return v.name == engine })
	if i < 0 {
		return vendor{}, fmt.Errorf("engine %q is none of %s", engine, strings.Join(Engines(), ", "))
	}
	return all[i], nil
}

func (v vendor) fields(endpoint Endpoint) []Field {
	if endpoint == Chat {
		return slices.Concat(v.both, v.chat)
	}
	return slices.Clone(v.both)
}

// Fields returns the fields that all releases of an engine accept on an endpoint, and those that only newer releases
// accept. Both are empty for an unknown engine.
func Fields(engine string, endpoint Endpoint) (known, newer []Field) {
	v, err := vendorOf(engine)
	if err != nil {
		return nil, nil
	}
	return v.fields(endpoint), v.newer
}
