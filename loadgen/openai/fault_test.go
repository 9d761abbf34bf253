package openai

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestHTTPErrorIsAStatusOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		reason string
	}{
		"5xx with JSON error":  {503, `{"error":{"message":"overloaded","code":503}}`, "HTTP 503: overloaded"},
		"older vLLM":           {400, `{"object":"error","message":"too long","code":400}`, "HTTP 400: too long"},
		"FastAPI":              {422, `{"detail":"field required"}`, "HTTP 422: field required"},
		"FastAPI list":         {422, `{"detail":[{"type":"missing","loc":["body","messages",0],"msg":"Field required"},{"msg":"no"}]}`, "HTTP 422: body: messages: 0: Field required; no"},
		"FastAPI, odd list":    {422, `{"detail":[7]}`, `HTTP 422: {"detail":[7]}`},
		"detail with an error": {404, `{"detail":{"error":{"message":"no such model"}}}`, "HTTP 404: no such model"},
		"JSON of another form": {500, `{"code":7}`, `HTTP 500: {"code":7}`},
		"text":                 {502, "bad\r\ngateway", "HTTP 502: bad gateway"},
		"nothing":              {404, "", "HTTP 404: Not Found"},
		"redirect":             {307, "see http://other/", "HTTP 307: redirects are not followed"},
		"not modified":         {304, "", "HTTP 304: redirects are not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := pieces(c.body)
			s.status, s.header = c.status, http.Header{"Location": {"http://other/"}, "X-Request-Id": {"r1"}}
			r := ask(t, s).Record
			wantStatus(t, r, StatusHTTP, c.reason)
			if r.HTTPStatus != c.status || r.HeadersNS == nil || r.EndNS == nil || r.ServerRequestID != "r1" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestHugeErrorBodyIsReadOnlyInPart(t *testing.T) {
	given := 0
	s := script{status: 500}
	for range 100 {
		s.reads = append(s.reads, read{data: strings.Repeat("x", 4096)})
	}
	body := &scriptBody{t.Context(), s.reads}
	c := newTestClient(t, Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 500, Body: countingBody{body, &given}}, nil
	})}, nil)
	r := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
	wantStatus(t, r, StatusHTTP, "HTTP 500: xxxx")
	if len(r.Error) > maxErrorLength || given > maxErrorBytes || r.EndNS != nil {
		t.Errorf("error of %d bytes, %d bytes read, end %v", len(r.Error), given, valueOf(r.EndNS))
	}
}

// roundTrip is a transport of one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type countingBody struct {
	io.ReadCloser
	given *int
}

func (b countingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	*b.given += n
	return n, err
}

func TestHostileTextIsCleanedInRecords(t *testing.T) {
	hostile := "\x1b[31mred\x1b[0m \x1b]0;title\x07<script>\r\n| a\tb \u202egnp\u0000"
	want := "red <script> | a b gnp"
	for name, s := range map[string]script{
		"in band": pieces("event: error\ndata: " + strings.ReplaceAll(hostile, "\r\n", " ") + "\n\n"),
		"HTTP":    {status: 500, reads: []read{{data: hostile}}},
	} {
		t.Run(name, func(t *testing.T) {
			if r := ask(t, s).Record; !strings.HasSuffix(r.Error, want) {
				t.Errorf("error %q, want it to end in %q", r.Error, want)
			}
		})
	}
	r := ask(t, withHeader(pieces(events(`{"id":"x","choices":[{"finish_reason":"\u001b[2Jstop"}]}`)), "X-Request-Id", "\x1b[2Jid"))
	if r.Record.FinishReason != "stop" || r.Record.ServerRequestID != "id" {
		t.Errorf("finish %q, id %q", r.Record.FinishReason, r.Record.ServerRequestID)
	}
}

