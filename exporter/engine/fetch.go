package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Limits of one answer. The longest pages of engines are well below a tenth of them.
const (
	maxBodyBytes   = 8 << 20
	maxHeaderBytes = 64 << 10
)

// ErrUnreachable is wrapped when no server listens at an endpoint: the connection was refused, the name does not
// resolve, or there was no connection when time was up. The program behind it is not running, which is a state of its
// own; a program that answers wrongly is in trouble.
var ErrUnreachable = errors.New("unreachable")

// ErrNotPage is wrapped by the error of Page when the content type of an answer is not that of a page.
var ErrNotPage = errors.New("no page of metrics")

// StatusError is wrapped when a server answers with another status than 200 that is no redirect.
type StatusError int

func (s StatusError) Error() string { return fmt.Sprintf("answered with status %d", int(s)) }

// Transport returns a connection pool for a Client on a live machine. It keeps a connection to each endpoint open
// between collections. It uses no proxy: endpoints are on this machine or near it, and an HTTP_PROXY meant for
// downloads would send their passwords elsewhere. It opens connections with dial, on the machine's network if that is nil.
func Transport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 2 * time.Second}).DialContext
	}
	return &http.Transport{
		DialContext:            dial,
		TLSHandshakeTimeout:    5 * time.Second,
		MaxIdleConnsPerHost:    1,
		MaxIdleConns:           20,
		IdleConnTimeout:        2 * time.Minute,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// LoopbackTransport returns a Transport for servers that were found, not named: it connects to loopback addresses only,
// whatever a URL says, and closes each connection after its answer.
func LoopbackTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 2 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().IsLoopback() {
			return fmt.Errorf("%s is no loopback address", address)
		}
		return nil
	}}
	transport := Transport(dialer.DialContext)
	transport.DisableKeepAlives = true
	return transport
}

// Client fetches from endpoints, and reads those of engines.
type Client struct {
	// HTTP makes the requests. It must respect their context and undo the compression that it has asked for, as
	// http.Transport does. Nil reaches no endpoint.
	HTTP http.RoundTripper
	// Engines are the engines that it can read.
	Engines spec.Engines
	// IterationStats asks an engine for the statistics that it hands to one reader only: with several readers all see gaps.
	IterationStats bool
}

// contentTypes of a page. An answer without one is a page if its text parses.
const (
	acceptPage = "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5"
	acceptJSON = "application/json"

	plainText   = "text/plain"
	openMetrics = "application/openmetrics-text"
)

// Page fetches and parses the metrics of an endpoint.
func (c Client) Page(ctx context.Context, e *Endpoint) (page spec.Page, err error) {
	defer func() { err = hide(err, e.secrets(ctx)) }()
	body, contentType, err := c.get(ctx, e, e.URL, acceptPage)
	if err != nil {
		return spec.Page{}, e.withFix(err)
	}
	switch contentType {
	case "", plainText:
		return parsePage(ctx, body, false)
	case openMetrics:
		return parsePage(ctx, body, true)
	}
	return spec.Page{}, fmt.Errorf("answered with %.60q: %w", contentType, ErrNotPage)
}

// JSON fetches another path of the endpoint's engine, such as /slots, and decodes it into what into
// points to, as encoding/json does.
func (c Client) JSON(ctx context.Context, e *Endpoint, path string, into any) (err error) {
	defer func() { err = hide(err, e.secrets(ctx)) }()
	at, err := e.at(path)
	if err != nil {
		return err
	}
	body, contentType, err := c.get(ctx, e, at, acceptJSON)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if contentType != acceptJSON && contentType != "" {
		return fmt.Errorf("%s: answered with %.60q, which is not JSON", path, contentType)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// get returns a whole answer of status 200, and its media type in lower case without parameters.
func (c Client) get(ctx context.Context, e *Endpoint, at *url.URL, accept string) ([]byte, string, error) {
	response, err := c.open(ctx, e, at, accept)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, contentType, err := readResponse(response)
	return redact(body, e.secrets(ctx)), contentType, err
}

// open sends a request and returns the answer with its body still to be read.
func (c Client) open(ctx context.Context, e *Endpoint, at *url.URL, accept string) (*http.Response, error) {
	if c.HTTP == nil {
		return nil, fmt.Errorf("%w: this host has no network", ErrUnreachable)
	}
	connected := new(atomic.Bool)
	request, err := http.NewRequestWithContext(traceConnection(ctx, connected), http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	request.Header.Set("User-Agent", "uma-exporter")
	if user := e.URL.User; user != nil {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	// Not an http.Client, which would follow redirects and put the URL into errors, with only the password masked.
	transport := c.HTTP
	if e.Access != nil {
		if transport, err = e.Access.over(c.HTTP); err != nil {
			return nil, err
		}
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, unreachable(ctx, err, connected.Load())
	}
	return response, nil
}

func readResponse(response *http.Response) ([]byte, string, error) {
	if response.StatusCode/100 == 3 {
		return nil, "", errors.New("redirects to another address, which is not followed")
	}
	if response.StatusCode != http.StatusOK {
		return nil, "", StatusError(response.StatusCode)
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, "", fmt.Errorf("answered in the encoding %.20q, which was not asked for", encoding)
	}
	contentType, err := mediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return nil, "", err
	}
	body, err := readBounded(response.Body, response.ContentLength)
	return body, contentType, err
}

func mediaType(header string) (string, error) {
	if strings.TrimSpace(header) == "" {
		return "", nil
	}
	name, _, err := mime.ParseMediaType(header)
	if err != nil {
		return "", fmt.Errorf("answered with the content type %.60q, which cannot be understood", header)
	}
	return name, nil
}

// readBounded reads a body of at most maxBodyBytes, counted after decompression. It reads at most one byte beyond that.
func readBounded(body io.Reader, announced int64) ([]byte, error) {
	if announced > maxBodyBytes {
		return nil, fmt.Errorf("answers with %d bytes, more than %d", announced, maxBodyBytes)
	}
	content, err := io.ReadAll(io.LimitReader(body, maxBodyBytes+1))
	if err != nil {
		return nil, fmt.Errorf("answer ended after %d bytes: %w", len(content), err)
	}
	if len(content) > maxBodyBytes {
		return nil, fmt.Errorf("answers with more than %d bytes", maxBodyBytes)
	}
	return content, nil
}

// traceConnection notes when there is a connection, TLS handshake aside.
func traceConnection(ctx context.Context, connected *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				connected.Store(true)
			}
		},
	})
}

// unreachable reports whether a request failed because no server listens.
func unreachable(ctx context.Context, err error, connected bool) error {
	switch {
	case errors.Is(err, ErrUnreachable):
		return err
	case isNobodyThere(err), ctx.Err() != nil && !connected:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case ctx.Err() != nil:
		return fmt.Errorf("has not answered in time: %w", err)
	}
	return err
}

// isNobodyThere separates a missing server from faults of this side, such as running out of descriptors, which must not
// pass for an engine that is not running.
func isNobodyThere(err error) bool {
	dial, ok := errors.AsType[*net.OpError](err)
	if !ok || dial.Op != "dial" {
		return false
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return name.IsNotFound || name.IsTimeout
	}
	return dial.Timeout() || slices.ContainsFunc(
		[]syscall.Errno{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN},
		func(code syscall.Errno) bool { return errors.Is(err, code) })
}
