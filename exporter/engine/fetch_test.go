package engine

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
)

const page = "# HELP kvbm_matched_tokens tokens\n# TYPE kvbm_matched_tokens counter\nkvbm_matched_tokens 117248\n"

// serve starts a server on loopback and returns a client with an address of it.
func serve(t *testing.T, handler http.HandlerFunc) (Client, *Endpoint) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := Transport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	return Client{Engines: supported.Engines(), HTTP: transport}, address(t, server.URL)
}

func address(t *testing.T, raw string) *Endpoint {
	t.Helper()
	e, err := ParseEndpoint(raw)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// text answers with a body of a type.
func text(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
}

// refused checks an error of an endpoint that answered, but wrongly.
func refused(t *testing.T, err error, why string) {
	t.Helper()
	if err == nil || errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), why) {
		t.Errorf("error %v, want one that says %q", err, why)
	}
}

func TestPageIsFetchedFromTheURL(t *testing.T) {
	client, e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if r.URL.RequestURI() != "/engine/metrics?model=q" || user != "bob" || password != "hunter2" || !strings.Contains(r.Header.Get("Accept"), "text/plain") {
			http.Error(w, "wrong request", http.StatusBadRequest)
			return
		}
		text("text/plain; version=0.0.4", page)(w, r)
	})
	e = address(t, "http://bob:hunter2@"+e.URL.Host+"/engine/metrics?model=q")
	got, err := client.Page(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if value, known := only(got, "kvbm_matched_tokens"); !known || value != 117248 {
		t.Errorf("%v, %v", value, known)
	}
}

func TestCompressedPageIsRead(t *testing.T) {
	client, e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			http.Error(w, "no compression asked for", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Type", "text/plain")
		z := gzip.NewWriter(w)
		io.WriteString(z, page)
		z.Close()
	})
	if got, err := client.Page(t.Context(), e); err != nil || len(got.Families(prefixed("kvbm_"))) == 0 {
		t.Errorf("%v", err)
	}
}

func TestWrongAnswersAreRefused(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, page, code) }
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		why     string
	}{
		"garbage":          {text("text/plain", "\x00\x01garbage\xff{{{"), "no page of metrics"},
		"page in HTML":     {text("text/html", page), `"text/html"`},
		"protobuf":         {text("application/vnd.google.protobuf", page), "no page of metrics"},
		"unreadable type":  {text(";;", page), "content type"},
		"server error":     {status(http.StatusInternalServerError), "status 500"},
		"not found":        {status(http.StatusNotFound), "status 404"},
		"no content":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, "status 204"},
		"other encoding":   {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "br") }, `"br"`},
		"cut in a line":    {text("text/plain", page+"kvbm_offload_blocks_d2h 12"), "unexpected end"},
		"cut OpenMetrics":  {text("application/openmetrics-text", page), "# EOF"},
		"a million series": {text("text/plain", strings.Repeat("a 1\n", 1_000_000)), "more than 50000 series"},
		"long line":        {text("text/plain", `a{b="`+strings.Repeat("x", maxLineBytes)+"\"} 1\n"), "longer than"},
		"many labels":      {text("text/plain", "a{"+strings.Repeat(`b="",`, maxLabels+1)+"} 1\n"), "labels"},
		"many families":    {text("text/plain", manyTypes()), "families"},
	} {
		t.Run(name, func(t *testing.T) {
			client, e := serve(t, c.handler)
			_, err := client.Page(t.Context(), e)
			refused(t, err, c.why)
		})
	}
}

func manyTypes() string {
	var b strings.Builder
	for i := range maxTypes + 1 {
		fmt.Fprintf(&b, "# TYPE a%d gauge\n", i)
	}
	return b.String()
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var asked atomic.Int32
	client, e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	_, err := client.Page(t.Context(), e)
	refused(t, err, "redirects")
	if asked.Load() != 1 {
		t.Errorf("%d requests", asked.Load())
	}
}

// countingBody counts what is read of an endless body.
type countingBody struct{ read int64 }

func (b *countingBody) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = '#'
	}
	b.read += int64(len(into))
	return len(into), nil
}

func (b *countingBody) Close() error { return nil }

// answering is a transport that has the answer already.
type answering http.Response

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) { return (*http.Response)(a), nil }

func TestEndlessBodyIsReadUpToTheBound(t *testing.T) {
	body := &countingBody{}
	client := Client{Engines: supported.Engines(), HTTP: &answering{StatusCode: http.StatusOK, ContentLength: -1, Body: body}}
	_, err := client.Page(t.Context(), address(t, "http://h"))
	refused(t, err, "more than 8388608 bytes")
	if body.read > maxBodyBytes+1 {
		t.Errorf("%d bytes were read", body.read)
	}
}

func TestAnnouncedGigabyteIsNotRead(t *testing.T) {
	body := &countingBody{}
	client := Client{Engines: supported.Engines(), HTTP: &answering{StatusCode: http.StatusOK, ContentLength: 1 << 30, Body: body}}
	_, err := client.Page(t.Context(), address(t, "http://h"))
	refused(t, err, "1073741824 bytes")
	if body.read != 0 {
		t.Errorf("%d bytes were read", body.read)
	}
}

