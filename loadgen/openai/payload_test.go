package openai

import (
	"testing"
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
