package openai

import (
	"slices"
	"strings"
	"testing"
)

// Text under a name that no known API has is output: left out, it would time the wrong token.
func TestTextUnderAnUnknownMemberIsOutputWithItsName(t *testing.T) {
	for name, c := range map[string]struct {
		delta, kinds, output string
		members              []string
	}{
		"thinking":                         {`{"thinking":"w "}`, "r", "w ", []string{"thinking"}},
		"reasoning_text":                   {`{"content":null,"reasoning_text":"w "}`, "r", "w ", []string{"reasoning_text"}},
		"thoughts in a list":               {`{"thoughts":["w",{"text":" x"}]}`, "r", "w x", []string{"thoughts"}},
		"an answer in an object":           {`{"answer":{"type":"x","parts":[{"value":"w"}]}}`, "u", "w", []string{"answer"}},
		"two of them":                      {`{"answer":"w","scratch":"x"}`, "u", "wx", []string{"answer", "scratch"}},
		"reasoning as a list":              {`{"reasoning":[{"type":"text","text":"w "}]}`, "r", "w ", nil},
		"reasoning as an object":           {`{"reasoning":{"summary":[{"text":"w "}]}}`, "r", "w ", nil},
		"reasoning_content as a list":      {`{"reasoning_content":["w "]}`, "r", "w ", nil},
		"details with an unknown text":     {`{"reasoning_details":[{"type":"x","content":"w "}]}`, "r", "w ", nil},
		"content as an object":             {`{"content":{"type":"text","text":"w "}}`, "t", "w ", nil},
		"a part with an unknown text":      {`{"content":[{"type":"text","value":"w "}]}`, "t", "w ", nil},
		"a part of reasoning":              {`{"content":[{"type":"reasoning","text":"w "}]}`, "r", "w ", nil},
		"thinking that is an object":       {`{"content":[{"type":"thinking","thinking":{"text":"w "}}]}`, "r", "w ", nil},
		"thoughts that repeat reasoning":   {`{"reasoning":"w","thinking_blocks":[{"type":"thinking","thinking":"w"}]}`, "r", "w", nil},
		"text that repeats content":        {`{"content":"w","display_text":"w"}`, "t", "w", nil},
		"an image":                         {`{"images":[{"type":"image_url","image_url":{"url":"data:x"},"b64":"x"}]}`, "t", "", nil},
		"numbers, flags and descriptions":  {`{"score":1,"final":true,"x":null,"y":[],"z":{"a":[""]},"phase":"answer","thinking_signature":"s"}`, "", "", nil},
		"a name with an escape":            {`{"thin\u006bing":"w"}`, "r", "w", []string{"thinking"}},
		"sentinels of members":             {`{"content":false,"tool_calls":{},"refusal":[],"reasoning":"","function_call":false}`, "", "", nil},
		"the word null, which a model may": {`{"content":"null"}`, "t", "null", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := classify([]byte(deltaChunk(c.delta))) == classPayload; got != (c.kinds != "") {
				t.Errorf("by its bytes payload: %v", got)
			}
			streamed := ask(t, pieces(events(deltaChunk(c.delta), stopChunk, done)))
			whole := ask(t, pieces(`{"choices":[{"message":`+c.delta+`,"finish_reason":"stop"}]}`))
			for place, result := range map[string]Result{"delta.": streamed, "message.": whole} {
				wantOK(t, result, c.output)
				var members []string
				for _, member := range c.members {
					members = append(members, place+member)
				}
				if r := result.Record; r.ArrivalKinds != c.kinds || !slices.Equal(r.UnknownMembers, members) {
					t.Errorf("kinds %q under %q, want %q under %q", r.ArrivalKinds, r.UnknownMembers, c.kinds, members)
				}
			}
		})
	}
}

