package openai

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tmaxmax/go-sse"
)

// seedStreams are whole bodies, usual and unusual.
func seedStreams() []string {
	return []string{
		events(roleChunk, textChunk("a"), textChunk(" b"), stopChunk, usageChunk, done),
		strings.ReplaceAll(events(ids("é", "[1]"), continuous("€", 2), done), "\n", "\r\n"),
		strings.ReplaceAll(events(textChunk("a"), done), "\n", "\r"),
		byteOrderMark + ": ping\n\nretry: 1\nid: 2\nevent: x\ndata: {\"choices\":\ndata: []}\n\n",
		"event: error\n: worker died\n\n" + events(done), "error: worker died\n\ndata: x\n\nerror:",
		`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`,
		events(deltaChunk(`{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}`), deltaChunk(`{"reasoning":"\ud83d\ude00"}`)) + "data: [DONE]",
		"data\n\ndata: : ping\n\ndata: {\n\n\r\r\n\n:",
	}
}

// FuzzAnySplitGivesTheSameTokens cuts a body into reads at arbitrary places.
func FuzzAnySplitGivesTheSameTokens(f *testing.F) {
	for _, text := range seedStreams() {
		f.Add(text, []byte{1, 7, 2})
		f.Add(text, []byte{1})
		f.Add(text, []byte{200, 0, 3})
	}
	f.Fuzz(func(t *testing.T, text string, lengths []byte) {
		whole := ask(t, pieces(text))
		parts := ask(t, pieces(cut(text, lengths)...))
		for _, result := range []*Result{&whole, &parts} {
			if err := inconsistency(result.Record); err != nil {
				t.Error(err)
			}
			withoutTimes(&result.Record)
		}
		if !reflect.DeepEqual(whole, parts) {
			t.Errorf("whole %+v\nparts %+v", whole, parts)
		}
		if whole.Record.Status == StatusOK && !marksItsEnd(text) {
			t.Errorf("ok without a marker in %q", text)
		}
	})
}

// marksItsEnd reports whether a body could hold a marker: one of the two, perhaps with an escape in its name, or the
// closing brace of a whole object.
func marksItsEnd(text string) bool {
	object := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
	return object || strings.Contains(text, doneMarker) || strings.Contains(text, "finish_reason") || strings.Contains(text, `\u`)
}

// cut splits text into pieces of the given lengths, over and over. Lengths of 0 give the empty
// reads that io.Reader allows.
func cut(text string, lengths []byte) []string {
	var parts []string
	for i, empty := 0, 0; text != ""; i++ {
		n := len(text)
		if len(lengths) > 0 && empty < len(lengths) {
			n = min(n, int(lengths[i%len(lengths)]))
		}
		if empty++; n > 0 {
			empty = 0
		}
		parts = append(parts, text[:n])
		text = text[n:]
	}
	return parts
}

// withoutTimes removes what depends on the reads.
func withoutTimes(r *Record) {
	r.DispatchNS, r.HeadersNS, r.FirstEventNS, r.FirstTokenNS, r.FirstVisibleNS = nil, nil, nil, nil, nil
	r.EndNS, r.ArrivalsNS, r.ReadIDs = nil, nil, nil
}

// sseEvent is what two readers must agree on.
type sseEvent struct{ name, data string }

// FuzzEventsAgainstGoSSE holds our reader against a well-kept one. Left out is where the library
// itself differs from the standard: it takes a byte order mark off the first event, not off the
// first byte, and calls a body without a last line end an error.
func FuzzEventsAgainstGoSSE(f *testing.F) {
	for _, text := range seedStreams() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, byteOrderMark) || len(text) > 32<<10 {
			t.Skip()
		}
		text += "\n\n"
		var want []sseEvent
		for event, err := range sse.Read(strings.NewReader(text), nil) {
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if event.Data != "" {
				want = append(want, sseEvent{event.Type, event.Data})
			}
		}
		if got := ourEvents(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q\ngot  %q\nwant %q", text, got, want)
		}
	})
}

func ourEvents(text string) []sseEvent {
	s := stream{buf: []byte(text)}
	s.scan(0, 0)
	var out []sseEvent
	for _, e := range s.events {
		if f := s.split(e); len(f.data) > 0 {
			out = append(out, sseEvent{string(f.name), string(f.data)})
		}
	}
	return out
}

