package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The tests of this file are chunks that need a decision, one each.

func TestRoleOnlyOrEmptyDeltaIsAnEventAndNeverTTFT(t *testing.T) {
	for name, c := range map[string]struct{ delta, first string }{
		"role with empty content": {`{"role":"assistant","content":""}`, eventRole},
		"role with null content":  {`{"role":"assistant","content":null,"tool_calls":null,"reasoning":null}`, eventRole},
		"role alone":              {`{"role":"assistant"}`, eventRole},
		"empty delta":             {`{}`, eventEmpty},
		"null delta":              {`null`, eventEmpty},
		"empty list of calls":     {`{"tool_calls":[],"content":""}`, eventEmpty},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, pieces(events(deltaChunk(c.delta)), events(textChunk("a")), events(done))).Record
			wantStatus(t, r, StatusOK, "")
			if r.FirstEventType != c.first || !slices.Equal(r.ReadIDs, []int{2}) {
				t.Errorf("first event %s, payload in reads %v", r.FirstEventType, r.ReadIDs)
			}
		})
	}
}

// ids returns a content delta with its token ids.
func ids(text, list string) string {
	return fmt.Sprintf(`{"choices":[{"delta":{"content":%q},"token_ids":%s}]}`, text, list)
}

func usageOf(completion int) string {
	return fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, completion)
}

func TestEmptyTextIsATokenOnlyIfTheServerCountsIt(t *testing.T) {
	for name, c := range map[string]struct {
		stream         string
		tokens, silent []int // silent: of those, in events without text
		by             string
		out            int
		source         string
	}{
		"token_ids": {
			events(ids("", "[7]"), ids("a", "[8]"), ids("", "[9]"), ids(" b", "[10,11]"), ids("", "[2]"), usageOf(6), done),
			[]int{2, 3}, []int{1, 1}, TokensFromIDs, 6, fromUsage,
		},
		"token_ids without usage":  {events(ids("", "[7]"), ids("a", "[8]"), done), []int{2}, []int{1}, TokensFromIDs, 2, TokensFromIDs},
		"token_ids, all with text": {events(ids("a", "[7]"), ids(" b", "[8,9]"), usageOf(3), done), []int{1, 2}, nil, TokensFromIDs, 3, fromUsage},
		"continuous usage": {
			events(continuous("", 1), continuous("a", 2), continuous("", 3), continuous(" b", 5), usageOf(6), done),
			[]int{2, 3}, nil, fromUsage, 6, fromUsage,
		},
		"neither":                           {events(textChunk(""), textChunk("a"), textChunk(""), textChunk(" b"), done), nil, nil, "", 2, TokensFromChunks},
		"token_ids in some chunks only":     {events(ids("a", "[7]"), textChunk(" b"), usageOf(2), done), nil, nil, "", 2, fromUsage},
		"token_ids always empty":            {events(ids("a", "[]"), ids(" b", "[]"), usageOf(2), done), nil, nil, "", 2, fromUsage},
		"token_ids null":                    {events(ids("a", "null"), ids(" b", "null"), done), nil, nil, "", 2, TokensFromChunks},
		"token_ids of the whole text again": {events(ids("a", "[7]"), ids(" b", "[7,8]"), usageOf(2), done), nil, nil, "", 2, fromUsage},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, pieces(c.stream)).Record
			wantStatus(t, r, StatusOK, "")
			if !slices.Equal(r.ArrivalTokens, c.tokens) || *r.TokensOut != c.out || r.TokensSource != c.source {
				t.Errorf("tokens %v, %d by %s, want %v, %d by %s", r.ArrivalTokens, *r.TokensOut, r.TokensSource, c.tokens, c.out, c.source)
			}
			if !slices.Equal(r.SilentTokens, c.silent) || r.ArrivalTokensSource != c.by {
				t.Errorf("%v of the tokens without text, by %q, want %v, by %q", r.SilentTokens, r.ArrivalTokensSource, c.silent, c.by)
			}
		})
	}
}

