package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Limits on what a server may send.
const (
	maxEventBytes = 16 << 20
	maxBodyBytes  = 256 << 20
	maxErrorBytes = 64 << 10
)

// MaxEvents is how many events an answer may have. An event may be as short as two bytes and takes twenty times as many
// in memory. It also bounds a record, which has one arrival per payload chunk; no engine sends half a million tokens in
// one answer.
const MaxEvents = 1 << 19

// Options are the settings of a Client. Only BaseURL is needed.
type Options struct {
	// BaseURL is the server's root, with or without /v1: http://127.0.0.1:8000.
	BaseURL string
	Header  http.Header // more request headers
	APIKey  string      // sent as bearer token; never part of a record or an error
	CAFile  string      // PEM certificates to trust in addition to the system's
	// Connections is how many idle connections are kept: the most requests in flight. It does not limit open
	// connections: the wait of a request inside the transport would not be recorded.
	Connections int
	// MostOpen is how many connections may be open at once; 0 is no limit. A request that would need one more ends as
	// StatusConnect. The limit leaves file descriptors of the process for writing the records.
	MostOpen int

	// Deadlines; 0 is none. All but ChunkTimeout count from the dispatch.
	RequestTimeout    time.Duration // to the end of the body
	FirstTokenTimeout time.Duration // to the first payload; without stream, to the end of the body
	ChunkTimeout      time.Duration // from one payload to the next, and from the last to the end of the body

	// Counts are the counts in answers in addition to OpenAI's, of the engines that are known.
	Counts []AnswerCount

	// Dial opens connections, as net.Dialer.DialContext does; nil is the machine's network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Transport replaces the client's own. Arrivals are then stamped at the read of the body, not at the network read.
	Transport http.RoundTripper
}

// Client sends requests to one server. It may be used by many goroutines.
type Client struct {
	base    string
	header  http.Header
	host    string    // replaces the base URL's in the request, if set
	secrets *Redactor // of texts that no record may repeat
	// credentials removes those of the secrets that no output at all may repeat.
	credentials *Redactor
	options     Options
	transport   http.RoundTripper
	receptions  sync.Pool // of *reception: without the pool their buffers would be most of the garbage
	// reasons is true once an answer of the server had a finish_reason: from then on, an answer without one was cut
	// short.
	reasons atomic.Bool
	stamps  stampsSeen
	drains  *drains

	extras            *extras
	maxEvent, maxBody int // bytes
	maxEvents         int
}

// New checks the options; the error names the wrong one. It does not connect.
func New(o Options) (*Client, error) {
	base, err := ParseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	if o.RequestTimeout < 0 || o.FirstTokenTimeout < 0 || o.ChunkTimeout < 0 {
		return nil, errors.New("negative timeout")
	}
	c := &Client{
		base: base.String(), options: o, transport: o.Transport,
		drains: newDrains(o), maxEvent: maxEventBytes, maxBody: maxBodyBytes, maxEvents: MaxEvents,
	}
	if err := c.setHeader(o); err != nil {
		return nil, err
	}
	if c.extras, err = extrasOf(o.Counts); err != nil {
		return nil, err
	}
	if c.transport == nil {
		if c.transport, err = newTransport(o, &c.stamps); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// ParseBase reads the address of a server and drops the endpoint's part: a trailing slash, /v1, and the endpoints' own
// paths.
func ParseBase(raw string) (*url.URL, error) {
	trimmed := strings.TrimSpace(raw)
	scheme, _, _ := strings.Cut(trimmed, "://")
	u, err := url.Parse(trimmed)
	switch {
	// This check comes first: people type host:port alone, which url.Parse cannot read.
	case !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https"):
		if shown := withoutSecrets(trimmed); !strings.Contains(trimmed, "/") && shown == trimmed {
			return nil, fmt.Errorf("URL %q does not begin with http:// or https://; did you mean http://%s?", shown, shown)
		}
		return nil, fmt.Errorf("URL %q does not begin with http:// or https://", withoutSecrets(raw))
	case err != nil:
		return nil, fmt.Errorf("URL %q cannot be read", withoutSecrets(raw)) // the cause repeats the text
	case u.User != nil:
		return nil, fmt.Errorf("URL %q holds credentials: give them as API key", withoutSecrets(raw))
	case u.Hostname() == "":
		return nil, fmt.Errorf("URL %q names no host", withoutSecrets(raw))
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("URL %q has a query or fragment", withoutSecrets(raw))
	}
	path := strings.TrimRight(u.EscapedPath(), "/") // a proxy may tell a%2Fb from a/b
	for _, endpoint := range []string{Chat.Route(), Completions.Route(), "/v1"} {
		if shorter, ok := strings.CutSuffix(path, endpoint); ok {
			path = shorter
			break
		}
	}
	path = strings.TrimRight(path, "/")
	plain, err := url.PathUnescape(path)
	if err != nil {
		return nil, fmt.Errorf("URL %q cannot be read", withoutSecrets(raw))
	}
	if strings.HasSuffix(plain, "/") { // escaped slashes at the end
		plain, path = strings.TrimRight(plain, "/"), ""
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: plain, RawPath: path}, nil
}

// withoutSecrets removes the parts of a URL in which people put secrets.
func withoutSecrets(raw string) string {
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		raw = raw[:i]
	}
	if i := strings.LastIndexByte(raw, '@'); i >= 0 {
		return "…" + raw[i:]
	}
	return raw
}

// StampsPackets reports whether the kernel stamps the packets of every connection: arrivals are exact, but for those
// that a record names as unsure.
func (c *Client) StampsPackets() bool { return c.stamps.kernel.Load() && !c.stamps.refuse.Load() }

// Close closes idle connections. Requests that are under way go on.
func (c *Client) Close() {
	if own, ok := c.transport.(*http.Transport); ok && c.options.Transport == nil {
		own.CloseIdleConnections()
	}
}