func TestCompressedGigabyteIsReadUpToTheBound(t *testing.T) {
	var bomb bytes.Buffer
	z, err := gzip.NewWriterLevel(&bomb, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(z, &countingBody{}, 1<<28); err != nil {
		t.Fatal(err)
	}
	z.Close()
	client, e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb.Bytes())
	})
	_, err = client.Page(t.Context(), e)
	refused(t, err, "more than 8388608 bytes")
}

func TestTruncatedBodyIsNoPage(t *testing.T) {
	client, e := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, page)
	})
	_, err := client.Page(t.Context(), e)
	refused(t, err, "unexpected EOF")
}

func TestRefusedConnectionIsUnreachable(t *testing.T) {
	_, err := Client{Engines: supported.Engines(), HTTP: Transport(nil)}.Page(t.Context(), address(t, "http://127.0.0.1:1"))
	if !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

// failing is a transport that fails.
type failing struct{ error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.error }

func TestWhatGoesWrongHereIsNoAbsenceThere(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), true},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), true},
		{dial(os.ErrDeadlineExceeded), true},
		{dial(&net.DNSError{Err: "no such host", IsNotFound: true}), true},
		{dial(&net.DNSError{Err: "server misbehaving", IsTemporary: true}), false},
		{dial(os.NewSyscallError("socket", syscall.EMFILE)), false},
		{&net.OpError{Op: "read", Err: syscall.ECONNREFUSED}, false},
		{errors.New("tls: handshake failure"), false},
	} {
		_, err := Client{Engines: supported.Engines(), HTTP: failing{c.err}}.Page(t.Context(), address(t, "http://h"))
		if errors.Is(err, ErrUnreachable) != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v: %v", c.err, err)
		}
	}
}

func TestHostWithoutNetworkReachesNothing(t *testing.T) {
	if _, err := (Client{Engines: supported.Engines()}).Page(t.Context(), address(t, "http://h")); !errors.Is(err, ErrUnreachable) {
		t.Errorf("%v", err)
	}
}

// inBubble serves one connection from memory, in virtual time, and returns how long a fetch with a
// deadline took, and its error.
func inBubble(t *testing.T, deadline time.Duration, dial func(context.Context) (net.Conn, error)) (time.Duration, error) {
	t.Helper()
	transport := Transport(nil)
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	began := time.Now()
	_, err := Client{Engines: supported.Engines(), HTTP: transport}.Page(ctx, address(t, "http://h"))
	return time.Since(began), err
}

// script answers a connection with lines, each after a pause, until the other side closes it.
func script(pause time.Duration, lines func(yield func(string) bool)) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		client, server := net.Pipe()
		go io.Copy(io.Discard, server)
		go func() {
			defer server.Close()
			for line := range lines {
				time.Sleep(pause)
				if _, err := io.WriteString(server, line); err != nil {
					return
				}
			}
		}()
		return client, nil
	}
}

func drops(first string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for next := first; yield(next); next = "#" {
		}
	}
}

func TestSlowEndpointsEndAtTheDeadline(t *testing.T) {
	for name, lines := range map[string]func(yield func(string) bool){
		"hang":              func(yield func(string) bool) { time.Sleep(time.Hour) },
		"a byte at a time":  drops("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"),
		"headers that drip": func(yield func(string) bool) { drops("HTTP/1.1 200 OK\r\nX: ")(yield) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, err := inBubble(t, 5*time.Second, script(time.Second, lines))
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnreachable) || took != 5*time.Second {
					t.Errorf("%v after %v", err, took)
				}
				time.Sleep(2 * time.Hour) // the server's goroutines end before the bubble does
			})
		})
	}
}

func TestConnectionThatIsNotMadeInTimeIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, err := inBubble(t, 5*time.Second, func(ctx context.Context) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if !errors.Is(err, ErrUnreachable) || took != 5*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestHeadersWithoutEndAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := inBubble(t, time.Hour, script(time.Millisecond, drops("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", maxHeaderBytes))))
		refused(t, err, "exceeded")
		time.Sleep(time.Hour)
	})
}

func TestJSONIsFetchedFromAnotherPathOfTheServer(t *testing.T) {
	client, e := serve(t, func(w http.ResponseWriter, r *http.Request) {
		text("application/json; charset=utf-8", fmt.Sprintf(`[{"path": %q, "query": %q}]`, r.URL.Path, r.URL.RawQuery))(w, r)
	})
	e = address(t, e.URL.String()+"?model=q")
	var got []struct{ Path, Query string }
	if err := client.JSON(t.Context(), e, "/slots", &got); err != nil || len(got) != 1 || got[0].Path != "/slots" || got[0].Query != "model=q" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWrongJSONIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		why     string
	}{
		"page":      {text("text/plain", page), "not JSON"},
		"cut":       {text("application/json", `[{"id": 1`), "unexpected end"},
		"two texts": {text("application/json", `[] []`), "after top-level value"},
		"deep":      {text("application/json", strings.Repeat("[", 1<<20)), "max depth"},
		"redirect":  {http.RedirectHandler("http://elsewhere", http.StatusFound).ServeHTTP, "redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			client, e := serve(t, c.handler)
			var into any
			refused(t, client.JSON(t.Context(), e, "/slots", &into), c.why)
		})
	}
}
