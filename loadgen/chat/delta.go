package chat

// delta is what one choice adds to the answer, or a whole message of an answer that is not
// streamed. The texts are raw, except tools.
type delta struct {
	role                                 bool
	content, reasoning, reasoningContent []byte
	toolCalls                            int
	tools                                []byte
}

// thought is the reasoning text. Servers that write both of its names mean one text.
func (d delta) thought() []byte {
	if len(d.reasoningContent) > 0 {
		return d.reasoningContent
	}
	return d.reasoning
}

func (k *chunk) decodeDelta(c *cursor) delta {
	var d delta
	if !k.enterOr(c, '{') {
		return d
	}
	for name, ok := c.key(); ok; name, ok = c.key() {
		switch string(name) {
		case "role":
			d.role = len(rawString(c)) > 0
		case "content":
			d.content = k.output(c)
		case "reasoning_content":
			d.reasoningContent = k.output(c)
		case "reasoning":
			d.reasoning = k.output(c)
		case "tool_calls":
			d.toolCalls, d.tools = k.decodeToolCalls(c)
		default:
			c.skip()
		}
	}
	return d
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