// continuous is a content delta with the usage so far.
func continuous(text string, completion int) string {
	return fmt.Sprintf(`{"choices":[{"delta":{"content":%q}}],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`, text, completion)
}

func TestTwoEventsOfOneReadShareOneArrival(t *testing.T) {
	r := answerOf(t, Options{}, func(e *engine) bool {
		e.begin()
		e.at(10*time.Millisecond, events(roleChunk, textChunk("a")))
		e.at(30*time.Millisecond, events(textChunk(" b"), textChunk(" c"))+"data: {\"choices\"")
		e.at(50*time.Millisecond, ":[{\"delta\":{\"content\":\" d\"}}]}\n\n"+events(done))
		e.finish()
		return true
	}).Record
	wantStatus(t, r, StatusOK, "")
	if want := []int64{10 * ms, 20 * ms, 0, 20 * ms}; !slices.Equal(r.ArrivalsNS, want) {
		t.Errorf("arrivals %v, want %v", r.ArrivalsNS, want)
	}
	if got, want := slices.Collect(r.ChunkGaps()), []time.Duration{20e6, 20e6}; !slices.Equal(got, want) || r.SameReadChunks() != 1 {
		t.Errorf("chunk gaps %v and %d in the same read, want %v and 1", got, r.SameReadChunks(), want)
	}
}

// One network read may hold several HTTP chunks, and net/http may hand them out one by one: the
// arrival is still that of the network read.
func TestHTTPChunksOfOneNetworkReadShareOneArrival(t *testing.T) {
	r := answerOf(t, Options{}, func(e *engine) bool {
		e.begin()
		time.Sleep(10 * time.Millisecond)
		e.write(httpChunk(events(textChunk("a"))) + httpChunk(events(textChunk(" b"))) + httpChunk(events(stopChunk))[:3])
		time.Sleep(10 * time.Millisecond)
		e.write(httpChunk(events(stopChunk))[3:])
		e.finish()
		return true
	}).Record
	wantStatus(t, r, StatusOK, "")
	if !slices.Equal(r.ArrivalsNS, []int64{10 * ms, 0}) || r.ReadIDs[0] != r.ReadIDs[1] {
		t.Errorf("arrivals %v in reads %v", r.ArrivalsNS, r.ReadIDs)
	}
}

func TestPayloadInTheReadOfTheHeadersArrivesWithThem(t *testing.T) {
	r := answerOf(t, Options{}, func(e *engine) bool {
		time.Sleep(10 * time.Millisecond)
		e.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + httpChunk(events(textChunk("a"))))
		e.at(30*time.Millisecond, events(stopChunk))
		e.finish()
		return true
	}).Record
	wantStatus(t, r, StatusOK, "")
	wantTime(t, "headers", r.HeadersNS, 10*time.Millisecond)
	wantTime(t, "first token", r.FirstTokenNS, 10*time.Millisecond)
}

func TestUsageChunkWithoutChoicesNeverAdvancesE2E(t *testing.T) {
	r := answerOf(t, Options{}, func(e *engine) bool {
		e.begin()
		e.at(10*time.Millisecond, events(textChunk("a")))
		e.at(20*time.Millisecond, events(stopChunk))
		e.at(500*time.Millisecond, events(usageChunk))
		e.at(900*time.Millisecond, events(`{"choices":[],"usage":null}`, done))
		e.finish()
		return true
	}).Record
	wantStatus(t, r, StatusOK, "")
	e2e, ok := r.E2E(FromSend)
	wantDuration(t, "E2E", 10*time.Millisecond, e2e, ok)
	if *r.TokensOut != 6 || *r.TokensIn != 9 {
		t.Errorf("%d tokens out, %d in: the last usage that is not null counts", *r.TokensOut, *r.TokensIn)
	}
}

