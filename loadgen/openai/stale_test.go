package openai

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// keptThen returns what becomes of a second request on a kept connection when the server does not answer
// it there but writes last and closes the connection; and how many requests the server has read.
func keptThen(t *testing.T, after time.Duration, last string) (second Record, requests int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newEngine(t, Options{Connections: 1}, func(e *engine) bool {
			if requests++; requests == 2 {
				time.Sleep(after)
				e.write(last)
				return false
			}
			e.begin("Keep-Alive: timeout=5, max=100")
			e.at(10*time.Millisecond, body(""))
			e.finish()
			return true
		})
		clock := since(time.Now())
		wantStatus(t, c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}")}, clock, nil).Record, StatusOK, "")
		synctest.Wait() // the connection is among the idle ones again
		second = c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}")}, clock, nil).Record
	})
	return second, requests
}

// llama.cpp's server promises to keep a connection and closes it after every stream. A request that is on
// its way by then meets a closed door: neither the server nor the request has failed.
func TestRequestThatMeetsAClosedKeptConnectionIsSentOnAnother(t *testing.T) {
	r, requests := keptThen(t, time.Millisecond, "")
	if r.Status != StatusOK {
		t.Fatalf("%s: %s", r.Status, r.Error)
	}
	if requests != 3 || r.StaleConnections != 1 || *r.ConnectionReused {
		t.Errorf("%d requests, %d stale connections, reused %v", requests, r.StaleConnections, *r.ConnectionReused)
	}
	if took := time.Duration(*r.FirstTokenNS - *r.DispatchNS); took != 11*time.Millisecond {
		t.Errorf("first token %s after the dispatch, want the lost millisecond and ten more", took)
	}
	if *r.WrittenNS-*r.DispatchNS != ms {
		t.Errorf("written %d ns after the dispatch: not on the connection that was answered on", *r.WrittenNS-*r.DispatchNS)
	}
}

func TestRequestThatGotAByteIsNotSentAgain(t *testing.T) {
	r, requests := keptThen(t, time.Millisecond, "HTTP/1.1 2")
	if requests != 2 || r.Status != StatusConnect || r.StaleConnections != 0 {
		t.Errorf("%d requests, status %s, %d stale connections", requests, r.Status, r.StaleConnections)
	}
}

// An engine that dies in the middle of a long prompt and is started again must not pass for one that answered.
func TestRequestWhoseServerGaveUpLaterIsLost(t *testing.T) {
	r, _ := keptThen(t, 30*time.Second, "")
	if r.Status != StatusConnect || !strings.Contains(r.Error, "30s after the request was written") {
		t.Errorf("status %s: %s", r.Status, r.Error)
	}
}

// fullConn is a kept connection whose peer has gone: from the second request on it takes the first bytes,
// as a socket's buffer does, and refuses the rest.
type fullConn struct {
	net.Conn
	requests int
	takes    int
}

func (c *fullConn) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("POST ")) {
		c.requests++
	}
	if c.requests < 2 {
		return c.Conn.Write(p)
	}
	if c.takes > 0 {
		n := min(len(p), c.takes)
		c.takes -= n
		return n, syscall.EPIPE
	}
	return 0, syscall.EPIPE
}

// A prompt that is longer than a socket's buffer is cut in the middle: the server has no whole request then.
func TestRequestThatAClosedKeptConnectionTookInPartIsSentOnAnother(t *testing.T) {
	for name, takes := range map[string]int{"nothing of it": 0, "its first bytes": 100} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opened, answered := 0, 0
				var serving sync.WaitGroup
				c := newTestClient(t, Options{Connections: 1}, func(context.Context, string, string) (net.Conn, error) {
					near, far := net.Pipe()
					serving.Go(func() {
						serveEngine(far, func(e *engine) bool {
							answered++
							e.begin("Keep-Alive: timeout=5, max=100")
							e.at(10*time.Millisecond, body(""))
							e.finish()
							return true
						})
					})
					if opened++; opened == 1 {
						return &fullConn{Conn: near, takes: takes}, nil
					}
					return near, nil
				})
				t.Cleanup(func() { c.Close(); serving.Wait() })
				clock := since(time.Now())
				request := Request{Endpoint: Chat, Body: []byte(`{"prompt":"` + strings.Repeat("a", 200<<10) + `"}`)}
				wantStatus(t, c.Do(t.Context(), request, clock, nil).Record, StatusOK, "")
				synctest.Wait()
				r := c.Do(t.Context(), request, clock, nil).Record
				if r.Status != StatusOK {
					t.Fatalf("%s: %s", r.Status, r.Error)
				}
				if opened != 2 || answered != 2 || r.StaleConnections != 1 || *r.ConnectionReused {
					t.Errorf("%d connections, %d answers, %d stale, reused %v", opened, answered, r.StaleConnections, *r.ConnectionReused)
				}
			})
		})
	}
}

// What a new connection does is the server's: a request is not sent twice for it.
func TestNewConnectionThatTakesTheRequestInPartIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		c := newTestClient(t, Options{}, func(context.Context, string, string) (net.Conn, error) {
			opened++
			near, far := net.Pipe()
			t.Cleanup(func() { far.Close() })
			return &fullConn{Conn: near, requests: 1, takes: 100}, nil
		})
		r := c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}")}, since(time.Now()), nil).Record
		if r.Status != StatusConnect || opened != 1 || r.StaleConnections != 0 {
			t.Errorf("status %s: %s; %d connections, %d stale", r.Status, r.Error, opened, r.StaleConnections)
		}
	})
}

func TestNoIdempotencyHeaderIsSent(t *testing.T) {
	sent := ""
	synctest.Test(t, func(t *testing.T) {
		c := newEngine(t, Options{}, func(e *engine) bool {
			var text strings.Builder
			_ = e.request.Header.Write(&text) // a builder takes all
			sent = text.String()
			e.begin()
			e.at(0, body(""))
			e.finish()
			return true
		})
		wantStatus(t, c.Do(t.Context(), Request{Endpoint: Chat, Body: []byte("{}")}, since(time.Now()), nil).Record, StatusOK, "")
	})
	if !strings.Contains(sent, "Content-Type") || strings.Contains(strings.ToLower(sent), "idempotency") {
		t.Errorf("headers sent:\n%s", sent)
	}
}
