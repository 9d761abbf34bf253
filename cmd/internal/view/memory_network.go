package view

import (
	"context"
	"net"
	"sync"
)

// inside is a network of servers in this process, so that the scraper reads their pages without a port of the machine.
// Other addresses are dialled on the machine's network.
type inside struct {
	mu      sync.Mutex
	servers map[string]*pipeListener // by host:port
}

// listen opens an address of this process, such as exporter.inside:80.
func (n *inside) listen(address string) net.Listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &pipeListener{address: address, dialled: make(chan net.Conn), closed: make(chan struct{})}
	if n.servers == nil {
		n.servers = map[string]*pipeListener{}
	}
	n.servers[address] = l
	return l
}

// dial connects to a server of this process, or to the machine's network.
func (n *inside) dial(ctx context.Context, network, address string) (net.Conn, error) {
	n.mu.Lock()
	l, is := n.servers[address]
	n.mu.Unlock()
	if !is {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	ours, theirs := net.Pipe()
	select {
	case l.dialled <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pipeListener accepts connections of this process.
type pipeListener struct {
	address string
	dialled chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialled:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddress(l.address) }

// pipeAddress is an address of this process.
type pipeAddress string

// Network implements net.Addr.
func (pipeAddress) Network() string { return "inside" }

// String implements net.Addr.
func (a pipeAddress) String() string { return string(a) }
