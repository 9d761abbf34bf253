package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// eventWriter writes the events of one stream. Events that are ready together leave in one write, as a slow reader
// would receive them anyway.
type eventWriter struct {
	w       http.ResponseWriter
	vendor  vendor
	pending bytes.Buffer
	encoder *json.Encoder // into pending
	events  int           // pending
	hold    int           // events are held back until there are so many
	begun   bool
}

// everything is more events than any stream has.
const everything = 1 << 40

func newEventWriter(w http.ResponseWriter, v vendor, fault Fault) *eventWriter {
	e := &eventWriter{w: w, vendor: v}
	e.encoder = json.NewEncoder(&e.pending)
	switch fault.Kind {
	case FaultJoin:
		if e.hold = fault.Size; e.hold == 0 {
			e.hold = joinedEvents
		}
	case FaultBuffer:
		e.hold = everything
	}
	return e
}

// add adds one event, if ok.
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
	e.events++
}

// done adds the end of every stream.
func (e *eventWriter) done() { e.pending.WriteString("data: [DONE]\n\n") }

// flush sends the pending events, unless they are held back; false if the client cannot be reached.
func (e *eventWriter) flush() bool {
	if e.pending.Len() == 0 || e.events < e.hold {
		return true
	}
	return e.last()
}

// last sends the pending events in any case.
func (e *eventWriter) last() bool {
	e.begin()
	_, err := e.w.Write(e.pending.Bytes())
	e.pending.Reset()
	e.events = 0
	return err == nil && http.NewResponseController(e.w).Flush() == nil
}

func (e *eventWriter) begin() {
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		e.w.Header().Set("Cache-Control", "no-cache")
	}
}

// fail ends the stream with an error: as the status before the first event, afterwards as vLLM does, with the error
// object as an event before [DONE].
func (e *eventWriter) fail(p *problem) {
	if !e.begun {
		sendJSON(e.w, p.status, e.vendor.written(p))
		return
	}
	e.write(e.vendor.written(p))
	e.done()
	e.last()
}

// dripping writes one byte at a time.
type dripping struct {
	http.ResponseWriter
	ctx   context.Context
	pause time.Duration // between two bytes
}

// Unwrap is the method that http.ResponseController calls.
func (d *dripping) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *dripping) Write(text []byte) (int, error) {
	control := http.NewResponseController(d.ResponseWriter)
	for i := range text {
		if _, err := d.ResponseWriter.Write(text[i : i+1]); err != nil {
			return i, err
		}
		if err := control.Flush(); err != nil {
			return i + 1, err
		}
		if d.pause > 0 {
			if err := pause(d.ctx, d.pause); err != nil {
				return i + 1, err
			}
		}
	}
	return len(text), nil
}

func padding(size int) string {
	if size == 0 {
		size = hugeBytes
	}
	return strings.Repeat("x", size)
}
