package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxHeaderBytes = 1 << 20
	// readBufferBytes holds the largest usual event in one read; 4 KiB, the default of net/http, would not.
	readBufferBytes = 64 << 10
	dialTimeout     = 10 * time.Second
	// idleTimeout is shorter than the 5 s after which uvicorn, which serves most of the engines, closes an idle
	// connection: a request sent at that moment fails although neither side is at fault.
	idleTimeout = 3 * time.Second
)

// newTransport returns an HTTP/1.1 transport straight to the server, with one request at a time on a connection: under
// HTTP/2, streams would share one TCP connection, and one lost packet would delay all of them. It uses no proxy, since
// the proxy would be measured too.
func newTransport(o Options, seen *stampsSeen) (*http.Transport, error) {
	roots, err := certificates(o.CAFile)
	if err != nil {
		return nil, err
	}
	dial := o.Dial
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	open := &openings{most: o.MostOpen}
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if err := open.take(); err != nil {
				return nil, err
			}
			conn := &stampedConn{closed: sync.OnceFunc(open.give)}
			var err error
			if conn.Conn, err = dial(conn.opening.begin(ctx), network, address); err != nil {
				open.give()
				return nil, err
			}
			conn.opening.opened(conn.Conn)
			conn.packets = newPacketReader(conn.Conn, seen)
			return conn, nil
		},
		Protocols:              protocols,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    max(o.Connections, http.DefaultMaxIdleConnsPerHost),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ReadBufferSize:         readBufferBytes,
	}, nil
}

// openings counts the connections that are open or being opened.
type openings struct {
	most int // 0 is no limit
	now  atomic.Int64
}

// take claims a connection; the error means that the limit is reached.
func (o *openings) take() error {
	if o.now.Add(1) > int64(o.most) && o.most > 0 {
		o.give()
		return fmt.Errorf("%d connections are open, and the client may have no more", o.most)
	}
	return nil
}

// give returns a connection that was closed, or that failed to open.
func (o *openings) give() { o.now.Add(-1) }

// certificates adds the certificates of a PEM file to the system's. Without a file it returns nil, which means the
// system's alone.
func certificates(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("CA file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("CA file %q holds no PEM certificate", file)
	}
	return roots, nil
}