func TestRefusedConnectionIsAStatusOfItsOwn(t *testing.T) {
	c, err := New(Options{BaseURL: "http://127.0.0.1:1/v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
	wantStatus(t, r, StatusConnect, "connection refused")
	if r.HeadersNS != nil || r.WrittenNS != nil || r.EndNS != nil || r.HTTPStatus != 0 {
		t.Errorf("%+v", r)
	}
}

func TestServerThatSwitchesProtocolsIsNotReadFrom(t *testing.T) {
	r := answerOf(t, Options{}, func(e *engine) bool {
		e.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		e.silence()
		return false
	}).Record
	wantStatus(t, r, StatusHTTP, "HTTP 101: protocols are not switched")
}

func TestErrorWithoutTextIsStillAnError(t *testing.T) {
	for _, stream := range []string{
		events(textChunk("a"), `{"error":{"message":""}}`, done),
		events(textChunk("a"), `{"error":{"message":"\u0007"}}`, done),
		events(textChunk("a"), `{"object":"error"}`, done),
		"event: error\ndata: \"\"\n\n" + events(done),
	} {
		wantStatus(t, ask(t, pieces(stream)).Record, StatusInBand, "no reason given")
	}
}

func TestErrorOfMegabytesIsCut(t *testing.T) {
	r := ask(t, pieces("event: error\ndata: "+strings.Repeat("\x1b[1mx", 1<<20)+"\n\n")).Record
	wantStatus(t, r, StatusInBand, "xxx")
	if len(r.Error) > maxErrorLength {
		t.Errorf("error of %d bytes", len(r.Error))
	}
}

func TestServerThatDiesBeforeHeaders(t *testing.T) {
	r := answerOf(t, Options{}, func(e *engine) bool {
		e.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
		return false
	}).Record
	wantStatus(t, r, StatusConnect, "EOF")
	if r.WrittenNS == nil {
		t.Error("the request was written")
	}
}

func TestServerThatDiesMidStream(t *testing.T) {
	result := answerOf(t, Options{}, func(e *engine) bool {
		e.begin()
		e.at(10*time.Millisecond, events(textChunk("a")))
		e.at(20*time.Millisecond, "data: {\"choices\":[{\"del")
		return false
	})
	wantStatus(t, result.Record, StatusTruncated, "connection lost: unexpected EOF")
	wantTime(t, "first token", result.Record.FirstTokenNS, 10*time.Millisecond)
	if result.Record.EndNS != nil || result.Output != "a" {
		t.Errorf("end %v, output %q", valueOf(result.Record.EndNS), result.Output)
	}
}

// The answer is complete once the server has marked its end; the later fate of the connection does not matter.
func TestServerThatDiesAfterTheEndOfItsAnswer(t *testing.T) {
	for name, last := range map[string]string{"finish_reason": stopChunk, "[DONE]": done} {
		t.Run(name, func(t *testing.T) {
			result := answerOf(t, Options{}, func(e *engine) bool {
				e.begin()
				e.at(10*time.Millisecond, events(textChunk("a"), last))
				return false
			})
			wantOK(t, result, "a")
			if result.Record.EndNS != nil {
				t.Error("the body did not end, it broke off")
			}
		})
	}
}

func TestStreamsWithoutEndAreCutOff(t *testing.T) {
	for name, c := range map[string]struct{ piece, reason string }{
		"one event": {"data: " + strings.Repeat("x", 1000), "event is longer than"},
		"one line":  {strings.Repeat("x", 1000), "event is longer than"},
		"many":      {events(textChunk(strings.Repeat("x", 1000))), "body is longer than"},
		"comments":  {":\n:\n", "body has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			given := 0
			endless := &endlessBody{c.piece, &given}
			client := newTestClient(t, Options{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Body: endless}, nil
			})}, nil)
			client.maxEvent, client.maxBody, client.maxEvents = 100_000, 1_000_000, 10_000
			r := client.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
			wantStatus(t, r, StatusTruncated, c.reason)
			if given > client.maxBody+10_000 {
				t.Errorf("read %d bytes", given)
			}
		})
	}
}

type endlessBody struct {
	piece string
	given *int
}

func (b *endlessBody) Close() error { return nil }

func (b *endlessBody) Read(p []byte) (int, error) {
	n := copy(p, b.piece)
	*b.given += n
	return n, nil
}