func TestReasoningUnderBothNamesCountsOnce(t *testing.T) {
	for name, delta := range map[string]string{
		"reasoning_content (SGLang, TensorRT-LLM)": `{"reasoning_content":"hm"}`,
		"reasoning (vLLM)":                         `{"reasoning":"hm","content":null}`,
		"both":                                     `{"reasoning":"hm","reasoning_content":"hm"}`,
	} {
		t.Run(name, func(t *testing.T) {
			result := ask(t, pieces(events(deltaChunk(delta)), events(textChunk("ok")), events(done)))
			wantOK(t, result, "hmok")
			r := result.Record
			if r.ArrivalKinds != "rt" || *r.FirstTokenNS >= *r.FirstVisibleNS {
				t.Errorf("kinds %s, first token %d, first visible %d", r.ArrivalKinds, *r.FirstTokenNS, *r.FirstVisibleNS)
			}
		})
	}
}

func TestToolCallFragmentsArePayload(t *testing.T) {
	result := ask(t, pieces(events(
		deltaChunk(`{"role":"assistant","reasoning":"hm"}`),
		deltaChunk(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"add","arguments":""}}]}`),
		deltaChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}`),
		deltaChunk(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
		`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, done)))
	wantOK(t, result, `hmadd{"a":1}`)
	r := result.Record
	if r.ArrivalKinds != "rccc" || r.FinishReason != "tool_calls" || r.FirstVisibleNS == nil {
		t.Errorf("kinds %s, finish %s, visible %v", r.ArrivalKinds, r.FinishReason, r.FirstVisibleNS)
	}
	sum := sha256.Sum256([]byte(result.Output))
	if r.OutputSHA256 != hex.EncodeToString(sum[:]) || r.OutputChars != len(result.Output) {
		t.Errorf("output hash %s over %d characters", r.OutputSHA256, r.OutputChars)
	}
}

func TestCompletionsText(t *testing.T) {
	result := ask(t, pieces(events(
		`{"object":"text_completion","model":"m","system_fingerprint":"fp","choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"choices":[{"index":0,"text":" b","finish_reason":"stop"}]}`, usageOf(2), done)))
	wantOK(t, result, twoTokens)
	if result.Model != "m" || result.SystemFingerprint != "fp" {
		t.Errorf("model %q, fingerprint %q", result.Model, result.SystemFingerprint)
	}
}

func TestFinishReasonsOfWholeAnswersAndOthers(t *testing.T) {
	for _, reason := range []string{"stop", "length", "tool_calls", "function_call"} {
		r := ask(t, pieces(events(textChunk("a"), `{"choices":[{"delta":{},"finish_reason":"`+reason+`"}]}`))).Record
		wantStatus(t, r, StatusOK, "")
		if r.FinishReason != reason {
			t.Errorf("finish reason %q, want %q", r.FinishReason, reason)
		}
	}
	for _, reason := range []string{"abort", "error", "timeout", "cancelled", "content_filter", "SAFETY", "insufficient_system_resource"} {
		for form, body := range map[string]string{
			"stream": events(textChunk("a"), `{"choices":[{"delta":{},"finish_reason":"`+reason+`"}]}`, usageOf(1), done),
			"whole":  `{"choices":[{"message":{"content":"a"},"finish_reason":"` + reason + `"}]}`,
		} {
			result := ask(t, pieces(body))
			wantStatus(t, result.Record, StatusInBand, "finish_reason is "+reason)
			if result.Output != "a" || result.Record.FinishReason != reason {
				t.Errorf("%s, %s: output %q, finish reason %q", reason, form, result.Output, result.Record.FinishReason)
			}
		}
	}
}

// SGLang's own format has an object for a finish_reason.
func TestFinishReasonThatIsAnObject(t *testing.T) {
	r := ask(t, pieces(events(`{"choices":[{"finish_reason":{"type":"length","length":3}}]}`))).Record
	wantStatus(t, r, StatusOK, "")
	if r.FinishReason != "length" {
		t.Errorf("finish reason %q", r.FinishReason)
	}
	r = ask(t, pieces(events(`{"choices":[{"finish_reason":{"type":"abort","message":"Aborted by pause"}}]}`, done))).Record
	wantStatus(t, r, StatusInBand, "finish_reason is abort: Aborted by pause")
	r = ask(t, pieces(events(`{"choices":[{"finish_reason":{"reason":7}}]}`))).Record
	if wantStatus(t, r, StatusOK, ""); r.FinishReason != `{"reason":7}` {
		t.Errorf("finish reason %q", r.FinishReason)
	}
}

func TestNothingIsRetried(t *testing.T) {
	for name, first := range map[string]string{
		"503":            "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n",
		"no answer":      "",
		"half a header":  "HTTP/1.1 200 OK\r\nContent-Ty",
		"dead in stream": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			r := answerOf(t, Options{}, func(e *engine) bool {
				requests++
				e.write(first)
				return false
			}).Record
			if requests != 1 || r.Status == StatusOK {
				t.Errorf("%d requests, status %s", requests, r.Status)
			}
		})
	}
}

