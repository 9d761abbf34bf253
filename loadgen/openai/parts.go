package openai

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
	var thought parts
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
			if c.peek() == '[' {
				thought.decode(c, &thought.reasoning)
			} else {
				thought.reasoning = appendText(nil, rawString(c))
			}
		default:
			c.skip()
		}
	})
	*to = appendText(appendText(*to, text), refusal)
	p.reasoning = append(p.reasoning, thought.reasoning...)
	switch string(kind) {
	case "", "text", "refusal", "thinking":
	default:
		p.foreign = p.foreign || len(text)+len(refusal) == 0
	}
	p.foreign = p.foreign || thought.foreign
}

// decodeDetails consumes a list of reasoning_details. Its elements have a text, a summary or, if the model's maker does
// not show the reasoning, encrypted data. Signatures are not output.
func decodeDetails(c *cursor) (p parts) {
	if c.peek() != '[' {
		c.skip()
		return p
	}
	for c.enter('['); c.element(); {
		var text, summary, data []byte
		eachMember(c, func(name []byte) {
			switch string(name) {
			case "text":
				text = rawString(c)
			case "summary":
				summary = rawString(c)
			case "data":
				data = rawString(c)
			default:
				c.skip()
			}
		})
		p.text = appendText(appendText(p.text, text), summary)
		p.hidden = p.hidden || len(data) > 0
	}
	return p
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
