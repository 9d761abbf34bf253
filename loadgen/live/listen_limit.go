package live

import (
	"net"
	"sync"
)

// mostReaders is how many connections the live page has at once; more wait until they are
// accepted. Each has a descriptor of those that a run keeps for itself.
const mostReaders = 128

// readerListener has so many connections open at most. It is netutil.LimitListener of
// golang.org/x/net in the few lines that are needed of it, for which no module is worth having.
type readerListener struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limitListener(listener net.Listener, most int) *readerListener {
	return &readerListener{Listener: listener, free: make(chan struct{}, most), closed: make(chan struct{})}
}

// Accept waits until there is room for a connection, and for one.
func (b *readerListener) Accept() (net.Conn, error) {
	select {
	case b.free <- struct{}{}:
	case <-b.closed:
		return nil, net.ErrClosed
	}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.free
		return nil, err
	}
	return &readerConn{Conn: conn, gone: sync.OnceFunc(func() { <-b.free })}, nil
}

// Close ends a wait for room too.
func (b *readerListener) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

// readerConn makes room when it is closed.
type readerConn struct {
	net.Conn
	gone func()
}

// Close closes the connection; a server may do so more than once.
func (c *readerConn) Close() error {
	defer c.gone()
	return c.Conn.Close()
}
