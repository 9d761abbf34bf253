// Package memnet is a network in memory: servers of this process are reached without a port of the machine. Its
// connections are those of net.Pipe, so that the clock of testing/synctest moves on while both ends wait.
package memnet

import (
	"context"
	"net"
	"sync"
	"syscall"
)

// Network has the servers that listen on it. The zero value has none.
type Network struct {
	// Outside dials the addresses at which no server of this process ever listened; nil refuses them.
	Outside func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	servers map[string]*listener // by address
}

// Listen is net.Listen. An address is any text, such as exporter.inside:80; no name is resolved.
func (n *Network) Listen(network, address string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.servers[address]; l != nil && !l.isClosed() {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: inMemory(address), Err: syscall.EADDRINUSE}
	}
	l := &listener{address: address, dialled: make(chan net.Conn), closed: make(chan struct{})}
	if n.servers == nil {
		n.servers = map[string]*listener{}
	}
	n.servers[address] = l
	return l, nil
}

// Dial is the DialContext of a net.Dialer.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	l := n.servers[address]
	n.mu.Unlock()
	refused := &net.OpError{Op: "dial", Net: network, Addr: inMemory(address), Err: syscall.ECONNREFUSED}
	switch {
	case l == nil && n.Outside != nil:
		return n.Outside(ctx, network, address)
	case l == nil:
		return nil, refused
	}
	ours, theirs := net.Pipe()
	select {
	case l.dialled <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener accepts the connections to an address.
type listener struct {
	address string
	dialled chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. The address is free again.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return inMemory(l.address) }

// inMemory is an address of the network.
type inMemory string

// Network implements net.Addr.
func (inMemory) Network() string { return "memory" }

// String implements net.Addr.
func (a inMemory) String() string { return string(a) }
