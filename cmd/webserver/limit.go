package webserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// limited is a listener with a maximum number of open connections. It always accepts the next one, which replaces the
// connection that has waited longest for a request, or, if all have one under way, that with the oldest request. So
// idle and slow connections lock no client out.
type limited struct {
	net.Listener
	most int

	mutex sync.Mutex
	turn  uint64 // counts changes, which orders them
	open  map[*connection]state
}

// state of a connection.
type state struct {
	requests int    // under way
	since    uint64 // turn in which it began to wait, or its oldest request under way began
}

func limit(listener net.Listener, most int) *limited {
	return &limited{Listener: listener, most: most, open: map[*connection]state{}}
}

// Accept implements net.Listener.
func (l *limited) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: accepted, of: l}
	if replaced := l.enter(c); replaced != nil {
		replaced.Close()
	}
	return c, nil
}

// enter adds a connection, and returns the one whose place it takes, nil if there was room.
func (l *limited) enter(c *connection) (replaced *connection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.open) >= l.most {
		replaced = l.first()
		delete(l.open, replaced)
	}
	l.turn++
	l.open[c] = state{since: l.turn}
	return replaced
}

// first is the connection to be closed first.
func (l *limited) first() (first *connection) {
	for c, s := range l.open {
		if first == nil || s.before(l.open[first]) {
			first = c
		}
	}
	return first
}

// before reports whether a connection in state s is closed before one in another: those without a request go first.
func (s state) before(other state) bool {
	if (s.requests == 0) != (other.requests == 0) {
		return s.requests == 0
	}
	return s.since < other.since
}

// count counts requests of a connection that begin (1) or end (-1).
func (l *limited) count(c *connection, requests int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	s, open := l.open[c]
	if !open {
		return
	}
	if s.requests += requests; s.requests == 0 || s.requests == 1 && requests > 0 {
		l.turn++
		s.since = l.turn
	}
	l.open[c] = s
}

func (l *limited) leave(c *connection) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.open, c)
}

// connection makes room when it is closed.
type connection struct {
	net.Conn
	of *limited
}

// Close closes the connection; a server may do so more than once.
func (c *connection) Close() error {
	c.of.leave(c)
	return c.Conn.Close()
}

// connectionKey is that of the connection in the context of a request.
type connectionKey struct{}

// withConnection is the ConnContext of a server on a limited listener.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	if encrypted, is := c.(interface{ NetConn() net.Conn }); is { // tls.Conn
		c = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, c)
}

// busyWhile marks connections while they have a request under way.
func busyWhile(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, is := r.Context().Value(connectionKey{}).(*connection); is {
			c.of.count(c, 1)
			defer c.of.count(c, -1)
		}
		next.ServeHTTP(w, r)
	})
}
