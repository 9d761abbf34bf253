package engine

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// defaultPath is the path of metrics for a URL without path.
const defaultPath = "/metrics"

// Endpoint is an address that answers with metrics.
type Endpoint struct {
	// URL is the whole address. It may contain a password: use it for requests, never for output.
	URL *url.URL
	// Source names the endpoint in messages and labels: host:port/path, without user and query.
	Source string
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

// With is the endpoint of another path of the same server.
func (e *Endpoint) With(path string) *Endpoint {
	there := e.at(path)
	return &Endpoint{URL: there, Source: there.Host + there.EscapedPath()}
}

// at returns the address of another path of the same server, with the same query: a router such as that of llama.cpp
// needs the model in every request.
func (e *Endpoint) at(path string) *url.URL {
	there := *e.URL
	there.Path, there.RawPath = path, ""
	return &there
}
