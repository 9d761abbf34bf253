package openai

import "bytes"

const (
	// maxUnknown is the most names of unknown members that a record keeps, maxUnknownName the most bytes of one.
	maxUnknown     = 8
	maxUnknownName = 64
)

// unknownText is text under members that no known API has. Engines and gateways invent new names for reasoning and
// output; text that is left out would time the wrong token.
type unknownText struct {
	thoughts, others []byte // decoded; thoughts have the name of a reasoning
	hidden, foreign  bool
	names            []string
}

// decode consumes the value of an unknown member; place is the prefix of its name in reports. In a choice, where servers
// put much that describes the answer, only plain text counts.
func (u *unknownText) decode(c *cursor, place string, name []byte) {
	open := c.peek()
	if isDescription(name) || place == "choice." && open != '"' || open != '"' && open != '[' && open != '{' {
		c.skip()
		return
	}
	var value parts
	value.collect(c)
	if isForeignName(name) {
		u.foreign = u.foreign || len(value.text) > 0 || value.hidden
		return
	}
	u.hidden = u.hidden || value.hidden
	if len(value.text) == 0 {
		return
	}
	u.names = append(u.names, Printable(place+string(name), maxUnknownName))
	if isReasoningName(name) {
		u.thoughts = append(u.thoughts, value.text...)
	} else {
		u.others = append(u.others, value.text...)
	}
}

// addTo appends the text to the chunk. Where known members have the reasoning, thoughts under another name repeat it, and
// so does other text that is equal to known text.
func (u *unknownText) addTo(k *chunk, reasoned bool) {
	k.hidden, k.foreign = k.hidden || u.hidden, k.foreign || u.foreign
	if len(u.names) == 0 {
		return
	}
	if reasoned {
		u.thoughts = nil
	}
	if bytes.Equal(u.others, k.text) || bytes.Equal(u.others, k.reasoning) {
		u.others = nil
	}
	if len(u.thoughts)+len(u.others) == 0 {
		return
	}
	k.reasoning, k.other = append(k.reasoning, u.thoughts...), append(k.other, u.others...)
	k.unknown = append(k.unknown, u.names...)
}

// isReasoningName reports whether a name, of a member or of the type of a part, is one of a reasoning.
func isReasoningName(name []byte) bool {
	for _, part := range []string{"reasoning", "think", "thought", "rationale"} {
		if bytes.Contains(name, []byte(part)) {
			return true
		}
	}
	return false
}

// isForeignName lists the members whose value is output without text.
func isForeignName(name []byte) bool {
	switch string(name) {
	case "images", "image", "video", "videos", "files":
		return true
	}
	return false
}

// isDescription lists the members of a choice, of its delta or message, and of parts of these that describe the output
// and are none, as engines, OpenAI, Azure, LiteLLM, OpenRouter and Perplexity write them. Signatures
// are of any name.
func isDescription(name []byte) bool {
	switch string(name) {
	case "role", "name", "id", "index", "type", "object", "status", "state", "created", "model", "format", "language", "version",
		"finish_reason", "native_finish_reason", "finish_details", "stop_reason", "stop", "matched_stop", "stop_sequence", "error", "seed",
		"logprobs", "prompt_logprobs", "token_ids", "prompt_token_ids", "routed_experts", "hidden_states", "disaggregated_params", "kv_transfer_params",
		"content_filter_results", "content_filter_result", "content_filter_offsets", "annotations", "citations", "context", "metadata",
		"provider_specific_fields", "provider", "obfuscation", "phase", "channel", "recipient", "author", "end_turn", "tool_call_id", "call_id",
		"usage", "service_tier", "system_fingerprint", "url", "title", "mime_type", "file_id", "reasoning_opaque":
		return true
	}
	return bytes.HasSuffix(name, []byte("signature"))
}

// hasUnknownText is the part of classify for members that it does not know: it reports whether a choice of the object has
// text under one, in its delta or message or in itself. It runs for events without known output only.
func hasUnknownText(object []byte) bool {
	c := cursor{data: object}
	c.enter('{')
	for name, ok := c.key(); ok; name, ok = c.key() {
		if string(name) != "choices" || c.peek() != '[' {
			c.skip()
			continue
		}
		for c.enter('['); c.element(); {
			if c.peek() != '{' {
				c.skip()
			} else if unknownIn(&c, true) {
				return true
			}
		}
	}
	return false
}

// unknownIn consumes an object of a choice, or of a delta or message, up to its first text under an unknown member.
func unknownIn(c *cursor, choice bool) bool {
	c.enter('{')
	for name, ok := c.key(); ok; name, ok = c.key() {
		open := c.peek()
		switch inner := string(name) == "delta" || string(name) == "message"; {
		case choice && inner && open == '{':
			if unknownIn(c, false) {
				return true
			}
		case isDescription(name), carriesOutput(name), choice && open != '"':
			c.skip()
		default:
			if hasText(c) {
				return true
			}
		}
	}
	return false
}

// hasText consumes a value of any shape up to its first text, as parts.collect finds it.
func hasText(c *cursor) bool {
	switch c.peek() {
	case '"':
		return len(c.str()) > 0
	case '[':
		for c.enter('['); c.element(); {
			if hasText(c) {
				return true
			}
		}
	case '{':
		c.enter('{')
		for name, ok := c.key(); ok; name, ok = c.key() {
			if isDescription(name) {
				c.skip()
			} else if hasText(c) {
				return true
			}
		}
	default:
		c.skip()
	}
	return false
}
