package openai

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// Clock is the time since the run's start in nanoseconds, monotonic.
type Clock func() int64

// wire is one request's view of its connection.
type wire struct {
	clock Clock
	// giveUp ends the request.
	giveUp context.CancelCauseFunc

	// Written by the connection's reads. One goroutine reads at a time. It may differ from the request's goroutine:
	// net/http reads the headers, and the bytes that come with them, elsewhere. sinceNS and waitedNS are of a late
	// read, and 0 of others.
	at                atomic.Int64
	sinceNS, waitedNS atomic.Int64
	reads             atomic.Int64
	ours              atomic.Bool // the connection stamps its reads and writes

	// sent is when the connection's last write returned, or unsent.
	sent atomic.Int64

	mu               sync.Mutex // the trace hooks run on goroutines that may outlive the request
	reused           *bool
	stale            int           // kept connections that were closed when the request came
	written, headers *int64        // net/http says written before it hands a small request to the connection
	connection       time.Duration // that opening it took, without the client's own delays
}

// unsent is no moment of a run.
const unsent = -1

// newWire returns the view of a request that is dispatched at a moment of its clock.
func newWire(clock Clock, dispatched int64, giveUp context.CancelCauseFunc) *wire {
	w := &wire{clock: clock, giveUp: giveUp}
	w.at.Store(dispatched)
	w.sent.Store(unsent)
	return w
}

// stampedConn stamps bytes as they come off the network. Reads of the body cannot: net/http buffers, so two body reads
// may return bytes of one network read, long after it.
type stampedConn struct {
	net.Conn
	packets *packetReader        // nil where the kernel does not stamp packets
	user    atomic.Pointer[wire] // the request that the connection serves
	closed  func()               // called once, when the connection is closed
	opening opening
}

// Close closes the connection; net/http may do so more than once.
func (c *stampedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// Read stamps reads that return bytes, for the request that holds the connection when they return: on an idle
// connection the read is already waiting when the request comes.
func (c *stampedConn) Read(p []byte) (int, error) {
	var n int
	var waited time.Duration
	var err error
	if c.packets == nil {
		n, err = c.Conn.Read(p)
	} else {
		n, waited, err = c.packets.read(p)
	}
	switch user := c.user.Load(); {
	case n == 0:
	case user != nil:
		user.stamp(waited)
	default:
		c.opening.read(waited)
	}
	return n, err
}

// Write notes when it returns, for the request that holds the connection.
func (c *stampedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if user := c.user.Load(); user != nil && err == nil {
		user.sent.Store(user.clock())
	}
	return n, err
}

// stamp stamps a read whose last byte has waited in the socket.
func (w *wire) stamp(waited time.Duration) {
	before, at := w.at.Load(), w.clock()-waited.Nanoseconds()
	at = max(at, before) // bytes come in order, whatever clocks do
	if waited < lateRead {
		before, waited = at, 0
	}
	w.at.Store(at)
	w.sinceNS.Store(at - before)
	w.waitedNS.Store(int64(waited))
	w.reads.Add(1)
}

// lastRead returns the arrival and the number of the network read that served the body read that has just returned. On
// a connection that the client does not stamp, both reads are the same.
func (w *wire) lastRead() (at int64, read int) {
	if !w.ours.Load() {
		w.stamp(0)
	}
	return w.at.Load(), int(w.reads.Load())
}

// trace returns the hooks that fill w. If a kept connection turns out to be closed, net/http takes another one and the
// hooks run again: the later call counts.
func (w *wire) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: w.gotConn,
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				w.set(&w.written, w.clock())
			}
		},
		GotFirstResponseByte: func() {
			at := w.at.Load()
			if !w.ours.Load() {
				at = w.clock()
			}
			w.set(&w.headers, at)
		},
	}
}

// longestStale is how long after the write of a request the close of its connection still counts as an earlier close: a
// few round trips. A connection closed later was lost by the server, which may have crashed in the middle of a prompt;
// sending that request again would hide it.
const longestStale = time.Second

// lostError ends a request whose connection the server closed too late for it to have been stale.
type lostError struct{ after time.Duration }

func (e *lostError) Error() string {
	return fmt.Sprintf("the server closed the connection without an answer, %s after the request was written", e.after.Round(time.Millisecond))
}

func (w *wire) gotConn(info httptrace.GotConnInfo) {
	conn := info.Conn
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if stamped, ok := conn.(*stampedConn); ok {
		w.ours.Store(true)
		stamped.user.Store(w)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reused != nil {
		w.stale++
		if w.written != nil && time.Duration(w.clock()-*w.written) > longestStale {
			w.giveUp(&lostError{time.Duration(w.clock() - *w.written)})
		}
	}
	if stamped, ok := conn.(*stampedConn); ok && !info.Reused {
		w.connection += stamped.opening.took()
	}
	w.reused, w.written = &info.Reused, nil
	w.sent.Store(unsent)
}

// cutOff reports whether a round trip failed because a kept connection was closed while the request was being written:
// the server then has no whole request. net/http resends such a request only if it fits its buffer of 4 KiB, since it
// takes the error for an error of the body.
func (w *wire) cutOff() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reused == nil || !*w.reused || w.written != nil || w.headers != nil {
		return false
	}
	w.stale++
	w.reused = nil // the next connection is the request's first again
	return true
}

// sawHeaders records the response headers, for a transport that calls no hooks.
func (w *wire) sawHeaders() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.headers == nil {
		w.headers = new(w.clock())
	}
}

func (w *wire) set(field **int64, at int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*field = &at
}

// left returns the latest moment at which the request's last byte may have left; nil if it was not written. That is when
// the write returned, or when the answer came: a thread can be off its core for milliseconds before the system call and
// behind it, while the server is answering.
func (w *wire) left() *int64 {
	if w.written == nil || !w.ours.Load() {
		return w.written
	}
	at := w.sent.Load()
	if w.headers != nil && (at == unsent || *w.headers < at) {
		at = *w.headers
	}
	return new(max(at, *w.written))
}

// fill copies the hooks' values into the record. It runs last: a quick server answers before the hook that records the
// write has run.
func (w *wire) fill(r *Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.WrittenNS, r.ConnectionReused, r.HeadersNS = w.left(), w.reused, w.headers
	r.StaleConnections, r.ConnectionNS = w.stale, w.connection.Nanoseconds()
}
