package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// delivery writes one answer to one client, with the request's fault.
type delivery struct {
	engine *Engine
	ctx    context.Context
	w      http.ResponseWriter
	to     endpoint
	s      *sequence
	fault  Fault
	out    *eventWriter
	reply  *reply // nil before the first token
	sent   int    // tokens
	fired  bool   // the fault has happened
}

func (e *Engine) newDelivery(ctx context.Context, w http.ResponseWriter, to endpoint, s *sequence, fault Fault) *delivery {
	return &delivery{engine: e, ctx: ctx, w: w, to: to, s: s, fault: fault, out: newEventWriter(w, e.vendor)}
}

func (d *delivery) run(streaming bool) {
	deliver := d.whole
	if streaming {
		deliver = d.stream
	}
	if errors.Is(deliver(), errCut) {
		panic(http.ErrAbortHandler) // breaks the connection; net/http handles this value
	}
}

// Why an answer ends, although the client is connected.
var (
	errEnded = errors.New("the answer ends here")
	errCut   = errors.New("the connection breaks")
)

// stream answers with server-sent events. As with vLLM, the stream begins with the first token: the event with a chat's
// role comes directly before it, and a request that the engine drops earlier still gets an error status.
func (d *delivery) stream() error {
	for generated := 0; d.reply == nil || generated < d.reply.answer.tokens(); {
		var err error
		if generated, err = d.s.wait(d.ctx, generated); err != nil {
			if errors.Is(err, errStopped) {
				d.out.fail(stopped())
			}
			return err
		}
		if d.reply == nil {
			d.reply = d.engine.newReply(d.to, d.s)
		}
		for ; d.sent < generated; d.sent++ {
			if err := d.event(d.sent); err != nil {
				return err
			}
		}
		if !d.out.flush() {
			return d.ctx.Err()
		}
	}
	if err := d.happen(); err != nil {
		return err
	}
	d.out.add(d.reply.closing())
	d.out.done()
	d.out.flush()
	return nil
}

// event adds the event of a token, after any fault that happens before it.
func (d *delivery) event(token int) error {
	if token == 0 {
		d.out.add(d.reply.opening())
	}
	if token >= d.fault.AfterTokens {
		if err := d.happen(); err != nil {
			return err
		}
	}
	d.out.add(d.reply.token(token))
	return nil
}

// happen simulates the fault in a stream, once. The error ends the answer.
func (d *delivery) happen() error {
	if d.fired {
		return nil
	}
	d.fired = true
	switch d.fault.Kind {
	case FaultErrorEvent:
		d.out.begin()
		d.out.fail(broken())
		return errEnded
	case FaultTruncate:
		d.out.flush()
		return errEnded
	case FaultCut:
		d.out.flush()
		return errCut
	case FaultStall:
		d.out.flush()
		return pause(d.ctx, d.fault.For)
	case FaultDropModel:
		d.engine.dropModel()
	}
	return nil
}

// whole answers without streaming, once the answer is complete.
func (d *delivery) whole() error {
	for seen := 0; d.reply == nil || seen < d.reply.answer.tokens(); {
		generated, err := d.s.wait(d.ctx, seen)
		if errors.Is(err, errStopped) {
			d.engine.refuse(d.w, stopped())
		}
		if err != nil {
			return err
		}
		if seen = generated; d.reply == nil {
			d.reply = d.engine.newReply(d.to, d.s)
		}
	}
	switch d.fault.Kind {
	case FaultErrorEvent:
		d.engine.refuse(d.w, broken())
		return nil
	case FaultTruncate, FaultCut:
		return errCut
	case FaultStall:
		if err := pause(d.ctx, d.fault.For); err != nil {
			return err
		}
	case FaultDropModel:
		d.engine.dropModel()
	}
	sendJSON(d.w, http.StatusOK, d.reply.whole())
	return nil
}

// pause waits, without end if d is 0; the error means that the client disconnected first.
func pause(ctx context.Context, d time.Duration) error {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// eventWriter writes the events of one stream. Events that are ready together leave in one write, as a slow reader
// would receive them anyway.
type eventWriter struct {
	w       http.ResponseWriter
	vendor  vendor
	pending bytes.Buffer
	encoder *json.Encoder // into pending
	begun   bool
}

func newEventWriter(w http.ResponseWriter, v vendor) *eventWriter {
	e := &eventWriter{w: w, vendor: v}
	e.encoder = json.NewEncoder(&e.pending)
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
}

// done adds the end of every stream.
func (e *eventWriter) done() { e.pending.WriteString("data: [DONE]\n\n") }

// flush sends the pending events; false if the client cannot be reached.
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

// fail ends the stream with an error: as the status before the first event, afterwards as vLLM does, with the error
// object as an event before [DONE].
func (e *eventWriter) fail(p *problem) {
	if !e.begun {
		sendJSON(e.w, p.status, e.vendor.written(p))
		return
	}
	e.write(e.vendor.written(p))
	e.done()
	e.flush()
}
