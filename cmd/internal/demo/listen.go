package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// addresses are where the pages of a simulation are asked for from the same machine.
type addresses struct{ exporter, engine, kvbm string }

// servers serve until they are closed.
type servers struct {
	open    []*http.Server
	running sync.WaitGroup
}

// listen opens an address that a flag names, and says at which it can be asked from here.
func listen(flag, address string) (listener net.Listener, at string, err error) {
	listener, err = net.Listen("tcp", address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return nil, "", fmt.Errorf("--%s %s: %w", flag, address, err)
	}
	host, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		listener.Close()
		return nil, "", err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return listener, net.JoinHostPort(host, port), nil
}

// Bounds of what a client can cost.
const (
	headerTimeout = 5 * time.Second
	idleTimeout   = 2 * time.Minute
)

func (s *servers) serve(listener net.Listener, handler http.Handler) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10}
	s.open = append(s.open, server)
	s.running.Go(func() { _ = server.Serve(listener) }) // ends with ErrServerClosed
}

// close lets pages that are being made be finished, for a moment.
func (s *servers) close() {
	limited, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, server := range s.open {
		if server.Shutdown(limited) != nil {
			server.Close()
		}
	}
	s.running.Wait()
}
