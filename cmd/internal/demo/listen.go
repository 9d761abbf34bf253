package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
)

// listener is an open address; at is the address at which this machine reaches it.
type listener struct {
	net.Listener
	at string
}

// servers serve until they are closed.
type servers struct {
	allowHosts []string // hosts besides the loopback that requests may name
	open       []*http.Server
	running    sync.WaitGroup
}

// listen opens the address of a flag. With next, which is for a default address, it takes the next free port if the
// port is taken.
func listen(flag, address string, next bool) (listener, error) {
	open, err := webserver.Listen(address, next)
	if err != nil {
		return listener{}, refused(flag, address, err)
	}
	return listening(open)
}

// listenHere opens a free port of the loopback.
func listenHere() (listener, error) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return listener{}, fmt.Errorf("no port of the loopback can be had: %w", err)
	}
	return listening(open)
}

// freeAddress returns an address of the loopback that a program can open in a moment. The port is below those that the
// kernel gives to connections.
func freeAddress() (string, error) {
	for range 100 {
		open, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(11_000+rand.IntN(20_000)))
		if err == nil {
			return open.Addr().String(), open.Close()
		}
	}
	return "", errors.New("no port of the loopback can be had")
}

// refused returns an error that names the flag whose address could not be opened. It leaves out the address that the
// error repeats.
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

// listening adds the address at which this machine reaches a listener.
func listening(open net.Listener) (listener, error) {
	host, port, err := net.SplitHostPort(open.Addr().String())
	if err != nil {
		open.Close()
		return listener{}, err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return listener{open, net.JoinHostPort(host, port)}, nil
}

// mostConnections is how many connections a server has open at once. Answers of an engine have no time limit.
const mostConnections = 1024

func (s *servers) serve(open net.Listener, handler http.Handler) {
	server, limited := webserver.New(open, handler, webserver.Settings{MostConnections: mostConnections, AllowHosts: s.allowHosts})
	s.open = append(s.open, server)
	s.running.Go(func() { _ = server.Serve(limited) }) // ends with ErrServerClosed
}

// close lets requests in flight finish, for a short time.
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
