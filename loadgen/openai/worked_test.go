package openai

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// example answers with the stream of the worked example. The chunks are given, so that they
// may report their tokens in one way or another.
func example(one, three, two string) func(*engine) bool {
	return func(e *engine) bool {
		e.begin()
		e.at(90*time.Millisecond, events(roleChunk))
		e.at(100*time.Millisecond, events(one))
		e.at(160*time.Millisecond, events(three))
		e.at(200*time.Millisecond, events(two))
		e.at(201*time.Millisecond, events(usageChunk))
		e.at(202*time.Millisecond, events(done))
		e.finish()
		return true
	}
}

const finishing = `{"choices":[{"index":0,"delta":{"content":" e f"},"finish_reason":"stop"}]}`

func exampleWithTokenIDs() func(*engine) bool {
	return example(
		`{"choices":[{"index":0,"delta":{"content":"a"},"token_ids":[1]}]}`,
		`{"choices":[{"index":0,"delta":{"content":" b c d"},"token_ids":[2,3,4]}]}`,
		`{"choices":[{"index":0,"delta":{"content":" e f"},"token_ids":[5,6],"finish_reason":"stop"}]}`)
}

func exampleWithContinuousUsage() func(*engine) bool {
	return example(
		`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`,
		`{"choices":[{"delta":{"content":" b c d"}}],"usage":{"prompt_tokens":9,"completion_tokens":4}}`,
		`{"choices":[{"delta":{"content":" e f"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":6}}`)
}

// answerOf runs one request against an engine on a virtual clock.
func answerOf(t *testing.T, o Options, answer func(*engine) bool) (result Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newEngine(t, o, answer)
		result = c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}"), KeepOutput: true}, since(time.Now()), nil)
	})
	return result
}

func wantTime(t *testing.T, name string, got *int64, want time.Duration) {
	t.Helper()
	if got == nil || *got != int64(want) {
		t.Errorf("%s = %v, want %v", name, valueOf(got), want)
	}
}

func valueOf(at *int64) any {
	if at == nil {
		return "absent"
	}
	return time.Duration(*at)
}

func TestWorkedExample(t *testing.T) {
	for name, answer := range map[string]func(*engine) bool{
		"with token ids":        exampleWithTokenIDs(),
		"with continuous usage": exampleWithContinuousUsage(),
	} {
		t.Run(name, func(t *testing.T) {
			result := answerOf(t, Options{}, answer)
			r := result.Record
			wantOK(t, result, "a b c d e f")
			wantTime(t, "first event", r.FirstEventNS, 90*time.Millisecond)
			wantTime(t, "end", r.EndNS, 202*time.Millisecond)
			wantExampleLatencies(t, r)
			if r.FirstEventType != eventRole || !slices.Equal(r.ArrivalTokens, []int{1, 3, 2}) || r.ArrivalKinds != "ttt" {
				t.Errorf("first event %s, tokens %v, kinds %s", r.FirstEventType, r.ArrivalTokens, r.ArrivalKinds)
			}
			if *r.TokensIn != 9 || *r.TokensOut != 6 || *r.TokensCached != 4 || r.TokensSource != fromUsage || r.FinishReason != "stop" {
				t.Errorf("tokens %d in, %d out, %d cached by %s, finish %s", *r.TokensIn, *r.TokensOut, *r.TokensCached, r.TokensSource, r.FinishReason)
			}
		})
	}
}

func TestWorkedExampleWithoutTokensPerChunkHasNoITL(t *testing.T) {
	r := answerOf(t, Options{}, example(textChunk("a"), textChunk(" b c d"), finishing)).Record
	wantStatus(t, r, StatusOK, "")
	tpot, ok := r.TPOT()
	wantDuration(t, "tpot", 20*time.Millisecond, tpot, ok)
	if got := itlPerToken(r); len(got) > 0 || r.ArrivalTokens != nil {
		t.Errorf("itl = %v, tokens %v, want none", got, r.ArrivalTokens)
	}
}

func TestConnectionAndRequestTimesAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newEngine(t, Options{Connections: 1}, func(e *engine) bool {
			time.Sleep(30 * time.Millisecond)
			e.begin("X-Request-Id: req-7")
			e.at(50*time.Millisecond, events(textChunk("a"), stopChunk))
			e.finish()
			return true
		})
		clock := since(time.Now())
		for i, reused := range []bool{false, true} {
			base := time.Duration(clock())
			r := c.Do(t.Context(), Request{Endpoint: Completions, Body: []byte("{}")}, clock, nil).Record
			wantStatus(t, r, StatusOK, "")
			if r.ConnectionReused == nil || *r.ConnectionReused != reused {
				t.Errorf("request %d: connection reused %v, want %t", i, r.ConnectionReused, reused)
			}
			if *r.DispatchNS != int64(base) || r.ServerRequestID != "req-7" || r.HTTPStatus != 200 {
				t.Errorf("dispatch %d, id %q, status %d", *r.DispatchNS, r.ServerRequestID, r.HTTPStatus)
			}
			wantTime(t, "written", r.WrittenNS, base)
			wantTime(t, "headers", r.HeadersNS, base+30*time.Millisecond)
			wantTime(t, "first token", r.FirstTokenNS, base+50*time.Millisecond)
		}
	})
}
