package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
)

// Request is one request to the server.
type Request struct {
	Endpoint   Endpoint
	Body       []byte // JSON, as from the function Body
	MaxTokens  int    // the cap on output tokens in Body; 0 if it has none. Counts above it are not believed
	KeepOutput bool   // return the output's text with the record
	KeepText   bool   // also return the visible part of the output as text
}

// Result is the outcome of one request.
type Result struct {
	Record            Record
	Output            string // reasoning, text and tool fragments in order, if it is to be kept
	Text              string // the output without reasoning and tool fragments: a conversation continues with it
	Model             string // the model's name in the server's answer
	SystemFingerprint string
	ErrorCode         string // of an error report: the server's code, or else its type
}

// Do sends one request and reads the answer to its end, which is [DONE] if the server goes on sending after it. It
// fills the record from the dispatch on; the caller adds the session, the intended start and the phase. A failure is a
// result too: the record then has a status, the reason, and all that was observed until then.
//
// onPayload, if not nil, is called for every event that carries payload, as soon as it has arrived. The events are
// classified by their bytes without decoding, so the calls may be a few too many, never too few. The clock is read from
// several goroutines. Do follows no redirect. It retries only requests that cannot have arrived: a request on a kept
// connection that the server closes at once, without a byte, or that cannot be written whole (Record.StaleConnections).
func (c *Client) Do(ctx context.Context, request Request, clock Clock, onPayload func()) Result {
	at := clock()
	result := Result{Record: Record{DispatchNS: &at}}
	ctx, giveUp := context.WithCancelCause(ctx)
	ctx, limits, stop := watch(ctx, c.options.RequestTimeout, c.options.FirstTokenTimeout, c.options.ChunkTimeout)
	release := func() { stop(); giveUp(nil) }
	x := exchange{release: release, client: c, ctx: ctx, limits: limits, wire: newWire(clock, at, giveUp), onPayload: onPayload, result: &result}
	defer func() {
		if !x.left {
			release()
		}
	}()
	x.run(request)
	if result.Record.EndNS == nil {
		result.Record.BrokenOffNS = new(clock())
	}
	x.wire.fill(&result.Record)
	result.redact(c.secrets, c.credentials)
	return result
}

// exchange is one request in progress.
type exchange struct {
	client    *Client
	ctx       context.Context
	limits    *deadline
	wire      *wire
	onPayload func() // may be nil
	result    *Result
	// release frees what the request holds. It is not called by Do if left is true: a drain then does.
	release func()
	left    bool
	// ended is true if the server went on after [DONE]: the answer ended with that.
	ended bool
}

func (x *exchange) run(request Request) {
	response, err := x.send(request)
	if err != nil {
		x.end(x.interrupted(StatusConnect, err))
		return
	}
	defer func() {
		if !x.left {
			response.Body.Close()
		}
	}()
	x.wire.sawHeaders()
	record := &x.result.Record
	record.HTTPStatus = response.StatusCode
	record.ServerRequestID = Printable(response.Header.Get("X-Request-Id"), maxNameLength)
	if response.StatusCode/100 != 2 {
		x.end(StatusHTTP, x.refusal(response))
		return
	}
	x.receive(response, request)
}

// end writes how the request ended: the status, and the reason with secrets and control characters removed.
func (x *exchange) end(status Status, reason string) {
	reason = Printable(x.client.secrets.Text(reason), maxErrorLength)
	if reason == "" && status != StatusOK {
		reason = "no reason given"
	}
	x.result.Record.Status, x.result.Record.Error = status, reason
}

// send makes a round trip, and one more for each kept connection that took only part of the request.
func (x *exchange) send(request Request) (*http.Response, error) {
	for {
		response, err := x.roundTrip(request)
		// net/http may have an answer of the second connection before it sees that the request was given up.
		if lost, is := errors.AsType[*lostError](context.Cause(x.ctx)); is && err == nil {
			response.Body.Close()
			return nil, lost
		}
		if err == nil || x.ctx.Err() != nil || !x.wire.cutOff() {
			return response, err
		}
	}
}

// roundTrip makes one round trip. It bypasses http.Client, which would follow redirects.
func (x *exchange) roundTrip(request Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(x.ctx, x.wire.trace())
	url := x.client.base + request.Endpoint.Route()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	r.Header = x.client.header.Clone()
	r.Host = x.client.host
	return x.client.transport.RoundTrip(r)
}

// interrupted returns how a request ended that an error broke off: by a deadline of the client, by the caller, or else
// with the given status.
func (x *exchange) interrupted(otherwise Status, err error) (Status, string) {
	if x.ctx.Err() == nil {
		return otherwise, err.Error()
	}
	cause := context.Cause(x.ctx)
	if _, ours := errors.AsType[*deadlineError](cause); ours {
		return StatusTimeout, cause.Error()
	}
	if _, lost := errors.AsType[*lostError](cause); lost {
		return otherwise, cause.Error()
	}
	return StatusCancelled, cause.Error()
}

// refusal reads an answer with a status other than 2xx and returns its reason.
func (x *exchange) refusal(response *http.Response) string {
	if response.StatusCode < 200 {
		// The connection now carries another protocol, and no deadline would end a read from it.
		return fmt.Sprintf("HTTP %d: protocols are not switched", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes))
	if err == nil && len(body) < maxErrorBytes {
		x.result.Record.EndNS = new(x.wire.clock())
	}
	reason := errorText(body)
	x.result.ErrorCode = errorCode(body)
	switch {
	case response.StatusCode/100 == 3:
		reason = "redirects are not followed"
	case len(bytes.TrimSpace(body)) == 0:
		reason = http.StatusText(response.StatusCode)
	}
	return fmt.Sprintf("HTTP %d: %s", response.StatusCode, reason)
}
