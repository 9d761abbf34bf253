package openai

import (
	"bytes"
	"slices"
	"strings"
)

// Values of Record.FirstEventType.
const (
	eventRole    = "role"
	eventPayload = "payload"
	eventUsage   = "usage"
	eventComment = "comment"
	eventError   = "error"
	eventDone    = "done"
	eventEmpty   = "empty"
)

// givenUp reports whether this finish_reason marks an answer that was ended before it was finished, in any case of
// letters: those of engines, which their packages list, OpenAI's content_filter for an answer that a filter cut, and the names
// of vendors that gateways pass on: Gemini's safety, recitation, blocklist, prohibited_content
// and spii, Bedrock's guardrail_intervened and content_filtered, Anthropic's refusal, GLM's sensitive and network_error,
// DeepSeek's insufficient_system_resource.
func givenUp(finish string) bool {
	switch strings.ToLower(finish) {
	case "abort", "aborted", "cancelled", "canceled", "error", "timeout",
		"content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
		"guardrail_intervened", "refusal", "sensitive", "network_error", "insufficient_system_resource":
		return true
	}
	return false
}

// arrival is one payload chunk.
type arrival struct {
	at    int64
	read  int
	kind  byte  // t text, r reasoning, c tool call, a audio, u text under an unknown member
	ids   count // tokens listed since the previous payload chunk
	early int   // of them, those in events before this one
	total count // completion tokens of the answer so far, by continuous usage
	// followed is true if the same read brought another event after the chunk, one without payload.
	followed bool
}

// answer is the content of a response body, decoded after its end.
type answer struct {
	events    int
	firstAt   int64
	firstType string
	arrivals  []arrival
	output    []byte // reasoning, text and tool fragments in order
	chunks    int    // JSON objects of the answer, with or without output
	wordless  bool   // some output has no text: audio, images, encrypted reasoning
	unknown   []string
	keepText  bool
	text      []byte // the text alone, if it is to be kept
	usage     usage
	ids       count // tokens of the whole answer that are listed by token_ids or logprobs
	logged    bool  // they are listed by logprobs
	waiting   int   // of ids, those after the last payload chunk
	perStep   float64
	finish    string
	done      bool   // [DONE], or the end of a whole JSON body
	streamed  bool   // the answer came as events, not as one body
	failed    bool   // an error report, or an event that cannot be decoded
	failure   string // its text
	code      string // its code
	loose     string // bytes at the end that are not an event
	words     string // the first data that is not a JSON object, or a body that is not an answer

	id, model, fingerprint string

	chunk chunk // the current event, kept for its buffers
}

// reset empties the answer and keeps its buffers.
func (a *answer) reset() {
	*a = answer{arrivals: a.arrivals[:0], output: a.output[:0], chunk: a.chunk}
}

// addStream reads all events of a stream. Data after [DONE] is not part of the answer.
func (a *answer) addStream(s *stream, lastAt int64, lastRead int) {
	a.streamed = true
	for _, e := range s.events {
		if a.done {
			return
		}
		chunks := len(a.arrivals)
		a.note(a.addEvent(s.split(e), e), e.at)
		if n := len(a.arrivals); n == chunks && n > 0 && a.arrivals[n-1].read == e.read {
			a.arrivals[n-1].followed = true
		}
	}
	last, ok := s.rest(lastAt, lastRead)
	if !ok || a.done {
		return
	}
	if f := s.split(last); a.whole(f) {
		a.note(a.addEvent(f, last), last.at)
	} else {
		a.loose = "body ends inside an event"
	}
}

// whole reports whether an event without its blank line is complete.
func (a *answer) whole(f fields) bool {
	data := bytes.TrimSpace(f.data)
	return f.hasProblem || string(data) == doneMarker || a.chunk.decode(data)
}

// note counts an event of the given type.
func (a *answer) note(kind string, at int64) {
	if kind == "" {
		return
	}
	if a.events == 0 {
		a.firstAt, a.firstType = at, kind
	}
	a.events++
}

