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

// Request is what goes to the server.
type Request struct {
	Endpoint   Endpoint
	Body       []byte // JSON, as from the function Body
	KeepOutput bool   // return the output's text beside the record
	KeepText   bool   // return what of it is visible text too
}

// Result is what came back.
type Result struct {
	Record            Record
	Output            string // reasoning, text and tool fragments in order, if it was to be kept
	Text              string // the output without reasoning and tool fragments: what a conversation goes on with
	Model             string // the name that the server answers with
	SystemFingerprint string
	ErrorCode         string // of an error report: its code, or else its type, as the server puts it
}

// Do sends one request and reads the answer to its end. It fills the record from the dispatch on;
// who asked, when it was intended and what for is the caller's to add. Failures are results: the
// record has a status and the reason, and whatever was observed until then.
//
// onPayload, if not nil, is called for every event that carries payload as far as its bytes tell
// without decoding (a few more than there are, never fewer), as soon as it has arrived. The clock
// is read from several goroutines. No redirect is followed, and nothing is retried but what could not
// arrive: a request on a kept connection that the server closes at once, without a byte, or that cannot
// be written whole (Record.StaleConnections).
func (c *Client) Do(ctx context.Context, request Request, clock Clock, onPayload func()) Result {
	result := Result{Record: Record{DispatchNS: new(clock())}}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	ctx, limits, stop := watch(ctx, c.options.RequestTimeout, c.options.FirstTokenTimeout, c.options.ChunkTimeout)
	defer stop()
	x := exchange{client: c, ctx: ctx, limits: limits, wire: &wire{clock: clock, giveUp: giveUp, shortestWait: c.options.ShortestWait}, onPayload: onPayload, result: &result}
	x.run(request)
	if result.Record.EndNS == nil {
		result.Record.BrokenOffNS = new(clock())
	}
	x.wire.fill(&result.Record)
	result.redact(c.secrets, c.credentials)
	return result
}

// exchange is one request on its way.
type exchange struct {
	client    *Client
	ctx       context.Context
	limits    *deadline
	wire      *wire
	onPayload func() // may be nil
	result    *Result
}

func (x *exchange) run(request Request) {
	response, err := x.send(request)
	if err != nil {
		x.end(x.interrupted(StatusConnect, err))
		return
	}
	defer response.Body.Close()
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

// end writes how the request ended: the status, and the reason fit for a record.
func (x *exchange) end(status Status, reason string) {
	reason = Printable(Redact(reason, x.client.secrets), maxErrorLength)
	if reason == "" && status != StatusOK {
		reason = "no reason given"
	}
	x.result.Record.Status, x.result.Record.Error = status, reason
}

// send makes a round trip, and another one for each kept connection that took the request in part only.
func (x *exchange) send(request Request) (*http.Response, error) {
	for {
		response, err := x.roundTrip(request)
		if err == nil || x.ctx.Err() != nil || !x.wire.cutOff() {
			return response, err
		}
	}
}

// roundTrip makes one, below http.Client: that would follow redirects.
func (x *exchange) roundTrip(request Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(x.ctx, x.wire.trace())
	url := x.client.base + request.Endpoint.route()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(request.Body))
	if err != nil {
		return nil, err
	}
	r.Header = x.client.header.Clone()
	r.Host = x.client.host
	return x.client.transport.RoundTrip(r)
}

// interrupted is how a request ended that an error broke off: by a deadline of ours, by the
// caller, or else with the given status.
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

// refusal reads an answer with a status other than 2xx and says what it says.
func (x *exchange) refusal(response *http.Response) string {
	if response.StatusCode < 200 {
		// The connection is another protocol's now, and no deadline would end a read from it.
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
