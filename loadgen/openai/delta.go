package openai

// delta is what one choice adds to the answer, or a whole message of an answer that is not streamed. The texts are raw,
// except those of parts, details and tools, which are decoded.
type delta struct {
	role                                 bool
	content, reasoning, reasoningContent []byte
	refusal, transcript                  []byte
	parts                                parts // of a content that is a list
	details                              parts // of reasoning_details, or of reasoning that is a list or an object
	unknown                              unknownText
	audio                                bool // sound without a transcript
	toolCalls                            int
	tools                                []byte
	function                             []byte // of function_call, the form before tool_calls
}

// addTo appends the delta's output to the chunk. Servers that write reasoning under several names repeat one text.
func (d *delta) addTo(k *chunk) {
	k.role = k.role || d.role
	switch {
	case len(d.reasoningContent) > 0:
		k.reasoning = appendText(k.reasoning, d.reasoningContent)
	case len(d.reasoning) > 0:
		k.reasoning = appendText(k.reasoning, d.reasoning)
	default:
		k.reasoning = append(k.reasoning, d.details.text...)
	}
	known := len(d.reasoningContent)+len(d.reasoning)+len(d.details.text)+len(d.parts.reasoning) > 0
	k.reasoning = append(k.reasoning, d.parts.reasoning...)
	k.text = append(appendText(k.text, d.content), d.parts.text...)
	k.text = appendText(appendText(k.text, d.refusal), d.transcript)
	k.tools = append(append(k.tools, d.tools...), d.function...)
	k.toolCalls += d.toolCalls
	if len(d.function) > 0 {
		k.toolCalls++
	}
	k.audio = k.audio || d.audio
	k.hidden = k.hidden || d.details.hidden || d.parts.hidden
	k.foreign = k.foreign || d.parts.foreign
	d.unknown.addTo(k, known)
}

// decodeDelta consumes a delta or a message into d. Of several, the last one counts. place is the prefix of the names of
// unknown members.
func (k *chunk) decodeDelta(c *cursor, d *delta, place string) {
	*d = delta{}
	if !k.enterOr(c, '{') {
		return
	}
	for name, ok := c.key(); ok; name, ok = c.key() {
		switch string(name) {
		case "role":
			d.role = len(rawString(c)) > 0
		case "content":
			d.content, d.parts = nil, parts{}
			switch c.peek() {
			case '[':
				d.parts.decode(c, &d.parts.text)
			case '{':
				d.parts.decodePart(c, &d.parts.text)
			default:
				d.content = k.output(c)
			}
		case "refusal":
			d.refusal = k.output(c)
		case "reasoning_content":
			d.reasoningContent = k.thought(c, d)
		case "reasoning":
			d.reasoning = k.thought(c, d)
		case "reasoning_details": // OpenRouter
			d.details.replace(c)
		case "audio":
			d.transcript, d.audio = decodeAudio(c)
		case "tool_calls":
			d.toolCalls, d.tools = k.decodeToolCalls(c)
		case "function_call":
			function, arguments := k.decodeFunction(c)
			d.function = appendText(appendText(nil, function), arguments)
		default:
			d.unknown.decode(c, place, name)
		}
	}
}

// thought consumes a reasoning and returns its text. Gateways also write it as a list of parts or as an object, whose
// text goes to the details.
func (k *chunk) thought(c *cursor, d *delta) []byte {
	if open := c.peek(); open != '[' && open != '{' {
		return k.output(c)
	}
	d.details.replace(c)
	return nil
}

// decodeToolCalls returns the number of fragments, and their names and arguments in order.
func (k *chunk) decodeToolCalls(c *cursor) (calls int, text []byte) {
	if !k.enterOr(c, '[') {
		return 0, nil
	}
	for c.element() {
		calls++
		if !k.enterOr(c, '{') {
			continue
		}
		var function, arguments []byte
		for name, ok := c.key(); ok; name, ok = c.key() {
			if string(name) == "function" {
				function, arguments = k.decodeFunction(c)
			} else {
				c.skip()
			}
		}
		text = appendText(appendText(text, function), arguments)
	}
	return calls, text
}

func (k *chunk) decodeFunction(c *cursor) (function, arguments []byte) {
	if !k.enterOr(c, '{') {
		return nil, nil
	}
	for name, ok := c.key(); ok; name, ok = c.key() {
		switch string(name) {
		case "name":
			function = k.output(c)
		case "arguments":
			arguments = k.output(c)
		default:
			c.skip()
		}
	}
	return function, arguments
}
