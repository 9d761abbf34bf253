package openai

import (
	"fmt"
	"io"
	"net/http"
	"slices"
)

const (
	// minReadBytes is the least space that a read gets.
	minReadBytes = 4 << 10
	// maxKeptBytes is the largest buffer that outlives its request.
	maxKeptBytes = 1 << 20
)

// reception is an answer with status 2xx while it arrives. Its buffers serve many requests.
type reception struct {
	stream  stream
	answer  answer
	lastAt  int64 // arrival of the last read
	last    int   // its number
	late    []late
	broken  error // the error that ended the body early
	tooLong string
}

// receive reads an answer with status 2xx and writes it into the result.
func (x *exchange) receive(response *http.Response, request Request) {
	r := x.client.takeReception()
	defer x.client.keepReception(r)
	x.read(response.Body, r)
	record := &x.result.Record
	switch {
	case x.ended:
		record.EndNS = new(r.lastAt)
	case r.broken == nil && r.tooLong == "":
		record.EndNS = new(x.wire.clock())
	}
	r.answer.keepText = request.KeepText
	x.decode(r)
	r.answer.fill(record, request.MaxTokens)
	r.fillUnsure(record)
	x.result.Model, x.result.SystemFingerprint, x.result.ErrorCode = r.answer.model, r.answer.fingerprint, r.answer.code
	if request.KeepOutput {
		x.result.Output = string(r.answer.output)
	}
	x.result.Text = string(r.answer.text)
	x.end(x.verdict(r, response.Header))
}

// read is the hot path: read, stamp, find and classify events.
func (x *exchange) read(body io.ReadCloser, r *reception) {
	s := &r.stream
	for {
		s.buf = slices.Grow(s.buf, minReadBytes)
		n, err := body.Read(s.buf[len(s.buf):cap(s.buf)])
		if n > 0 {
			s.buf = s.buf[:len(s.buf)+n]
			r.lastAt, r.last = x.wire.lastRead()
			r.noteLate(late{r.last, x.wire.sinceNS.Load(), x.wire.waitedNS.Load()})
			x.scan(r)
		}
		r.tooLong = x.client.tooLong(s)
		if err == io.EOF || r.tooLong != "" {
			return
		}
		if err != nil {
			r.broken = err
			return
		}
		if s.done {
			x.leave(body, r)
			return
		}
	}
}

// scan finds the events that the last read has completed and restarts the deadlines.
func (x *exchange) scan(r *reception) {
	s := &r.stream
	payloads, done := s.payloads, s.done
	s.scan(r.lastAt, r.last)
	x.count(s.payloads - payloads)
	if s.payloads > payloads && !done {
		x.limits.payload()
	}
}

// count calls onPayload once per payload event.
func (x *exchange) count(payloads int) {
	for range payloads {
		if x.onPayload != nil {
			x.onPayload()
		}
	}
}

func (c *Client) tooLong(s *stream) string {
	switch {
	case s.unfinished() > c.maxEvent:
		return fmt.Sprintf("event is longer than %d bytes", c.maxEvent)
	case len(s.buf) > c.maxBody:
		return fmt.Sprintf("body is longer than %d bytes", c.maxBody)
	case len(s.events) > c.maxEvents:
		return fmt.Sprintf("body has more than %d events", c.maxEvents)
	}
	return ""
}

// decode decodes the answer. A body that is one JSON object is not a stream, whatever the request asked for and the
// headers declare: no line of a stream begins with a brace.
func (x *exchange) decode(r *reception) {
	body := trimSpace(r.stream.buf)
	if len(body) == 0 || body[0] != '{' {
		r.answer.addStream(&r.stream, r.lastAt, r.last)
		return
	}
	at := r.lastAt
	if end := x.result.Record.EndNS; end != nil {
		at = *end // a body counts as arrived when all of it has arrived
	}
	r.answer.addBody(body, at, r.last)
	x.count(len(r.answer.arrivals))
}

// verdict returns how a request with status 2xx ended. Status 200 alone is no success: the server must have reported no
// error in the stream and marked the end of its answer, with finish_reason or, if it never sends one, with [DONE] after
// some output. If it did, the later fate of the connection does not matter.
func (x *exchange) verdict(r *reception, header http.Header) (Status, string) {
	switch {
	case r.answer.failed:
		return StatusInBand, r.answer.failure
	case r.tooLong != "":
		return StatusTruncated, r.tooLong
	case r.answer.finish != "":
		x.client.reasons.Store(true)
		return StatusOK, ""
	case r.answer.done:
		return x.unreasoned(r)
	case r.broken != nil:
		return x.interrupted(StatusTruncated, fmt.Errorf("connection lost: %w", r.broken))
	}
	return StatusTruncated, r.missing(header)
}

// unreasoned returns how an answer ended that is marked as whole and has no finish_reason. Servers that give up an
// answer also end it like this; llama-cpp-python does so in favor of the next request.
func (x *exchange) unreasoned(r *reception) (Status, string) {
	switch {
	case len(r.answer.arrivals) == 0:
		return StatusTruncated, "[DONE] comes before any answer"
	case x.client.reasons.Load():
		return StatusTruncated, "answer ends without the finish_reason that this server gives otherwise"
	}
	return StatusOK, ""
}

// missing explains a body that ended properly and is not an answer, with the body's own text if it has some.
func (r *reception) missing(header http.Header) string {
	reason := "stream ended with neither finish_reason nor [DONE]"
	if encoding := header.Get("Content-Encoding"); encoding != "" {
		return reason + ": content encoding " + encoding + ", which was not asked for"
	}
	words := r.answer.words
	switch {
	case r.answer.loose != "":
		reason += ": " + r.answer.loose
	case r.answer.events == 0:
		reason += ": no event, content type " + header.Get("Content-Type")
	}
	if r.answer.events == 0 {
		words = string(r.stream.buf[:min(len(r.stream.buf), maxForeignText)])
	}
	if words = Printable(words, maxErrorLength); words != "" && len(r.answer.arrivals) == 0 {
		reason += ": " + words
	}
	return reason
}

func (c *Client) takeReception() *reception {
	if r, ok := c.receptions.Get().(*reception); ok {
		return r
	}
	r := new(reception)
	r.answer.chunk.extras = c.extras
	return r
}

func (c *Client) keepReception(r *reception) {
	if cap(r.stream.buf) > maxKeptBytes || cap(r.answer.output) > maxKeptBytes {
		return
	}
	r.stream = stream{buf: r.stream.buf[:0], events: r.stream.events[:0]}
	r.answer.reset()
	r.late, r.broken, r.tooLong = r.late[:0], nil, ""
	c.receptions.Put(r)
}
