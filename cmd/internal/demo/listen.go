package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
)

// addresses are where the pages of a simulation are asked for from the same machine.
type addresses struct{ exporter, engine, kvbm string }

// servers serve until they are closed.
type servers struct {
	allowHosts []string // by which pages may be asked for beside the loopback
	open       []*http.Server
	running    sync.WaitGroup
}

// listen opens an address that a flag names, and says at which it can be asked from here.
func listen(flag, address string) (listener net.Listener, at string, err error) {
	listener, err = net.Listen("tcp", address)
	if err != nil {
		return nil, "", refused(flag, address, err)
	}
	return listening(listener)
}

// listenHere opens a free port of the loopback.
func listenHere() (listener net.Listener, at string, err error) {
	listener, err = net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", fmt.Errorf("no port of the loopback can be had: %w", err)
	}
	return listening(listener)
}

// portsTried is how many ports after a default one are tried.
const portsTried = 100

// listenOrNext is listen for a default address, which gives way to the next free port.
func listenOrNext(flag, address string) (listener net.Listener, at string, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", refused(flag, address, err)
	}
	first, err := strconv.Atoi(text)
	if err != nil {
		return nil, "", refused(flag, address, err)
	}
	for port := first; port <= first+portsTried; port++ {
		if listener, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return listening(listener)
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, "", refused(flag, address, err)
}

// refused says at which flag an address could not be opened. The error names the address a second time.
func refused(flag, address string, err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		err = op.Err
	}
	if malformed := (*net.AddrError)(nil); errors.As(err, &malformed) {
		err = fmt.Errorf("%s: want HOST:PORT, such as 127.0.0.1:0 for any free port", malformed.Err)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: name another one, such as 127.0.0.1:0 for any free port", err)
	}
	return fmt.Errorf("--%s %s: %w", flag, address, err)
}

// listening says at which address a listener can be asked from here.
func listening(listener net.Listener) (net.Listener, string, error) {
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

// mostConnections is how many a server has open at once. Answers of an engine may take as long as they will.
const mostConnections = 1024

func (s *servers) serve(listener net.Listener, handler http.Handler) {
	server, limited := webserver.New(listener, handler, webserver.Settings{MostConnections: mostConnections, AllowHosts: s.allowHosts})
	s.open = append(s.open, server)
	s.running.Go(func() { _ = server.Serve(limited) }) // ends with ErrServerClosed
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
