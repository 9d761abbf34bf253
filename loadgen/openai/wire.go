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

// wire is what one request sees of its connection.
type wire struct {
	clock Clock
	// giveUp ends the request.
	giveUp context.CancelCauseFunc
	// shortestWait is the shortest wait in the socket that is noted.
	shortestWait time.Duration

	// Written by the connection's reads. One goroutine reads at a time; it may be another one
	// than the request's, for net/http reads the headers and what comes with them elsewhere.
	at    atomic.Int64
	reads atomic.Int64
	ours  atomic.Bool // the connection stamps its reads

	mu               sync.Mutex // the trace hooks run on goroutines that may outlive the request
	reused           *bool
	stale            int // kept connections that were closed when the request came
	written, headers *int64
	waits            []wait
}

// wait is a read whose last byte had been in the socket for a while when it was read.
type wait struct {
	read int
	time time.Duration
}

// defaultShortestWait is what scheduling alone takes on a machine with work to do.
const defaultShortestWait = time.Millisecond

// stampedConn notes when bytes come off the network. A body read cannot tell: net/http buffers,
// so that two of them may serve bytes of one network read, long after it.
type stampedConn struct {
	net.Conn
	packets *packetReader        // nil where the kernel does not stamp packets
	user    atomic.Pointer[wire] // the request that the connection serves
	closed  func()               // called once, when the connection is closed
}

// Close closes the connection; net/http may do so more than once.
func (c *stampedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// Read stamps reads that brought something, on behalf of the request that holds the connection
// when they return: on an idle connection the read is already waiting when the request comes.
func (c *stampedConn) Read(p []byte) (int, error) {
	if c.packets == nil {
		n, err := c.Conn.Read(p)
		if user := c.user.Load(); n > 0 && user != nil {
			user.stamp(0)
		}
		return n, err
	}
	n, waited, err := c.packets.read(p)
	if user := c.user.Load(); n > 0 && user != nil {
		user.stamp(waited)
	}
	return n, err
}

func (w *wire) stamp(waited time.Duration) {
	w.at.Store(w.clock())
	read := w.reads.Add(1)
	if waited > 0 && waited >= w.shortestWait {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waits = append(w.waits, wait{int(read), waited})
	}
}

// lastRead returns the arrival and the number of the network read that served the body read that
// has just returned. On a connection that is not ours the two are the same thing.
func (w *wire) lastRead() (at int64, read int) {
	if !w.ours.Load() {
		w.stamp(0)
	}
	return w.at.Load(), int(w.reads.Load())
}

// trace returns the hooks that fill w. If a kept connection turns out to be closed, net/http takes
// another one and the hooks run again: the later call holds.
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

// longestStale is how long after a request was written its connection may be closed for having been closed
// already: a few round trips. What is closed later was lost by the server, which may have fallen over in the
// middle of a prompt; to send that request again would hide it.
const longestStale = time.Second

// lostError is the end of a request whose connection a server closed too late for it to have been stale.
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
	w.reused, w.written = &info.Reused, nil
}

// cutOff reports whether a round trip failed because a kept connection was closed while the request was
// being written: the server has no whole request then. net/http sends such a request again only if it
// fits its buffer of 4 KiB, for it takes the error for one of the body.
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

// sawHeaders notes the response headers, for a transport that calls no hooks.
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

// fill copies what the hooks have noted. It comes last: a quick server answers before the hook
// that notes the writing has run.
func (w *wire) fill(r *Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r.WrittenNS, r.ConnectionReused, r.HeadersNS = w.written, w.reused, w.headers
	r.StaleConnections = w.stale
	for _, one := range w.waits {
		r.WaitedReadIDs, r.WaitedNS = append(r.WaitedReadIDs, one.read), append(r.WaitedNS, one.time.Nanoseconds())
	}
}
