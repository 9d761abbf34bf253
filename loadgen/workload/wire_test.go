package workload

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// scripted answers every request with a stream: each piece comes its time after the one before.
type scripted []struct {
	after time.Duration
	text  string
}

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"text/event-stream"}}
	return &http.Response{StatusCode: http.StatusOK, Header: header, Body: &scriptedBody{ctx: r.Context(), rest: s}, Request: r}, nil
}

type scriptedBody struct {
	ctx  context.Context
	rest scripted
	text bytes.Buffer
}

func (b *scriptedBody) Read(p []byte) (int, error) {
	for b.text.Len() == 0 {
		if len(b.rest) == 0 {
			return 0, io.EOF
		}
		select {
		case <-time.After(b.rest[0].after):
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
		b.text.WriteString(b.rest[0].text)
		b.rest = b.rest[1:]
	}
	return b.text.Read(p)
}

func (b *scriptedBody) Close() error { return nil }

// The whole path from the plan to the record with the real client, on a virtual clock: every
// time is exact.
func TestRequestsAreTimedExactlyFromIntentToLastToken(t *testing.T) {
	content := func(text string) string { return `data: {"choices":[{"delta":{"content":"` + text + `"}}]}` + "\n\n" }
	script := scripted{
		{90 * time.Millisecond, `data: {"choices":[{"delta":{"role":"assistant"}}]}` + "\n\n"},
		{10 * time.Millisecond, content("a")},
		{60 * time.Millisecond, content("b")},
		{40 * time.Millisecond, `data: {"choices":[{"delta":{"content":"c"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}` + "\n\n"},
		{2 * time.Millisecond, "data: [DONE]\n\n"},
	}
	synctest.Test(t, func(t *testing.T) {
		client, err := openai.New(openai.Options{
			BaseURL: "http://server.test", Transport: script, Connections: 1,
			RequestTimeout: time.Minute, FirstTokenTimeout: time.Minute, ChunkTimeout: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		b := newBench(1, nil)
		b.Send = through(client)
		_, records := b.run(t.Context(), t.Context(), open(traffic.Constant, 10, traffic.Limit{Requests: 3}))
		// One slot and 202 ms a request: sent at 0, 202, 404 instead of 0, 100, 200.
		expectTimes(t, "intended", records, intendedOf, 0, 100, 200)
		expectTimes(t, "dispatched", records, dispatchOf, 0, 202, 404)
		for i, r := range records {
			if r.Status != openai.StatusOK {
				t.Fatalf("request %d: %s %s", i, r.Status, r.Error)
			}
			waited := time.Duration(i) * 102 * time.Millisecond
			for what, c := range map[string]struct {
				of   func(openai.Origin) (time.Duration, bool)
				send time.Duration
			}{"TTFT": {r.TTFT, 100 * time.Millisecond}, "E2E": {r.E2E, 200 * time.Millisecond}} {
				send, _ := c.of(openai.FromSend)
				intended, _ := c.of(openai.FromIntended)
				if send != c.send || intended != c.send+waited {
					t.Errorf("request %d: %s %s from send, %s from intended; want %s and %s", i, what, send, intended, c.send, c.send+waited)
				}
			}
			if tpot, ok := r.TPOT(); !ok || tpot != 50*time.Millisecond {
				t.Errorf("request %d: time per token %s", i, tpot)
			}
		}
	})
}

func TestACancelledRequestIsNoConnectionError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := openai.New(openai.Options{BaseURL: "http://server.test", Transport: scripted{{time.Hour, "x"}}, Connections: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		b := newBench(2, nil)
		b.Send, b.Grace = through(client), 5*time.Second
		span, records := b.run(t.Context(), t.Context(), closed(traffic.Limit{Duration: 10 * time.Second}))
		if len(records) != 2 || records[0].Status != openai.StatusCancelled || span.EndNS != 15_000*ms {
			t.Errorf("%d records, %s, ended at %d ms", len(records), records[0].Status, span.EndNS/ms)
		}
	})
}

// through sends the requests of jobs by one client.
func through(client *openai.Client) func(context.Context, *Job, openai.Clock, func()) openai.Result {
	return func(ctx context.Context, j *Job, clock openai.Clock, onPayload func()) openai.Result {
		return client.Do(ctx, j.Request, clock, onPayload)
	}
}
