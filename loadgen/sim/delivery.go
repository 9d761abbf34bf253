package sim

import (
	"context"
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
	cut    cutter
	reply  *reply // nil before the first token
	sent   int    // tokens
	fired  bool   // the fault has happened
}

func (e *Engine) newDelivery(ctx context.Context, w http.ResponseWriter, to endpoint, s *sequence, fault Fault) *delivery {
	if fault.Kind == FaultDrip {
		w = &dripping{ResponseWriter: w, ctx: ctx, pause: fault.For}
	}
	return &delivery{
		engine: e, ctx: ctx, w: w, to: to, s: s, fault: fault,
		out: newEventWriter(w, e.vendor, fault), cut: newCutter(e.config.Answer, e.config.Seed, s.number),
	}
}

func (d *delivery) run(streaming bool) {
	deliver := d.whole
	if streaming {
		deliver = d.stream
	}
	if errors.Is(deliver(), errCrash) {
		panic(http.ErrAbortHandler) // breaks the connection; net/http handles this value
	}
}

// errEnded means that the fault has ended the answer, although the client is connected.
var errEnded = errors.New("the answer ends here")

// stream answers with server-sent events. As with vLLM, the stream begins with the first token: the event with a chat's
// role comes directly before it, and a request that the engine drops earlier still gets an error status.
func (d *delivery) stream() error {
	size := d.cut.next()
	for generated := 0; d.reply == nil || generated < d.reply.said.tokens(); {
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
		total := d.reply.said.tokens()
		for generated-d.sent >= size || (generated == total && d.sent < total) {
			if err := d.event(min(d.sent+size, total)); err != nil {
				return err
			}
			size = d.cut.next()
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
	d.out.last()
	return nil
}

// event adds the event of the tokens up to next, after any fault that happens before it.
func (d *delivery) event(next int) error {
	if d.sent == 0 {
		d.out.add(d.reply.opening())
	}
	if d.sent >= d.fault.AfterTokens {
		if err := d.happen(); err != nil {
			return err
		}
	}
	chunk, ok := d.reply.chunk(d.sent, next)
	if d.fault.Kind == FaultHuge && d.fired {
		chunk.Padding, d.fault.Kind = padding(d.fault.Size), ""
	}
	d.out.add(chunk, ok)
	d.sent = next
	return nil
}

// happen simulates the fault, once. The error ends the answer.
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
		d.out.last()
		return errEnded
	case FaultCut:
		d.out.last()
		return errCrash
	case FaultCrash:
		d.out.last()
		d.engine.Crash()
		return errCrash
	case FaultStall:
		d.out.last()
		return pause(d.ctx, d.fault.For)
	case FaultResetCounters:
		d.engine.ResetCounters()
	case FaultDropModel:
		d.engine.dropModel()
	}
	return nil
}

// whole answers without streaming, once the answer is complete.
func (d *delivery) whole() error {
	for seen := 0; d.reply == nil || seen < d.reply.said.tokens(); {
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
	answer := d.reply.whole()
	switch d.fault.Kind {
	case FaultErrorEvent:
		d.engine.refuse(d.w, broken())
		return nil
	case FaultTruncate, FaultCut:
		return errCrash
	case FaultCrash:
		d.engine.Crash()
		return errCrash
	case FaultStall:
		if err := pause(d.ctx, d.fault.For); err != nil {
			return err
		}
	case FaultHuge:
		answer.Padding = padding(d.fault.Size)
	case FaultResetCounters:
		d.engine.ResetCounters()
	case FaultDropModel:
		d.engine.dropModel()
	}
	sendJSON(d.w, http.StatusOK, answer)
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
