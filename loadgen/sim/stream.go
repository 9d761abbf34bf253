package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// stream answers with server-sent events of perChunk tokens each. As with vLLM, nothing is sent
// before the first token: the event that opens a chat with its role comes right in front of it,
// and a request that the engine drops before then still gets a status of its own.
func stream(ctx context.Context, w http.ResponseWriter, s *sequence, reply reply, perChunk int) {
	out := newEventWriter(w)
	sent, total := 0, reply.said.tokens()
	for generated := 0; generated < total; {
		var err error
		if generated, err = s.wait(ctx, generated); err != nil {
			if errors.Is(err, errStopped) {
				out.fail(stopped())
			}
			return
		}
		for generated-sent >= perChunk || (generated == total && sent < total) {
			if sent == 0 {
				out.add(reply.opening())
			}
			next := min(sent+perChunk, total)
			out.add(reply.chunk(sent, next))
			sent = next
		}
		if !out.flush() {
			return
		}
	}
	out.add(reply.closing())
	out.done()
	out.flush()
}

// eventWriter writes the events of one stream. Events that are ready together leave in one write,
// as a client that reads slowly would see them anyway.
type eventWriter struct {
	w       http.ResponseWriter
	pending bytes.Buffer
	encoder *json.Encoder // into pending
	begun   bool
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	e := &eventWriter{w: w}
	e.encoder = json.NewEncoder(&e.pending)
	return e
}

// add takes one event, if there is one.
func (e *eventWriter) add(event response, ok bool) {
	if ok {
		e.write(event)
	}
}

func (e *eventWriter) write(event any) {
	e.pending.WriteString("data: ")
	// Encode ends with a line end, and cannot fail: events hold texts and numbers only.
	_ = e.encoder.Encode(event)
	e.pending.WriteByte('\n')
}

// done adds what ends every stream.
func (e *eventWriter) done() { e.pending.WriteString("data: [DONE]\n\n") }

// flush sends what is pending; false when the client cannot be reached.
func (e *eventWriter) flush() bool {
	if e.pending.Len() == 0 {
		return true
	}
	e.begin()
	_, err := e.w.Write(e.pending.Bytes())
	e.pending.Reset()
	return err == nil && http.NewResponseController(e.w).Flush() == nil
}

func (e *eventWriter) begin() {
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		e.w.Header().Set("Cache-Control", "no-cache")
	}
}

// fail ends the stream with an error: as the status while nothing is sent, after that as vLLM
// does, with the error object as an event in front of [DONE].
func (e *eventWriter) fail(p *problem) {
	if !e.begun {
		p.send(e.w)
		return
	}
	e.write(wrapped{p})
	e.done()
	e.flush()
}
