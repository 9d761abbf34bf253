// Package webserver is the HTTP server of every page that the programs serve. It limits the resources of a reader,
// keeps room for the next reader, and rejects requests by a foreign host name.
package webserver

import (
	"net"
	"net/http"
	"time"
)

// Limits of the resources of a reader.
const (
	headerTimeout  = 5 * time.Second  // to the end of the headers, of a new connection from its beginning
	bodyTimeout    = 10 * time.Second // to the end of the body, which no page reads
	idleTimeout    = 2 * time.Minute  // without a request; Prometheus' interval is shorter
	maxHeaderBytes = 64 << 10
)

// Settings are those of a server.
type Settings struct {
	// MostConnections is how many connections are open at once. 0 is no limit.
	MostConnections int
	// WriteTimeout is how long an answer may take, with what it takes to make it. 0 is no limit.
	WriteTimeout time.Duration
	// AllowHosts are the host names that requests may use, in lower case. See checkHost.
	AllowHosts []string
}

// New returns a server of the pages of handler, and the listener that it has to serve on in place of the given one.
func New(listener net.Listener, handler http.Handler, s Settings) (*http.Server, net.Listener) {
	server := newServer(listener.Addr(), handler, s)
	if s.MostConnections == 0 {
		return server, listener
	}
	server.Handler = busyWhile(server.Handler)
	server.ConnContext = withConnection
	return server, limit(listener, s.MostConnections)
}

// NewUnlimited is New for a server that opens its listener itself: connections are not limited, and host names are checked
// only if some are named.
func NewUnlimited(handler http.Handler, s Settings) *http.Server { return newServer(nil, handler, s) }

// newServer returns a server on an address, nil if the address is unknown.
func newServer(address net.Addr, handler http.Handler, s Settings) *http.Server {
	return &http.Server{
		Handler: checkHost(address, s.AllowHosts, handler), MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: s.WriteTimeout, IdleTimeout: idleTimeout,
	}
}
