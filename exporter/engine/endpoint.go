package engine

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// defaultPath is the path of metrics for a URL without path.
const defaultPath = spec.DefaultPath

// Endpoint is an address that answers with metrics.
type Endpoint struct {
	// URL is the whole address. It may contain a password: use it for requests, never for output.
	URL *url.URL
	// Source names the endpoint in messages and labels: host:port/path, without user and query.
	Source string
	// Access is how the page is asked for, nil for one that anybody may read.
	Access *Access

	page string // path of its page below the prefix of its server, /metrics if ""
}

var errNotURL = errors.New("must be a URL such as http://127.0.0.1:6880/metrics")

// ParseEndpoint parses an address such as http://127.0.0.1:6880. Its path is /metrics where the URL has none. User and
// password are sent as basic authentication; query parameters are sent too. Errors do not repeat the text, part of which
// may be a password.
func ParseEndpoint(raw string) (*Endpoint, error) {
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Hostname() == "" {
		return nil, errNotURL
	}
	if parsed.Scheme != "http" && parsed.Scheme != "https" {
		return nil, errors.New("must begin with http:// or https://")
	}
	port, err := portOf(parsed)
	if err != nil {
		return nil, err
	}
	if parsed.Path == "" || parsed.Path == "/" {
		parsed.Path, parsed.RawPath = defaultPath, ""
	}
	parsed.Fragment, parsed.RawFragment = "", ""
	parsed.Host = net.JoinHostPort(strings.ToLower(parsed.Hostname()), port)
	return &Endpoint{URL: parsed, Source: parsed.Host + parsed.EscapedPath()}, nil
}

func portOf(parsed *url.URL) (string, error) {
	port := parsed.Port()
	switch {
	case port == "" && parsed.Scheme == "https":
		return "443", nil
	case port == "":
		return "80", nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return "", errors.New("must have a port from 1 to 65535")
	}
	return strconv.FormatUint(number, 10), nil
}

// errPrefix is the error of a question to an engine whose page has a path of its own. Its other paths cannot be worked
// out, and another server may answer at the root.
var errPrefix = fmt.Errorf("the path of its page does not end in %s, so that the engine's other paths are not known", defaultPath)

// of returns the endpoint as the page of an engine: the path of the page follows from the engine, and what is before it
// is the prefix under which a proxy serves the engine.
func (e *Endpoint) of(engine spec.Engine) *Endpoint {
	own := *e
	own.page = defaultPath
	if page := engine.PagePath(); page != "" && strings.HasSuffix(strings.TrimRight(e.URL.Path, "/"), page) {
		own.page = page
	}
	return &own
}

// With is the endpoint of another path of the same engine, below the prefix of its page.
func (e *Endpoint) With(path string) (*Endpoint, error) {
	there, err := e.at(path)
	if err != nil {
		return nil, err
	}
	other := *e
	other.URL, other.Source, other.page = there, there.Host+there.EscapedPath(), path
	return &other, nil
}

// at returns the address of another path of the same engine, with the prefix of its page and the same query: a router
// such as that of llama.cpp needs the model in every request.
func (e *Endpoint) at(path string) (*url.URL, error) {
	prefix, err := e.prefix()
	if err != nil {
		return nil, err
	}
	there := *e.URL
	there.RawPath = prefix + path
	if there.Path, err = url.PathUnescape(there.RawPath); err != nil {
		return nil, errPrefix
	}
	return &there, nil
}

// prefix is the escaped path before the path of the page: /upstream/qwen of /upstream/qwen/metrics.
func (e *Endpoint) prefix() (string, error) {
	path := strings.TrimRight(e.URL.EscapedPath(), "/")
	if path == "" {
		return "", nil
	}
	prefix, is := strings.CutSuffix(path, cmp.Or(e.page, defaultPath))
	if !is {
		return "", errPrefix
	}
	return prefix, nil
}

// draining reports whether the path is the one on which an engine hands out its statistics.
func (e *Endpoint) draining(engine spec.Engine) bool {
	path := strings.TrimRight(e.URL.Path, "/")
	return engine.Metrics.Draining != nil && strings.HasSuffix(path, engine.Metrics.Draining.Path) && !strings.HasSuffix(path, engine.PagePath())
}