// addEvent adds one event and returns its type, or "" for lines that are not an event of the format.
func (a *answer) addEvent(f fields, e event) string {
	data := bytes.TrimSpace(f.data)
	switch {
	case !f.known:
		return ""
	case f.hasProblem:
		a.code = errorCode(f.comment)
		a.fail(f.report())
		return eventError
	case string(f.name) == eventError:
		a.code = errorCode(f.data)
		a.fail(f.report())
		return eventError
	case !f.hasData && f.hasComment, bytes.HasPrefix(data, []byte(":")):
		return eventComment // a comment: a keep-alive that a proxy has wrapped once more
	case string(data) == doneMarker:
		a.done = true
		return eventDone
	case len(data) == 0 || data[0] != '{':
		if a.words == "" {
			a.words = Printable(string(data), maxErrorLength)
		}
		return eventEmpty
	case !a.chunk.decode(data):
		a.fail("event is not valid JSON")
		return eventError
	}
	return a.addChunk(e.at, e.read)
}

// addBody adds a body that is one JSON object: the answer to a request without stream, or an error. The arrival of its
// end is the arrival of all of it.
func (a *answer) addBody(body []byte, at int64, read int) {
	if !a.chunk.decode(body) {
		a.loose = "body is not valid JSON"
		return
	}
	a.note(a.addChunk(at, read), at)
	a.done = a.chunk.choices > 0
	if !a.done {
		a.words = errorText(body)
	}
}

// addChunk adds the decoded chunk and returns its type.
func (a *answer) addChunk(at int64, read int) string {
	k := &a.chunk
	a.chunks++
	a.identify(k)
	a.usage.add(k.extra)
	a.usage.add(k.usage)
	a.ids = a.ids.plus(k.tokenIDs)
	a.logged = a.logged || k.logged
	if k.perIteration > 0 {
		a.perStep = k.perIteration
	}
	a.waiting += k.tokenIDs.n
	if k.finish != nil {
		a.finish = Printable(k.finishReason(), maxNameLength)
	}
	switch {
	case k.failed():
		a.code = k.code()
		a.fail(k.report())
		return eventError
	case k.odd:
		a.fail("event has an unexpected shape")
		return eventError
	case givenUp(a.finish):
		a.fail(k.whyGivenUp(a.finish))
	}
	if k.payload() {
		a.addPayload(at, read)
		return eventPayload
	}
	return k.emptyType()
}

// emptyType is the type of a chunk without payload.
func (k *chunk) emptyType() string {
	switch {
	case k.usageSeen && k.choices == 0:
		return eventUsage
	case k.role:
		return eventRole
	}
	return eventEmpty
}

func (a *answer) addPayload(at int64, read int) {
	k := &a.chunk
	a.arrivals = append(a.arrivals, arrival{
		at: at, read: read, kind: k.kind(),
		ids: count{a.waiting, k.tokenIDs.known}, early: a.waiting - k.tokenIDs.n, total: k.usage.completion,
	})
	a.waiting = 0
	a.output = append(append(append(append(a.output, k.reasoning...), k.text...), k.other...), k.tools...)
	a.wordless = a.wordless || k.audio || k.hidden || k.foreign
	for _, name := range k.unknown {
		if len(a.unknown) < maxUnknown && !slices.Contains(a.unknown, name) {
			a.unknown = append(a.unknown, name)
		}
	}
	if a.keepText {
		a.text = append(a.text, k.text...)
	}
}

// kind returns the letter of a payload chunk. Text, tool calls and audio are visible output, reasoning is not. Text
// under an unknown member may be either.
func (k *chunk) kind() byte {
	switch {
	case len(k.text) > 0, k.foreign:
		return 't'
	case k.toolCalls > 0:
		return 'c'
	case k.audio:
		return 'a'
	case len(k.other) > 0:
		return 'u'
	}
	return 'r'
}

// identify keeps id, model and fingerprint from the first event that has them.
func (a *answer) identify(k *chunk) {
	for _, name := range []struct {
		to  *string
		raw []byte
	}{{&a.id, k.id}, {&a.model, k.model}, {&a.fingerprint, k.fingerprint}} {
		if *name.to == "" && len(name.raw) > 0 && !isNoText(name.raw) {
			*name.to = Printable(string(appendText(nil, name.raw)), maxNameLength)
		}
	}
}

// fail keeps the first error report.
func (a *answer) fail(report string) {
	if !a.failed {
		a.failed, a.failure = true, report
	}
}
