package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"
)

const eventsPerStream = 100

// reader receives one whole answer and returns how many payload events it saw; bare readers cannot count them. The
// three below do more and more of the work of a measuring client.
type reader struct {
	name    string
	receive func(c *Client, clock Clock) error
}

func readers(bare http.RoundTripper) []reader {
	return []reader{
		{"bare", func(c *Client, clock Clock) error { return receiveBare(c, bare, clock) }},
		{"reading", receiveHot}, {"all", receiveAll},
	}
}

// receiveBare is the least that a client can do that times events: net/http, a stamp for each
// read, and the bytes kept.
func receiveBare(c *Client, bare http.RoundTripper, clock Clock) error {
	request, err := http.NewRequest(http.MethodPost, c.base+Chat.Route(), bytes.NewReader([]byte("{}")))
	if err != nil {
		return err
	}
	response, err := bare.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var stamps []int64
	kept, piece := make([]byte, 0, readBufferBytes), make([]byte, readBufferBytes/2)
	for {
		n, err := response.Body.Read(piece)
		stamps = append(stamps, clock())
		kept = append(kept, piece[:n]...)
		if err != nil {
			runtime.KeepAlive(stamps)
			runtime.KeepAlive(kept)
			return ignoreEOF(err)
		}
	}
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// receiveHot is Do without the decode at the end.
func receiveHot(c *Client, clock Clock) error {
	ctx, limits, stop := watch(context.Background(), time.Hour, time.Hour, time.Hour)
	defer stop()
	x := exchange{client: c, ctx: ctx, limits: limits, wire: &wire{clock: clock}, result: new(Result), onPayload: func() {}}
	response, err := x.send(Request{Endpoint: Chat, Body: []byte("{}")})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	r := c.takeReception()
	defer c.keepReception(r)
	x.read(response.Body, r)
	return r.broken
}

// receiveAll is what a run does: decode and record included.
func receiveAll(c *Client, clock Clock) error {
	result := c.Do(context.Background(), Request{Endpoint: Chat, Body: []byte("{}")}, clock, func() {})
	if result.Record.Status != StatusOK || len(result.Record.ArrivalsNS) != eventsPerStream {
		return &deadlineError{missed: "no answer: " + result.Record.Error}
	}
	return json.NewEncoder(io.Discard).Encode(result.Record)
}

// tape is a connection that plays the same answer for every write, one piece for each read. It
// takes the kernel and the server out of the measurement, and leaves the harshest ratio.
type tape struct {
	net.Conn
	pieces  [][]byte
	next    int
	written chan struct{}
	closed  chan struct{}
	once    sync.Once
}

func newTape(pieces [][]byte) *tape {
	return &tape{pieces: pieces, next: len(pieces), written: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (t *tape) Write(p []byte) (int, error) {
	t.written <- struct{}{}
	return len(p), nil
}

func (t *tape) Read(p []byte) (int, error) {
	if t.next == len(t.pieces) {
		select {
		case <-t.written:
			t.next = 0
		case <-t.closed:
			return 0, io.EOF
		}
	}
	t.next++
	return copy(p, t.pieces[t.next-1]), nil
}

func (t *tape) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// answerPieces are the network reads of one answer: headers, then one event each.
func answerPieces() [][]byte {
	pieces := [][]byte{[]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")}
	for range eventsPerStream {
		pieces = append(pieces, []byte(httpChunk(events(benchChunk))))
	}
	return append(pieces, []byte(httpChunk(events(stopChunk, usageChunk, done))+"0\r\n\r\n"))
}

// benchChunk is a chunk of 230 bytes, as vLLM writes it.
const benchChunk = `{"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk","created":1767225600,"model":"Qwen/Qwen2.5-7B-Instruct","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}`

// BenchmarkEventInMemory is the cost of one event without any kernel or server in it.
func BenchmarkEventInMemory(b *testing.B) {
	pieces := answerPieces()
	for i, name := range []string{"bare", "reading", "all"} {
		b.Run(name, func(b *testing.B) {
			c, err := New(Options{BaseURL: "http://tape.test", Connections: 1, Counts: knownCounts(), Dial: func(context.Context, string, string) (net.Conn, error) {
				return newTape(pieces), nil
			}})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			clock, reader := since(time.Now()), readers(c.transport)[i]
			b.ReportAllocs()
			for b.Loop() {
				if err := reader.receive(c, clock); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*eventsPerStream), "ns/event")
		})
	}
}

func TestHotPathAllocatesNothingPerEvent(t *testing.T) {
	data := []byte(benchChunk)
	if got := testing.AllocsPerRun(100, func() { classify(data) }); got != 0 {
		t.Errorf("classify: %v allocations", got)
	}
	k := chunk{extras: knownExtras(t)}
	k.decode(data)
	if got := testing.AllocsPerRun(100, func() { k.decode(data) }); got != 0 {
		t.Errorf("decode: %v allocations", got)
	}
	s := stream{buf: []byte(events(benchChunk)), events: make([]event, 0, 1)}
	if got := testing.AllocsPerRun(100, func() {
		s = stream{buf: s.buf, events: s.events[:0]}
		s.scan(1, 1)
	}); got != 0 || s.payloads != 1 {
		t.Errorf("scan: %v allocations, %d payloads", got, s.payloads)
	}
}