func TestAnswerWithoutStreamIsOneArrivalAtItsEnd(t *testing.T) {
	answer := `{"id":"c","model":"m","choices":[{"message":{"role":"assistant","content":"a b","reasoning_content":"hm "},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":3,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":0}}}`
	synctest.Test(t, func(t *testing.T) {
		payloads := 0
		c := newEngine(t, Options{}, func(e *engine) bool {
			e.begin()
			e.at(10*time.Millisecond, answer[:50])
			e.at(40*time.Millisecond, answer[50:]+"\n")
			time.Sleep(10 * time.Millisecond)
			e.finish()
			return true
		})
		r := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), func() { payloads++ }).Record
		wantStatus(t, r, StatusOK, "")
		wantTime(t, "first event", r.FirstEventNS, 50*time.Millisecond)
		wantTime(t, "first token", r.FirstTokenNS, 50*time.Millisecond)
		wantTime(t, "end", r.EndNS, 50*time.Millisecond)
		tpot, ok := r.TPOT()
		wantAbsent(t, "tpot", tpot, ok)
		if payloads != 1 || r.ArrivalKinds != "t" || *r.TokensOut != 6 || *r.TokensCached != 0 {
			t.Errorf("%d payloads, kinds %q, %d tokens out, %d cached", payloads, r.ArrivalKinds, *r.TokensOut, *r.TokensCached)
		}
	})
}

func TestBodyOfOneObjectThatIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		body   string
		status Status
		reason string
	}{
		"error object":       {`{"error":{"message":"model is loading"}}`, StatusInBand, "model is loading"},
		"error as text":      {`{"error":"model is loading"}`, StatusInBand, "model is loading"},
		"finish error":       {`{"choices":[{"text":"a","finish_reason":"error"}]}`, StatusInBand, "finish_reason is error"},
		"FastAPI":            {`{"detail":"no engine"}`, StatusInBand, "no engine"},
		"FastAPI list":       {`{"detail":[{"loc":["body"],"msg":"no engine"}]}`, StatusInBand, "body: no engine"},
		"something else":     {`{"status":"no engine"}`, StatusTruncated, `[DONE]: {"status":"no engine"}`},
		"text":               {"no engine\n\n", StatusTruncated, "no event, content type text/html: no engine"},
		"text without end":   {"no\x1b[31m engine", StatusTruncated, "inside an event: no engine"},
		"a line error":       {"error: no engine", StatusInBand, "no engine"},
		"cut":                {`{"choices":[{"text":"a"}`, StatusTruncated, "body is not valid JSON"},
		"a page, not JSON":   {"<html>\n<body>\n\n", StatusTruncated, "no event, content type text/html"},
		"choices, no reason": {`{"choices":[{"text":"a"}]}`, StatusOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, withHeader(pieces(c.body), "Content-Type", "text/html")).Record
			wantStatus(t, r, c.status, c.reason)
		})
	}
}
