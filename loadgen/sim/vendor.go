package sim

import "slices"

// Vendor is the server that the engine simulates: its names of series, its request fields and the format of its errors.
// Answers of other servers are recorded, in openai/testdata and server/testdata. Wherever a client can read it, it is
// followed by simulated.
type Vendor string

// The vendors.
const (
	VLLM        Vendor = "vllm"
	TensorRTLLM Vendor = "trtllm"
	Dynamo      Vendor = "dynamo" // its frontend
	OpenAI      Vendor = "openai" // any other, such as Ollama: OpenAI's fields, and no page of metrics
)

// Vendors returns all vendors.
func Vendors() []Vendor { return []Vendor{VLLM, TensorRTLLM, Dynamo, OpenAI} }

// vendor has the differences between vendors.
type vendor struct {
	name    Vendor
	ownedBy string
	// anyModel: the name of the model in a request is ignored.
	anyModel bool
	// fields are the accepted fields of a request; nil means that others are ignored.
	chatFields, completionFields, streamFields []string
	// usageByDefault: stream_options without include_usage requests the usage.
	usageByDefault bool
	// flatErrors: {"object":"error","message":…} instead of {"error":{"message":…}}.
	flatErrors bool
	// listsContext: the list of models has max_model_len.
	listsContext bool
	// continuous: continuous_usage_stats is supported.
	continuous bool
	// plainSalts: cache_salt must follow vLLM's rules.
	plainSalts bool
}

// vendors returns the table. Its sources: TensorRT-LLM from tensorrt_llm/serve/openai_protocol.py at 0076e939, vLLM
// from vllm/entrypoints/openai/protocol.py.
func vendors() []vendor {
	return []vendor{
		{name: VLLM, ownedBy: "vllm", listsContext: true, continuous: true, plainSalts: true},
		{name: TensorRTLLM, ownedBy: "tensorrt_llm", anyModel: true, usageByDefault: true, flatErrors: true,
			continuous: true, chatFields: tensorRTLLMChat(), completionFields: tensorRTLLMCompletions(),
			streamFields: []string{"include_usage", "continuous_usage_stats"}},
		{name: Dynamo, ownedBy: "nvidia"},
		{name: OpenAI, ownedBy: "library"},
	}
}

// find returns the vendor of that name; false if there is none.
func (v Vendor) find() (vendor, bool) {
	all := vendors()
	i := slices.IndexFunc(all, func(one vendor) bool { return one.name == v })
	if i < 0 {
		return vendor{}, false
	}
	return all[i], true
}

// fields returns the accepted fields of requests to an endpoint; nil is any.
func (v vendor) fields(to endpoint) []string {
	if to == chatCompletions {
		return v.chatFields
	}
	return v.completionFields
}

// tensorRTLLMBoth are the fields of both endpoints. Its models are declared with extra = forbid.
func tensorRTLLMBoth() []string {
	return []string{
		"model", "frequency_penalty", "logit_bias", "logprobs", "max_tokens", "n", "best_of", "echo", "presence_penalty",
		"seed", "stop", "stream", "stream_options", "temperature", "top_p", "user", "lora_request", "prompt_ignore_length",
		"use_beam_search", "top_k", "top_p_min", "min_p", "repetition_penalty", "length_penalty", "early_stopping",
		"stop_token_ids", "include_stop_str_in_output", "ignore_eos", "min_tokens", "skip_special_tokens",
		"spaces_between_special_tokens", "truncate_prompt_tokens", "thinking_token_budget", "add_special_tokens",
		"response_format", "disaggregated_params", "priority", "conversation_params",
	}
}

func tensorRTLLMCompletions() []string {
	return append(tensorRTLLMBoth(), "prompt", "suffix", "return_context_logits", "detokenize")
}

func tensorRTLLMChat() []string {
	return append(tensorRTLLMBoth(), "messages", "prompt_token_ids", "prompt_token_ids_b64", "max_completion_tokens", "top_logprobs",
		"tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "thinking", "add_generation_prompt", "documents",
		"chat_template", "chat_template_kwargs", "injected_chat_template_kwargs", "media_io_kwargs", "cache_salt",
		"agent_hierarchy", "mm_processor_kwargs")
}
