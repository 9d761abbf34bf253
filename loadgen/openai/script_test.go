package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// since returns a clock that starts now; under synctest it is exact.
func since(start time.Time) Clock { return func() int64 { return int64(time.Since(start)) } }

func newTestClient(t *testing.T, o Options, dial func(context.Context, string, string) (net.Conn, error)) *Client {
	t.Helper()
	if o.BaseURL == "" {
		o.BaseURL = "http://engine.test"
	}
	o.Dial, o.Counts = dial, knownCounts()
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// engine is a server that writes exact bytes at exact times to the client's own transport, over a
// connection in memory. It lives in one synctest bubble.
type engine struct {
	conn    net.Conn
	request *http.Request
	body    string
	start   time.Time
}

// newEngine returns a client whose every connection is served by answer, request after request,
// until that returns false.
func newEngine(t *testing.T, o Options, answer func(*engine) (again bool)) *Client {
	t.Helper()
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait) // after the client is closed: the virtual clock stops with the test
	return newTestClient(t, o, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		serving.Go(func() { serveEngine(far, answer) })
		return near, nil
	})
}

func serveEngine(conn net.Conn, answer func(*engine) bool) {
	defer conn.Close()
	for reader := bufio.NewReader(conn); ; {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		if !answer(&engine{conn, request, string(body), time.Now()}) {
			return
		}
	}
}

// write sends bytes as they are, in one write. A client that has gone is no fault of the engine.
func (e *engine) write(text string) { _, _ = io.WriteString(e.conn, text) }

// begin sends the headers of an event stream.
func (e *engine) begin(header ...string) {
	header = append([]string{"HTTP/1.1 200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked"}, header...)
	e.write(strings.Join(header, "\r\n") + "\r\n\r\n")
}

// at sends a piece of the body as one HTTP chunk, so long after the request came.
func (e *engine) at(after time.Duration, piece string) {
	time.Sleep(time.Until(e.start.Add(after)))
	e.write(httpChunk(piece))
}

func httpChunk(piece string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece) }

// silence sends nothing more, until the client has gone.
func (e *engine) silence() { _, _ = io.Copy(io.Discard, e.conn) }

// finish ends the body.
func (e *engine) finish() { e.write("0\r\n\r\n") }

// read is one piece of a scripted body.
type read struct {
	after time.Duration // waited for first
	data  string
	err   error
}

// script is a transport that answers every request with the same reads, one per Read call.
type script struct {
	status int // 0: 200
	header http.Header
	reads  []read
}

func (s script) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	status := s.status
	if status == 0 {
		status = http.StatusOK
	}
	header := s.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: header, Body: &scriptBody{r.Context(), s.reads}}, nil
}

type scriptBody struct {
	ctx   context.Context
	reads []read
}

func (b *scriptBody) Close() error { return nil }

func (b *scriptBody) Read(p []byte) (int, error) {
	if len(b.reads) == 0 {
		return 0, io.EOF
	}
	next := &b.reads[0]
	select {
	case <-b.ctx.Done():
		return 0, context.Cause(b.ctx)
	case <-time.After(next.after):
		next.after = 0
	}
	n := copy(p, next.data)
	if next.data = next.data[n:]; next.data != "" {
		return n, nil
	}
	err := next.err
	b.reads = b.reads[1:]
	return n, err
}

// pieces is a script of reads without delay.
func pieces(data ...string) script {
	var s script
	for _, piece := range data {
		s.reads = append(s.reads, read{data: piece})
	}
	return s
}

// ask sends one chat request to a script and returns the result with output.
func ask(t *testing.T, s script) Result {
	t.Helper()
	c := newTestClient(t, Options{Transport: s}, nil)
	return c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}"), KeepOutput: true}, since(time.Now()), nil)
}

// events writes one data event per text.
func events(data ...string) string {
	var out strings.Builder
	for _, text := range data {
		out.WriteString("data: " + text + "\n\n")
	}
	return out.String()
}

// The chunks of a chat stream, as vLLM writes them.
const (
	roleChunk  = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`
	stopChunk  = `{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`
	usageChunk = `{"id":"chatcmpl-1","choices":[],"usage":{"prompt_tokens":9,"total_tokens":15,"completion_tokens":6,"prompt_tokens_details":{"cached_tokens":4}}}`
	done       = "[DONE]"
)

// textChunk is a content delta.
func textChunk(text string) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}],"usage":null}`, text)
}

// deltaChunk is a chunk with any delta.
func deltaChunk(delta string) string {
	return `{"id":"chatcmpl-1","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

// wantOK checks a good ending and the output, and that the record holds together.
func wantOK(t *testing.T, result Result, output string) {
	t.Helper()
	wantStatus(t, result.Record, StatusOK, "")
	if result.Output != output {
		t.Errorf("output %q, want %q", result.Output, output)
	}
}

func wantStatus(t *testing.T, r Record, status Status, reason string) {
	t.Helper()
	if r.Status != status || !strings.Contains(r.Error, reason) || reason == "" && r.Error != "" {
		t.Errorf("status %s, error %q, want %s and an error with %q", r.Status, r.Error, status, reason)
	}
	if err := inconsistency(r); err != nil {
		t.Error(err)
	}
}

// inconsistency returns a contradiction that no record may have; empty if there is none.
func inconsistency(r Record) error {
	n := len(r.ArrivalsNS)
	switch {
	case len(r.ReadIDs) != n || len(r.ArrivalKinds) != n:
		return fmt.Errorf("%d arrivals, %d read ids, %d kinds", n, len(r.ReadIDs), len(r.ArrivalKinds))
	case len(r.ArrivalTokens) != 0 && len(r.ArrivalTokens) != n:
		return fmt.Errorf("%d arrivals, %d with tokens", n, len(r.ArrivalTokens))
	case (n > 0) != (r.FirstTokenNS != nil) || n > 0 && *r.FirstTokenNS != r.ArrivalsNS[0]:
		return errors.New("the first token is not the first arrival")
	case (r.FirstEventNS == nil) != (r.FirstEventType == ""):
		return errors.New("first event without type or the other way round")
	case (r.TokensOut == nil) != (r.TokensSource == ""):
		return errors.New("tokens without source or the other way round")
	case (r.Status == StatusOK) != (r.Error == ""):
		return fmt.Errorf("status %s with error %q", r.Status, r.Error)
	}
	return inconsistentTimes(r)
}

func inconsistentTimes(r Record) error {
	last := *r.DispatchNS
	for _, at := range []*int64{r.HeadersNS, r.FirstEventNS, r.FirstTokenNS} {
		if at != nil && *at < last {
			return fmt.Errorf("events are out of order: %+v", r)
		}
		if at != nil {
			last = *at
		}
	}
	for i, gap := range r.ArrivalsNS {
		if i > 0 && (gap < 0 || r.ReadIDs[i] < r.ReadIDs[i-1] || r.sharesRead(i) && gap != 0) {
			return fmt.Errorf("arrival %d is %d ns after the one before it, reads %v", i, gap, r.ReadIDs)
		}
	}
	if e2e, ok := r.E2E(FromSend); ok && r.EndNS != nil && int64(e2e) > *r.EndNS-*r.DispatchNS {
		return errors.New("the body ended before its last payload")
	}
	return nil
}
