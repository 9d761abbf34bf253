package openai

import (
	"slices"
	"strings"
	"testing"
)

const twoTokens = "a b"

// body is a whole stream of two tokens in which one thing may be unusual.
func body(before string) string {
	return before + events(textChunk("a"), textChunk(" b"), stopChunk, done)
}

// TestStreamsInTheWild has one case for each deviation from the standard that was seen in the field.
func TestStreamsInTheWild(t *testing.T) {
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	for name, c := range map[string]struct {
		stream script
		first  string // type of the first event
	}{
		"comment line : ping":                     {pieces(body(": ping\n")), eventComment},
		"bare comment":                            {pieces(body(":\n\n")), eventComment},
		"comment : OPENROUTER PROCESSING":         {pieces(body(": OPENROUTER PROCESSING\n\n")), eventComment},
		"comment followed by a blank line":        {pieces(body(": ping\n\n\n\n")), eventComment},
		"comment between the lines of an event":   {pieces(body("event: x\n: ping\ndata: " + roleChunk + "\n\n")), eventRole},
		"keep-alive rewrapped as data: : text":    {pieces(body("data: : ping\n\n")), eventComment},
		"empty chunk as keep-alive":               {pieces(body(events(`{"object":"chat.completion.chunk","choices":[]}`))), eventEmpty},
		"empty delta as keep-alive":               {pieces(body(events(deltaChunk(`{}`)))), eventEmpty},
		"data without space, event:x":             {pieces(strings.NewReplacer("data: ", "event:x\ndata:").Replace(body(""))), eventPayload},
		"CRLF line ends":                          {pieces(crlf(body(""))), eventPayload},
		"CR line ends":                            {pieces(strings.ReplaceAll(body(""), "\n", "\r")), eventPayload},
		"CRLF split over two reads":               {pieces(strings.SplitAfter(crlf(body("")), "\r")...), eventPayload},
		"CRLF split within an event of two lines": {pieces(strings.SplitAfter(crlf(body("data: {\"choices\":\ndata: []}\n\n")), "\r")...), eventEmpty},
		"several data lines in one event":         {pieces(body("data: {\"choices\":\ndata: []}\n\n")), eventEmpty},
		"final event without blank line":          {pieces(strings.TrimSuffix(body(""), "\n")), eventPayload},
		"final event without line end":            {pieces(strings.TrimSuffix(body(""), "\n\n")), eventPayload},
		"one-byte reads":                          {oneByteReads(body(events(roleChunk))), eventRole},
		"byte order mark":                         {pieces(body(byteOrderMark)), eventPayload},
		"byte order mark before a blank line":     {pieces(body(byteOrderMark + "\n")), eventPayload},
		"byte order mark, one-byte reads":         {oneByteReads(body(byteOrderMark)), eventPayload},
		"retry: and id: fields":                   {pieces(body("retry: 3000\nid: 7\n\n")), eventEmpty},
		"unknown field":                           {pieces(body("dataset: {}\n\n")), eventPayload},
		"empty data":                              {pieces(body("data\n\ndata:\n\n")), eventEmpty},
		"data that is no object":                  {pieces(body("data: hello\n\ndata: [1]\n\n")), eventEmpty},
		"space around [DONE]":                     {pieces(events(textChunk("a"), textChunk(" b"), " [DONE] ")), eventPayload},
		"[DONE] as the only marker":               {pieces(events(textChunk("a"), textChunk(" b"), done)), eventPayload},
		"finish_reason as the only marker":        {pieces(events(textChunk("a"), textChunk(" b"), stopChunk)), eventPayload},
		"error: null in every chunk":              {pieces(body(events(`{"error":null,"choices":[{"delta":{"role":"assistant"}}]}`))), eventRole},
		"events after [DONE]":                     {pieces(body("") + events(textChunk("not this"), "{")), eventPayload},
		"members in another order and escaped":    {pieces(body(events(`{"ch\u006fices":[{"delta":{"role":"assistant"}}],"id":"x"}`))), eventRole},
		"identifiers of other types":              {pieces(body(events(`{"id":7,"model":null,"choices":[{"delta":{"role":"assistant"}}]}`))), eventRole},
		"a stream that calls itself JSON":         {withHeader(pieces(body("")), "Content-Type", "application/json"), eventPayload},
		"a stream that says it is not compressed": {withHeader(pieces(body("")), "Content-Encoding", "identity"), eventPayload},
	} {
		t.Run(name, func(t *testing.T) {
			result := ask(t, c.stream)
			wantOK(t, result, twoTokens)
			if result.Record.FirstEventType != c.first {
				t.Errorf("first event is %s, want %s", result.Record.FirstEventType, c.first)
			}
			if got := result.Record.ArrivalKinds; got != "tt" {
				t.Errorf("payload chunks %q, want tt", got)
			}
		})
	}
}

func oneByteReads(text string) script {
	var s script
	for i := range len(text) {
		s.reads = append(s.reads, read{data: text[i : i+1]})
	}
	return s
}

func withHeader(s script, name, value string) script {
	s.header = map[string][]string{name: {value}}
	return s
}

func TestUTF8SequenceSplitOverReadsIsOneCharacter(t *testing.T) {
	result := ask(t, oneByteReads(events(textChunk("é€😀"), stopChunk)))
	wantOK(t, result, "é€😀")
	if result.Record.OutputChars != 3 {
		t.Errorf("%d characters, want 3", result.Record.OutputChars)
	}
}