func TestNothingIsCompressed(t *testing.T) {
	var accepted string
	result := answerOf(t, Options{}, func(e *engine) bool {
		accepted = e.request.Header.Get("Accept-Encoding")
		e.begin("Content-Encoding: gzip")
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = io.WriteString(w, events(textChunk("a"), done))
		w.Close()
		e.at(0, packed.String())
		e.finish()
		return true
	})
	if accepted != "identity" {
		t.Errorf("asked for encoding %q", accepted)
	}
	wantStatus(t, result.Record, StatusTruncated, "content encoding gzip, which was not asked for")
}

func TestChunkedTrailersAreNoPartOfTheStream(t *testing.T) {
	served := 0
	synctest.Test(t, func(t *testing.T) {
		c := newEngine(t, Options{}, func(e *engine) bool {
			served++
			e.begin("Trailer: X-Took")
			e.at(10*time.Millisecond, events(textChunk("a"), done))
			e.write("0\r\nX-Took: 3\r\n\r\n")
			return true
		})
		for range 2 {
			r := c.Do(t.Context(), Request{Endpoint: Chat}, since(time.Now()), nil).Record
			wantStatus(t, r, StatusOK, "")
			wantTime(t, "end", r.EndNS, 10*time.Millisecond)
		}
	})
	if served != 2 {
		t.Errorf("%d requests served", served)
	}
}

func TestBodyThatEndsWithItsConnection(t *testing.T) {
	result := answerOf(t, Options{}, func(e *engine) bool {
		e.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + events(textChunk("a"), done))
		return false
	})
	wantOK(t, result, "a")
}

func TestRequestCarriesHeadersAndBody(t *testing.T) {
	for endpoint, path := range map[Endpoint]string{Chat: "/sub/v1/chat/completions", Completions: "/sub/v1/completions"} {
		var seen *engine
		synctest.Test(t, func(t *testing.T) {
			o := Options{BaseURL: "http://engine.test/sub/v1/", APIKey: "k", Header: http.Header{"x-session-id": {"s"}, "host": {"other.test"}, "User-Agent": {"mine"}}}
			c := newEngine(t, o, func(e *engine) bool {
				seen = e
				e.begin()
				e.at(0, events(stopChunk, done))
				e.finish()
				return true
			})
			wantStatus(t, c.Do(t.Context(), Request{Endpoint: endpoint, Body: []byte(`{"a":1}`)}, since(time.Now()), nil).Record, StatusOK, "")
		})
		h := seen.request.Header
		if seen.request.URL.Path != path || seen.request.Host != "other.test" || seen.request.Method != http.MethodPost || seen.body != `{"a":1}` {
			t.Errorf("%s %s to %s with %s", seen.request.Method, seen.request.URL, seen.request.Host, seen.body)
		}
		if h.Get("Authorization") != "Bearer k" || h.Get("X-Session-Id") != "s" || h.Get("User-Agent") != "mine" || h.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestReusedBuffersKeepNothingOfTheRequestBefore(t *testing.T) {
	c := newTestClient(t, Options{Transport: pieces(events(textChunk("long first answer"), usageChunk, done), events(textChunk("late")))}, nil)
	first := c.Do(t.Context(), Request{Endpoint: Chat, KeepOutput: true}, since(time.Now()), nil)
	c.transport = pieces(events(`{"choices":[{"delta":{"content":"b"}}]}`))
	second := c.Do(t.Context(), Request{Endpoint: Chat, KeepOutput: true}, since(time.Now()), nil)
	wantOK(t, first, "long first answer")
	wantStatus(t, second.Record, StatusTruncated, "neither")
	if r := second.Record; second.Output != "b" || r.TokensIn != nil || *r.TokensOut != 1 || r.FinishReason != "" || r.ServerRequestID != "" {
		t.Errorf("output %q, record %+v", second.Output, r)
	}
}

func TestPayloadCounterSeesEveryPayloadAsItArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var seen []time.Duration
		c := newEngine(t, Options{}, exampleWithTokenIDs())
		r := c.Do(t.Context(), Request{Endpoint: Chat}, since(start), func() { seen = append(seen, time.Since(start)) }).Record
		wantStatus(t, r, StatusOK, "")
		if len(seen) != 3 || seen[0] != 100*time.Millisecond || seen[2] != 200*time.Millisecond {
			t.Errorf("payload seen at %v", seen)
		}
	})
}
