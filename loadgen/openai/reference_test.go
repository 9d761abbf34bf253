package openai

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// facts is the content of a chunk in a form that can be compared.
type facts struct {
	reasoning, text, tools string
	other                  string
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
		string(k.reasoning), string(k.text), string(k.tools), string(k.other), k.choices, k.toolCalls,
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
		comparable = comparable && onlyKnown(choice) && onlyKnown(d) && ordered(d["content"]) &&
			ordered(d["reasoning_details"]) && !structured(d["reasoning"]) && !structured(d["reasoning_content"])
		f.text += text(choice["text"], &odd)
		f.finished = f.finished || !none(choice["finish_reason"])
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
	f.failed = object["object"] == "error" || !noError(object["error"]) ||
		f.choices == 0 && !noError(object["detail"])
	return f, odd, comparable
}

func (f *facts) addDelta(d map[string]any, odd *bool) {
	role, _ := d["role"].(string)
	f.role = f.role || role != ""
	reasoning, other := "", "" // a list or an object is no text of its own
	for to, value := range map[*string]any{&reasoning: d["reasoning_content"], &other: d["reasoning"]} {
		if !structured(value) {
			*to = text(value, odd)
		}
	}
	if reasoning == "" {
		reasoning = other
	}
	if details := f.details(d["reasoning_details"]); reasoning == "" {
		reasoning = details
	}
	f.reasoning += reasoning
	if parts, ok := d["content"].([]any); ok {
		f.parts(parts, &f.text, &f.reasoning)
	} else if part, ok := d["content"].(map[string]any); ok {
		f.parts([]any{part}, &f.text, &f.reasoning)
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
		kind := plain(part["type"])
		known := kind == "" || strings.HasSuffix(kind, "text") || kind == "refusal" || isReasoningName([]byte(kind))
		f.foreign = f.foreign || !known && own == ""
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
	*odd = *odd || !ok && !none(value)
	return out
}

func member(value any, odd *bool) map[string]any {
	out, ok := value.(map[string]any)
	*odd = *odd || !ok && !none(value)
	return out
}

func text(value any, odd *bool) string {
	out, ok := value.(string)
	*odd = *odd || !ok && !none(value)
	return out
}

func number(value any) count {
	written, _ := value.(json.Number)
	n, err := written.Float64()
	if err != nil || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return count{}
	}
	return count{int(n), true}
}

// none is isNoValue.
func none(value any) bool {
	switch value := value.(type) {
	case string:
		return slices.Contains([]string{"", "null", "none", "undefined"}, strings.ToLower(strings.TrimSpace(value)))
	case []any:
		return !slices.ContainsFunc(value, func(element any) bool { return element != nil })
	case map[string]any:
		for _, inner := range value {
			if inner != nil {
				return false
			}
		}
		return true
	}
	return value == nil || value == false
}

// noError is none, and the code of success.
func noError(value any) bool { return none(value) || value == json.Number("0") }

// onlyKnown reports whether all members of an object are known, or have no text.
func onlyKnown(object map[string]any) bool {
	for name, value := range object {
		known := isDescription([]byte(name)) || carriesOutput([]byte(name)) || slices.Contains([]string{"delta", "message", "audio", "reasoning_details"}, name)
		if _, isText := value.(string); !known && (isText || structured(value)) {
			return false
		}
	}
	return true
}

func structured(value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

// ordered reports whether parts or details have only known members, and one text each: a map has forgotten the order.
func ordered(value any) bool {
	parts, isList := value.([]any)
	if !isList {
		return !structured(value)
	}
	for _, element := range parts {
		part, isObject := element.(map[string]any)
		texts := 0
		for name, value := range part {
			switch {
			case slices.Contains([]string{"text", "refusal", "thinking", "summary", "data"}, name):
				if texts++; structured(value) && !(name == "thinking" && ordered(value)) {
					return false
				}
			case !isDescription([]byte(name)):
				return false
			}
		}
		if !isObject || texts > 1 || isReasoningName([]byte(plain(part["type"]))) && part["thinking"] == nil && part["summary"] == nil && part["data"] == nil {
			return false
		}
	}
	return true
}
