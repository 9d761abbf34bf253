package openai

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestEveryFormOfOutputIsPayload has one case for each member in which servers send output. The byte
// classifier and the decode agree on each.
func TestEveryFormOfOutputIsPayload(t *testing.T) {
	for name, c := range map[string]struct{ delta, kinds, output string }{
		"content":                            {`{"content":"a"}`, "t", "a"},
		"reasoning_content":                  {`{"reasoning_content":"a"}`, "r", "a"},
		"reasoning":                          {`{"content":"","reasoning":"a"}`, "r", "a"},
		"reasoning in both forms":            {`{"content":"","reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a"}]}`, "r", "a"},
		"reasoning_details alone":            {`{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.text","text":"a","format":"unknown","index":0}]}`, "r", "a"},
		"a summary of reasoning":             {`{"reasoning_details":[{"type":"reasoning.summary","summary":"a"}]}`, "r", "a"},
		"encrypted reasoning":                {`{"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA"}]}`, "r", ""},
		"refusal":                            {`{"refusal":"no"}`, "t", "no"},
		"audio":                              {`{"audio":{"id":"audio_1","data":"UklGRg=="}}`, "a", ""},
		"words of audio":                     {`{"audio":{"id":"audio_1","transcript":"a"}}`, "t", "a"},
		"function_call":                      {`{"function_call":{"name":"f","arguments":"{}"}}`, "c", "f{}"},
		"tool_calls":                         {`{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}`, "c", "f{}"},
		"content parts":                      {`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "t", "ab"},
		"a refusal among parts":              {`{"content":[{"type":"refusal","refusal":"no"}]}`, "t", "no"},
		"thinking among parts":               {`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`, "r", "a"},
		"an image among parts":               {`{"content":[{"type":"image_url","image_url":{"url":"data:x"}}]}`, "t", ""},
		"signature of reasoning alone":       {`{"reasoning_details":[{"type":"reasoning.text","text":"","signature":"s"}]}`, "", ""},
		"end of audio":                       {`{"audio":{"id":"audio_1","expires_at":1}}`, "", ""},
		"members of all forms that are null": {`{"role":"assistant","content":"","refusal":null,"audio":null,"function_call":null,"reasoning_details":null,"tool_calls":null}`, "", ""},
		"empty lists":                        {`{"content":[],"reasoning_details":[],"tool_calls":[]}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classify([]byte(deltaChunk(c.delta))) == classPayload; got != (c.kinds != "") {
				t.Errorf("by its bytes payload: %v", got)
			}
			streamed := ask(t, pieces(events(deltaChunk(c.delta), stopChunk, done)))
			whole := ask(t, pieces(`{"choices":[{"message":`+c.delta+`,"finish_reason":"stop"}]}`))
			for form, result := range map[string]Result{"stream": streamed, "whole": whole} {
				wantOK(t, result, c.output)
				if r := result.Record; r.ArrivalKinds != c.kinds || (r.OutputSHA256 != "") != (c.output != "") {
					t.Errorf("%s: kinds %q, hash %q, want kinds %q", form, r.ArrivalKinds, r.OutputSHA256, c.kinds)
				}
			}
		})
	}
}

// A stream that begins with reasoning_details has its first token there, and deadlines see it.
func TestFirstTokenIsThatOfReasoningDetails(t *testing.T) {
	for name, first := range map[string]string{
		"reasoning_details": `{"content":"","reasoning_details":[{"type":"reasoning.text","text":"a"}]}`,
		"refusal":           `{"refusal":"no"}`,
		"audio":             `{"audio":{"data":"UklGRg=="}}`,
		"function_call":     `{"function_call":{"name":"f","arguments":""}}`,
		"content parts":     `{"content":[{"type":"text","text":"a"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := 0
				c := newEngine(t, Options{FirstTokenTimeout: 100 * time.Millisecond}, func(e *engine) bool {
					e.begin()
					e.at(10*time.Millisecond, events(roleChunk))
					e.at(60*time.Millisecond, events(deltaChunk(first)))
					e.at(184*time.Millisecond, events(textChunk("b")))
					e.at(200*time.Millisecond, events(stopChunk, done))
					e.finish()
					return true
				})
				r := c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}")}, since(time.Now()), func() { seen++ }).Record
				wantStatus(t, r, StatusOK, "")
				wantTime(t, "first token", r.FirstTokenNS, 60*time.Millisecond)
				if seen != 2 {
					t.Errorf("%d payload events seen while they came, want 2", seen)
				}
			})
		})
	}
}
