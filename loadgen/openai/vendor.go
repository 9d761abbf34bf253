package openai

import (
	"fmt"
	"slices"
	"strings"
)

// Field is a request field beyond those that every server knows, by its name in JSON. One inside an
// object has a dot.
type Field string

// The fields.
const (
	// FieldIgnoreEOS and FieldMinTokens force the length of an answer.
	FieldIgnoreEOS Field = "ignore_eos"
	FieldMinTokens Field = "min_tokens"
	// FieldContinuousUsage asks for the usage so far in every chunk, which tells the tokens of each.
	FieldContinuousUsage Field = "stream_options.continuous_usage_stats"
	// FieldCachedDetails asks which tiers the cached tokens came from.
	FieldCachedDetails Field = "return_cached_tokens_details"
	// FieldTokenIDs asks for the ids of the tokens of each chunk.
	FieldTokenIDs Field = "return_token_ids"
	// FieldCacheSalt keeps the prefix cache of those who send the same text apart.
	FieldCacheSalt Field = "cache_salt"
)

// vendor is what is known of an engine's requests. TensorRT-LLM and Dynamo answer 4xx to a field that
// they do not declare, so every field beyond OpenAI's has to be known.
type vendor struct {
	name    string
	chatCap string // the name of the output cap on the chat endpoint
	// both are the fields of both endpoints, chat those of one more on the chat endpoint, newer those
	// that only later releases have.
	both, chat, newer []Field
}

// vendors is the table. It follows the request classes of vLLM (entrypoints/openai/protocol.py), of
// TensorRT-LLM (serve/openai_protocol.py, extra = forbid), of SGLang (srt/entrypoints/openai/protocol.py)
// and of Dynamo's frontend (lib/llm/src/protocols/openai: common_ext.rs and validate.rs).
func vendors() []vendor {
	forced := []Field{FieldIgnoreEOS, FieldMinTokens}
	usage := slices.Concat(forced, []Field{FieldContinuousUsage})
	more := slices.Concat(usage, []Field{FieldTokenIDs, FieldCacheSalt})
	return []vendor{
		{name: "vllm", chatCap: "max_completion_tokens", both: more},
		{name: "trtllm", chatCap: "max_completion_tokens", both: usage, chat: []Field{FieldCacheSalt}},
		{name: "sglang", chatCap: "max_tokens", both: more, newer: []Field{FieldCachedDetails}},
		{name: "dynamo", chatCap: "max_completion_tokens", both: forced, newer: []Field{FieldContinuousUsage, FieldCacheSalt}},
		// Any other server. The old name of the cap is the one that all of them know: Ollama 0.6.8
		// ignores the new one and goes on for as long as the model does.
		{name: EngineOpenAI, chatCap: "max_tokens"},
		{name: EngineLlamaCPP, chatCap: "max_tokens"},
	}
}

// EngineOpenAI stands for any server of which no more is known than that it speaks OpenAI's format.
const EngineOpenAI = "openai"

// EngineLlamaCPP is llama.cpp's server. It takes the same request fields as any other that speaks OpenAI's format.
const EngineLlamaCPP = "llamacpp"

// Engines lists the engines by the names that the flag --engine takes; EngineOpenAI is any other.
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

// Fields returns what all releases of an engine are known to accept on an endpoint, and what only newer
// ones do. Both are empty of an engine that is not known.
func Fields(engine string, endpoint Endpoint) (known, newer []Field) {
	v, err := vendorOf(engine)
	if err != nil {
		return nil, nil
	}
	return v.fields(endpoint), v.newer
}