func TestTextUnderAnUnknownMemberOfAChoiceIsOutput(t *testing.T) {
	r := ask(t, pieces(events(`{"choices":[{"index":0,"text":"","reasoning":"w "}]}`, `{"choices":[{"text":"a","output":"b"}]}`,
		`{"choices":[{"text":"","stop_reason":"</s>","content_filter_results":{"hate":{"severity":"safe"}},"extension":{"note":"x"},"finish_reason":"stop"}]}`, done)))
	wantOK(t, r, "w ab")
	if got := r.Record; got.ArrivalKinds != "rt" || !slices.Equal(got.UnknownMembers, []string{"choice.reasoning", "choice.output"}) {
		t.Errorf("%q under %q", got.ArrivalKinds, got.UnknownMembers)
	}
}

// Whether text under an unknown name is visible is not known, so a first visible token after it is not known either.
func TestAfterTextOfUnknownKindThereIsNoFirstVisibleToken(t *testing.T) {
	for stream, visible := range map[string]bool{
		events(deltaChunk(`{"answer":"w"}`), textChunk("a"), done):                                 false,
		events(deltaChunk(`{"thinking":"w"}`), textChunk("a"), deltaChunk(`{"answer":"w"}`), done): true,
		events(deltaChunk(`{"answer":"w"}`), done):                                                 false,
	} {
		r := ask(t, pieces(stream)).Record
		if wantStatus(t, r, StatusOK, ""); r.FirstTokenNS == nil || (r.FirstVisibleNS != nil) != visible {
			t.Errorf("%s: first token %v, first visible %v", stream, r.FirstTokenNS, r.FirstVisibleNS)
		}
	}
}

func TestNamesOfUnknownMembersAreFewShortAndPrintable(t *testing.T) {
	var chunks []string
	for i := range 3 * maxUnknown {
		chunks = append(chunks, deltaChunk(`{"\u001b[2J`+strings.Repeat("x", 1000+i)+`":"w","y`+strings.Repeat("z", i)+`":"w"}`))
	}
	r := ask(t, pieces(events(append(chunks, done)...))).Record
	wantStatus(t, r, StatusOK, "")
	for _, name := range r.UnknownMembers {
		if len(name) > maxUnknownName || Printable(name, maxUnknownName) != name {
			t.Errorf("%q", name)
		}
	}
	if len(r.UnknownMembers) != maxUnknown {
		t.Errorf("%d names", len(r.UnknownMembers))
	}
}

func TestWhatStandsForNoneIsNeitherAnErrorNorAFinish(t *testing.T) {
	for _, none := range []string{`null`, `"null"`, `"NULL"`, `"None"`, `""`, `" "`, `{}`, `{ }`, `[]`, `[ ]`, `[null]`, `{"message":null,"code":null}`, `false`} {
		meanwhile := `{"choices":[{"delta":{"content":"a"},"finish_reason":` + none + `}],"error":` + none + `,"detail":` + none + `}`
		wantStatus(t, ask(t, pieces(events(meanwhile, meanwhile))).Record, StatusTruncated, "neither finish_reason nor [DONE]")
		whole := ask(t, pieces(events(meanwhile, stopChunk, `{"choices":[],"error":`+none+`,"detail":`+none+`}`, done)))
		if wantOK(t, whole, "a"); whole.Record.FinishReason != "stop" {
			t.Errorf("%s: finish reason %q", none, whole.Record.FinishReason)
		}
		wantOK(t, ask(t, pieces(`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"error":`+none+`}`)), "a")
	}
	wantOK(t, ask(t, pieces(events(`{"choices":[{"delta":{"content":"a"}}],"error":0}`, stopChunk))), "a")
	wantStatus(t, ask(t, pieces(events(textChunk("a"), `{"error":true}`, done))).Record, StatusInBand, "true")
	wantStatus(t, ask(t, script{status: 400, reads: []read{{data: `{"error":{},"message":"no"}`}}}).Record, StatusHTTP, "HTTP 400: no")
}
