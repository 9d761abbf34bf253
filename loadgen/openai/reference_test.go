package openai

import (
	"encoding/json"
	"strconv"
)

// facts is the content of a chunk in a form that can be compared.
type facts struct {
	reasoning, text, tools string
	choices, toolCalls     int
	role, usageSeen        bool
	audio, hidden, foreign bool
	failed                 bool
	tokenIDs               count
	usage                  usage
	finished               bool
}

func (k *chunk) facts() facts {
	return facts{
		string(k.reasoning), string(k.text), string(k.tools), k.choices, k.toolCalls,
		k.role, k.usageSeen, k.audio, k.hidden, k.foreign, k.failed(), k.tokenIDs, k.usage, k.finish != nil,
	}
}

// reference reads the facts from what encoding/json made of the same bytes. Not comparable is an
// object whose members exclude each other: a map has forgotten which came last.
func reference(object map[string]any) (f facts, odd, comparable bool) {
	comparable = true
	choices := list(object["choices"], &odd)
	f.choices = len(choices)
	for _, value := range choices {
		choice := member(value, &odd)
		_, hasDelta := choice["delta"]
		_, hasMessage := choice["message"]
		comparable = comparable && !(hasDelta && hasMessage)
		d := member(choice["delta"], &odd)
		if hasMessage {
			d = member(choice["message"], &odd)
		}
		f.addDelta(d, &odd)
		f.text += text(choice["text"], &odd)
		f.finished = f.finished || choice["finish_reason"] != nil && choice["finish_reason"] != ""
		if tokens, ok := choice["token_ids"].([]any); ok {
			f.tokenIDs = count{f.tokenIDs.n + len(tokens), true}
		} else if logged, ok := choice["logprobs"].(map[string]any); ok {
			content, inChat := logged["content"].([]any)
			tokens, inCompletion := logged["tokens"].([]any)
			comparable = comparable && !(inChat && inCompletion)
			if inChat || inCompletion {
				f.tokenIDs = count{f.tokenIDs.n + len(content) + len(tokens), true}
			}
		}
	}
	if u, ok := object["usage"].(map[string]any); ok {
		f.usageSeen = true
		details, _ := u["prompt_tokens_details"].(map[string]any)
		made, _ := u["completion_tokens_details"].(map[string]any)
		f.usage = usage{
			prompt: number(u["prompt_tokens"]), completion: number(u["completion_tokens"]),
			cached:    number(u["prompt_cache_hit_tokens"]).later(number(details["cached_tokens"])),
			reasoning: number(u["reasoning_tokens"]).later(number(made["reasoning_tokens"])),
			accepted:  number(made["accepted_prediction_tokens"]),
		}.reported()
	}
	f.failed = object["object"] == "error" || object["error"] != nil && object["error"] != "" ||
		f.choices == 0 && object["detail"] != nil && object["detail"] != ""
	return f, odd, comparable
}

func (f *facts) addDelta(d map[string]any, odd *bool) {
	role, _ := d["role"].(string)
	f.role = f.role || role != ""
	reasoning, other := text(d["reasoning_content"], odd), text(d["reasoning"], odd)
	if reasoning == "" {
		reasoning = other
	}
	if details := f.details(d["reasoning_details"]); reasoning == "" {
		reasoning = details
	}
	f.reasoning += reasoning
	if parts, ok := d["content"].([]any); ok {
		f.parts(parts, &f.text, &f.reasoning)
	} else {
		f.text += text(d["content"], odd)
	}
	audio, _ := d["audio"].(map[string]any)
	f.text += text(d["refusal"], odd) + plain(audio["transcript"])
	f.audio = f.audio || plain(audio["data"]) != ""
	for _, call := range list(d["tool_calls"], odd) {
		f.toolCalls++
		function := member(member(call, odd)["function"], odd)
		f.tools += text(function["name"], odd) + text(function["arguments"], odd)
	}
	call := member(d["function_call"], odd)
	if old := text(call["name"], odd) + text(call["arguments"], odd); old != "" {
		f.toolCalls, f.tools = f.toolCalls+1, f.tools+old
	}
}

// parts reads a list of content parts.
func (f *facts) parts(list []any, text, thought *string) {
	for _, value := range list {
		part, _ := value.(map[string]any)
		own := plain(part["text"]) + plain(part["refusal"])
		*text += plain(value) + own
		*thought += plain(part["thinking"])
		inner, _ := part["thinking"].([]any)
		f.parts(inner, thought, thought)
		switch plain(part["type"]) {
		case "", "text", "refusal", "thinking":
		default:
			f.foreign = f.foreign || own == ""
		}
	}
}

// details reads a list of reasoning_details.
func (f *facts) details(value any) string {
	var thought string
	list, _ := value.([]any)
	for _, element := range list {
		detail, _ := element.(map[string]any)
		thought += plain(detail["text"]) + plain(detail["summary"])
		f.hidden = f.hidden || plain(detail["data"]) != ""
	}
	return thought
}

// plain is a text, or nothing of another type.
func plain(value any) string {
	out, _ := value.(string)
	return out
}

func list(value any, odd *bool) []any {
	out, ok := value.([]any)
	*odd = *odd || value != nil && !ok
	return out
}

func member(value any, odd *bool) map[string]any {
	out, ok := value.(map[string]any)
	*odd = *odd || value != nil && !ok
	return out
}

func text(value any, odd *bool) string {
	out, ok := value.(string)
	*odd = *odd || value != nil && !ok
	return out
}

func number(value any) count {
	written, _ := value.(json.Number)
	n, err := strconv.ParseUint(written.String(), 10, 31)
	if err != nil {
		return count{}
	}
	return count{int(n), true}
}
