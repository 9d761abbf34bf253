package openai

// chunk is one JSON object of an answer: an event of a stream or a whole body. The byte slices
// point into the event or into buffers that the next decode reuses.
type chunk struct {
	extras                 *extras // of the known engines
	id, model, fingerprint []byte  // raw strings
	choices                int
	role                   bool
	reasoning, text, tools []byte   // decoded fragments, all choices in order
	other                  []byte   // decoded text under members that no known API has, and that are not named like reasoning
	unknown                []string // names of the unknown members that had text
	toolCalls              int
	audio                  bool   // sound without a transcript
	hidden                 bool   // encrypted reasoning
	foreign                bool   // output of another kind, such as an image
	finish                 []byte // raw; nil if it is no value
	tokenIDs               count
	logged                 bool // tokenIDs are counted by their log probabilities
	usage                  usage
	extra                  usage   // counts that vendors report outside the usage object
	perIteration           float64 // tokens decoded in one step of the engine, 0 if not reported
	usageSeen              bool
	failure                []byte // raw error value; nil if it is no value
	kindOfError            []byte // raw top-level type, of a flat error object
	message                []byte // raw top-level message, where vLLM once put error texts
	detail                 []byte // raw top-level detail, where FastAPI puts errors; nil if it is no value
	objectIsError          bool
	odd                    bool // valid JSON, but not in the shape of an answer
}

// payload reports whether the chunk carries output: text, reasoning, a tool-call fragment, or output without text.
func (k *chunk) payload() bool {
	return len(k.text) > 0 || len(k.reasoning) > 0 || k.toolCalls > 0 || k.audio || k.hidden || k.foreign || len(k.other) > 0
}

// failed reports whether the chunk is an error report.
func (k *chunk) failed() bool {
	return k.failure != nil || k.objectIsError || k.detail != nil && k.choices == 0
}

// decode reads one JSON object into k and reports whether it is valid JSON and one object.
//
// The shape is the one of POST /v1/chat/completions and /v1/completions, streaming or not, for example
//
//	{"id":"c-1","model":"m","choices":[{"index":0,"delta":{"content":" a"},"finish_reason":null}],"usage":null}
func (k *chunk) decode(data []byte) bool {
	*k = chunk{extras: k.extras, reasoning: k.reasoning[:0], text: k.text[:0], tools: k.tools[:0], other: k.other[:0], unknown: k.unknown[:0]}
	c := cursor{data: data}
	c.enter('{')
	for name, ok := c.key(); ok; name, ok = c.key() {
		k.member(&c, name)
	}
	return c.finished()
}

func (k *chunk) member(c *cursor, name []byte) {
	switch string(name) {
	case "id":
		k.id = rawString(c)
	case "model":
		k.model = rawString(c)
	case "system_fingerprint":
		k.fingerprint = rawString(c)
	case "object":
		k.objectIsError = string(rawString(c)) == "error"
	case "message":
		k.message = rawString(c)
	case "type":
		k.kindOfError = rawString(c)
	case "choices":
		k.decodeChoices(c)
	case "usage":
		k.decodeUsage(c)
	case "error":
		k.failure = presentError(c)
	case "detail":
		k.detail = presentError(c)
	default:
		k.decodeExtra(c, k.extras.inAnswer(name))
	}
}

// rawString consumes a value and returns it if it is a string. An identifier of another type does not fail the request.
func rawString(c *cursor) []byte {
	if c.peek() == '"' {
		return c.str()
	}
	c.skip()
	return nil
}

// enterOr enters an object or array. What is no value counts as absent, anything else as odd.
func (k *chunk) enterOr(c *cursor, open byte) bool {
	if c.peek() == open {
		c.enter(open)
		return true
	}
	k.odd = presentValue(c) != nil || k.odd
	return false
}

func (k *chunk) decodeChoices(c *cursor) {
	k.choices, k.role, k.toolCalls, k.finish, k.tokenIDs, k.logged = 0, false, 0, nil, count{}, false
	k.audio, k.hidden, k.foreign = false, false, false
	k.reasoning, k.text, k.tools, k.other, k.unknown = k.reasoning[:0], k.text[:0], k.tools[:0], k.other[:0], k.unknown[:0]
	if !k.enterOr(c, '[') {
		return
	}
	for c.element() {
		k.choices++
		if k.enterOr(c, '{') {
			k.decodeChoice(c)
		}
	}
}

func (k *chunk) decodeChoice(c *cursor) {
	var d delta
	var aside unknownText
	var text, finish []byte
	var tokenIDs, logged count
	for name, ok := c.key(); ok; name, ok = c.key() {
		switch string(name) {
		case "text":
			text = k.output(c)
		case "delta":
			k.decodeDelta(c, &d, "delta.")
		case "message":
			k.decodeDelta(c, &d, "message.")
		case "finish_reason":
			finish = presentValue(c)
		case "token_ids":
			tokenIDs = countElements(c)
		case "logprobs":
			logged = loggedTokens(c)
		default:
			if known := k.extras.inChoice(name); known != nil {
				k.decodeExtra(c, known)
			} else {
				aside.decode(c, "choice.", name)
			}
		}
	}
	k.text = appendText(k.text, text)
	d.addTo(k)
	aside.addTo(k, len(k.text)+len(k.reasoning) > 0)
	if !tokenIDs.known && logged.known {
		tokenIDs, k.logged = logged, true
	}
	k.tokenIDs = k.tokenIDs.plus(tokenIDs)
	if finish != nil {
		k.finish = finish
	}
}

// output consumes a text of the answer. A value of another type marks the chunk as odd: dropping it would time the
// wrong token.
func (k *chunk) output(c *cursor) []byte {
	if c.peek() == '"' {
		return c.str()
	}
	k.odd = presentValue(c) != nil || k.odd
	return nil
}
