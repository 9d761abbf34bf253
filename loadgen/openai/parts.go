package openai

import "bytes"

// parts is the decoded content of a list of content parts.
type parts struct {
	text, reasoning []byte
	hidden          bool // encrypted reasoning
	foreign         bool // output without text, such as an image
}

// decode consumes a list of content parts and appends their text to one of the two texts of p. OpenAI
// has parts of the types text and refusal, Mistral one more, whose value is a list again:
//
//	[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},{"type":"text","text":"b"}]
func (p *parts) decode(c *cursor, to *[]byte) {
	for c.enter('['); c.element(); {
		switch c.peek() {
		case '"':
			*to = appendText(*to, c.str())
		case '{':
			p.decodePart(c, to)
		default:
			c.skip()
		}
	}
}

func (p *parts) decodePart(c *cursor, to *[]byte) {
	var text, refusal, kind []byte
	var thought, rest parts
	eachMember(c, func(name []byte) {
		switch string(name) {
		case "type":
			kind = appendText(nil, rawString(c))
		case "text":
			text = rawString(c)
		case "refusal":
			refusal = rawString(c)
		case "thinking":
			thought = parts{}
			switch c.peek() {
			case '[':
				thought.decode(c, &thought.reasoning)
			case '{':
				thought.decodePart(c, &thought.reasoning)
			default:
				thought.reasoning = appendText(nil, rawString(c))
			}
		default:
			rest.collectMember(c, name)
		}
	})
	if isReasoningName(kind) {
		to = &p.reasoning
	}
	*to = appendText(appendText(*to, text), refusal)
	p.reasoning = append(p.reasoning, thought.reasoning...)
	p.hidden = p.hidden || thought.hidden || rest.hidden
	switch {
	case len(kind) == 0, bytes.HasSuffix(kind, []byte("text")), string(kind) == "refusal", isReasoningName(kind):
		*to = append(*to, rest.text...)
	default:
		p.foreign = p.foreign || len(text)+len(refusal) == 0
	}
	p.foreign = p.foreign || thought.foreign
}

// replace consumes the value of a member into p: all of its text, in order. OpenRouter's reasoning_details is a list of
// objects with a text, a summary or, if the model's maker does not show the reasoning, encrypted data.
func (p *parts) replace(c *cursor) {
	*p = parts{}
	p.collect(c)
}

// collect consumes a value of any shape and appends all of its text.
func (p *parts) collect(c *cursor) {
	switch c.peek() {
	case '"':
		p.text = appendText(p.text, c.str())
	case '[':
		for c.enter('['); c.element(); {
			p.collect(c)
		}
	case '{':
		eachMember(c, func(name []byte) { p.collectMember(c, name) })
	default:
		c.skip()
	}
}

// collectMember consumes one member of such an object. Encrypted text is hidden output; what describes a part, such as
// its type or signature, is none.
func (p *parts) collectMember(c *cursor, name []byte) {
	switch string(name) {
	case "data", "encrypted_content":
		p.hidden = len(rawString(c)) > 0 || p.hidden
	default:
		if isDescription(name) {
			c.skip()
		} else {
			p.collect(c)
		}
	}
}

// decodeAudio consumes an audio object: sound in base64, and the transcript if the server writes one.
func decodeAudio(c *cursor) (transcript []byte, sound bool) {
	eachMember(c, func(name []byte) {
		switch string(name) {
		case "transcript":
			transcript = rawString(c)
		case "data":
			sound = len(rawString(c)) > 0
		default:
			c.skip()
		}
	})
	return transcript, sound
}