func TestInBandErrorThenDoneIsNoSuccess(t *testing.T) {
	result := ask(t, pieces(events(`{"error":{"message":"CUDA out of memory","type":"InternalServerError","code":500}}`, done)))
	wantStatus(t, result.Record, StatusInBand, "CUDA out of memory")
	if result.Record.FirstEventType != eventError || result.Record.FirstTokenNS != nil {
		t.Errorf("first event %s, first token %v", result.Record.FirstEventType, result.Record.FirstTokenNS)
	}
}

func TestErrorEventIsNoSuccess(t *testing.T) {
	for name, c := range map[string]struct{ event, reason string }{
		"with an error object":    {"event: error\ndata: {\"message\":\"worker died\"}\n\n", "worker died"},
		"with text":               {"event: error\ndata: worker died\n\n", "worker died"},
		"with a comment (Dynamo)": {"event: error\n: worker died\n\n", "worker died"},
		"with nothing":            {"event:error\n\n", "error event without text"},
		"as a field (llama.cpp)":  {"error: {\"code\":500,\"message\":\"worker died\"}\n\n", "worker died"},
		"as a field with text":    {"error:worker died\n\n", "worker died"},
		"as an empty field":       {"error:\n\n", "error event without text"},
		"as a field in a comment": {"error: worker died\n: ping\ndata: {}\n\n", "worker died"},
		"FastAPI's object":        {events(`{"detail":"worker died"}`), "worker died"},
		"older vLLM's object":     {events(`{"object":"error","message":"worker died","code":500}`), "worker died"},
	} {
		t.Run(name, func(t *testing.T) {
			result := ask(t, pieces(events(textChunk("a"))+c.event+events(stopChunk, done)))
			wantStatus(t, result.Record, StatusInBand, c.reason)
			if result.Output != "a" || result.Record.ArrivalKinds != "t" {
				t.Errorf("output %q, kinds %q: what came before the error is lost", result.Output, result.Record.ArrivalKinds)
			}
		})
	}
}

func TestEndInTheMiddleIsTruncated(t *testing.T) {
	whole := events(textChunk("a"), textChunk(" b"))
	for name, text := range map[string]string{
		"after a whole event":   whole,
		"inside an event":       whole[:len(whole)-20],
		"inside a marker":       whole + "data: [DON",
		"before any event":      "",
		"of nothing but blanks": "\n\r\n \n",
		"after comments":        ": ping\n\n: ping\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			wantStatus(t, ask(t, pieces(text)).Record, StatusTruncated, "neither finish_reason nor [DONE]")
		})
	}
	result := ask(t, pieces(whole[:len(whole)-20]))
	if result.Output != "a" || !strings.Contains(result.Record.Error, "inside an event") {
		t.Errorf("output %q, error %q", result.Output, result.Record.Error)
	}
}

func TestTextThatIsNoEventOfTheFormatIsKept(t *testing.T) {
	wantStatus(t, ask(t, pieces("data: worker\u001b[2J died\n\n")).Record, StatusTruncated, "[DONE]: worker died")
	wantStatus(t, ask(t, pieces(strings.Repeat("x", 9000))).Record, StatusTruncated, "xxx")
}

func TestEventOfOneMebibyte(t *testing.T) {
	text := strings.Repeat("0123456789abcdef", 1<<16)
	stream := events(textChunk(text), stopChunk, done)
	result := ask(t, pieces(stream[:100], stream[100:1<<19], stream[1<<19:]))
	wantOK(t, result, text)
	if got := result.Record.OutputChars; got != 1<<20 {
		t.Errorf("%d characters", got)
	}
}

func TestGarbageInAnEventIsNoSuccess(t *testing.T) {
	for name, c := range map[string]struct{ event, reason string }{
		"broken JSON":         {`{"choices":[{"delta":{"content":"a"`, "not valid JSON"},
		"two objects":         {`{} {}`, "not valid JSON"},
		"content as a number": {deltaChunk(`{"content":5}`), "unexpected shape"},
		"choices as a number": {`{"choices":3}`, "unexpected shape"},
	} {
		t.Run(name, func(t *testing.T) {
			wantStatus(t, ask(t, pieces(body(events(c.event)))).Record, StatusInBand, c.reason)
		})
	}
}

func TestCommentHasItsOwnArrival(t *testing.T) {
	r := ask(t, script{reads: []read{{data: ": ping\n"}, {after: 20e6, data: events(textChunk("a"), stopChunk)}}}).Record
	wantStatus(t, r, StatusOK, "")
	if *r.FirstTokenNS-*r.FirstEventNS < 20*ms {
		t.Errorf("first event at %d, first token at %d", *r.FirstEventNS, *r.FirstTokenNS)
	}
}

func TestEventCompletedByCRDoesNotWaitForLF(t *testing.T) {
	first := "data: " + textChunk("a") + "\r\n\r"
	r := ask(t, pieces(first, "\n"+events(textChunk(" b"), stopChunk))).Record
	wantStatus(t, r, StatusOK, "")
	if !slices.Equal(r.ReadIDs, []int{1, 2}) {
		t.Errorf("read ids %v, want [1 2]", r.ReadIDs)
	}
}