func seedObjects() []string {
	return []string{
		roleChunk, stopChunk, usageChunk, textChunk("a\"b\\\n\u2028<"), ids("é", "[1,2]"), continuous("x", 3),
		`{"choices":[{"text":"a"},{"text":"b","finish_reason":"length","token_ids":[1]}],"error":null}`,
		`{"error":{"message":"no","code":[1.5e-3,true,false,{}]}}`, `{"object":"error","message":"\u0000\/\b\f"}`,
		`{"choices":[{"message":{"content":"\ud83d\ude00\ud800x\udc00"},"delta":null}],"usage":null}`,
		` { } `, `{`, `{"a":1,}`, `{"a":01}`, `{"a":-}`, `{"a":"\x"}`, `[]`, `null`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}",
		`{"choices":7,"usage":{"completion_tokens":-1,"prompt_tokens":2.0,"prompt_tokens_details":{"cached_tokens":4}}}`,
		`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"1","name":"f"}},null,3]}}]}`,
		`{"\u0063hoices":[{"d\u0065lta":{"content":"a"}}]}`,
		`{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{},{}]}},{"text":"b","logprobs":{"tokens":["b"]}}]}`,
		`{"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":4,"completion_tokens_details":{"reasoning_tokens":3}},"sglext":{"cached_tokens_details":{"host":1}}}`,
		`{"detail":"no"}`, `{"choices":[],"detail":""}`, zeroUsage, `{"usage":` + zeroUsage + `}`,
		deltaChunk(`{"content":[{"type":"text","text":"a"},"b",{"type":"refusal","refusal":"c"},{"type":"image_url","image_url":{}}]}`),
		deltaChunk(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"},{"thinking":"b"}]},{"type":"text","text":""}]}`),
		deltaChunk(`{"refusal":"no","audio":{"id":"x","transcript":"a","data":"UklGRg=="}}`), deltaChunk(`{"audio":{"expires_at":1}}`),
		deltaChunk(`{"function_call":{"name":"f","arguments":"{"}}`), deltaChunk(`{"function_call":{"name":"","arguments":""}}`),
		deltaChunk(`{"reasoning_details":[{"type":"reasoning.text","text":"a","signature":"s"},{"summary":"b"},{"data":"gAAA"}]}`),
	}
}

// FuzzDecodeAgainstEncodingJSON holds the decoder of chunks against encoding/json.
func FuzzDecodeAgainstEncodingJSON(f *testing.F) {
	for _, text := range seedObjects() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got chunk
		ok := got.decode(data)
		object, isObject := referenceObject(data)
		if ok != isObject {
			t.Fatalf("%q: decoded %t, encoding/json %t", data, ok, isObject)
		}
		if !ok {
			return
		}
		want, odd, comparable := reference(object)
		if odd && !got.odd {
			t.Errorf("%q has an unexpected shape that went unseen", data)
		}
		if comparable && !odd && !got.odd && !reflect.DeepEqual(got.facts(), want) {
			t.Errorf("%q\ngot  %+v\nwant %+v", data, got.facts(), want)
		}
	})
}

func referenceObject(data []byte) (map[string]any, bool) {
	if first := trimSpace(data); len(first) == 0 || first[0] != '{' {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var object map[string]any
	if !json.Valid(data) || decoder.Decode(&object) != nil {
		return nil, false
	}
	return object, true
}

// FuzzClassifyNeverMissesPayload compares the hot path's guess with the decode.
func FuzzClassifyNeverMissesPayload(f *testing.F) {
	for _, text := range seedObjects() {
		f.Add([]byte(text))
	}
	f.Add([]byte(" [DONE]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := classify(data)
		if isDone := string(bytes.Trim(data, " \t")) == doneMarker; isDone != (got == classDone) {
			t.Errorf("%q: class %d", data, got)
		}
		k := chunk{extras: knownExtras(t)}
		if k.decode(data) && k.payload() && got != classPayload {
			t.Errorf("%q carries payload, class %d", data, got)
		}
	})
}

// FuzzCleanTextIsOnePrintableLine feeds foreign text on its way into a record.
func FuzzCleanTextIsOnePrintableLine(f *testing.F) {
	for _, text := range []string{"", "plain", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "a\r\nb", "\u202e", "\x9b1m", strings.Repeat("é", 400), "\x1b", "\x1b[", "<script>|"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := Printable(text, maxErrorLength)
		if len(got) > maxErrorLength || !utf8.ValidString(got) || Printable(got, maxErrorLength) != got {
			t.Errorf("%q becomes %q", text, got)
		}
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

// FuzzHTTPErrorKeepsItsStatus feeds the body of an error answer.
func FuzzHTTPErrorKeepsItsStatus(f *testing.F) {
	for _, text := range []string{"", `{"error":{"message":"no"}}`, `{"detail":[1]}`, `{"detail":[{"loc":["body",0],"msg":"no"}]}`, `{"error":{"error":{"error":null}}}`, "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := ask(t, script{status: 500, reads: []read{{data: text}}}).Record
		if r.Status != StatusHTTP || !strings.HasPrefix(r.Error, "HTTP 500:") {
			t.Errorf("%q: status %s, error %q", text, r.Status, r.Error)
		}
		if err := inconsistency(r); err != nil {
			t.Error(err)
		}
	})
}

// FuzzParseBase reads what a person may give as the server's address.
func FuzzParseBase(f *testing.F) {
	for _, text := range []string{"http://h", "http://h:1/v1/", "https://u:p@h", "h:1", "http://h/v1/v1", "http://[::1]/x?y#z", "http://h/%2f/v1/completions"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		base, err := ParseBase(raw)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("error of several lines: %q", err)
			}
			return
		}
		if base.User != nil || base.RawQuery != "" || base.Fragment != "" || strings.HasSuffix(base.Path, "/") {
			t.Errorf("%q becomes %q", raw, base)
		}
	})
}
