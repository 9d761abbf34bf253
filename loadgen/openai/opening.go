package openai

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// opening measures how long network and server took to open a connection, without the delays of the client: they are
// part of a latency from send, while the client's delays make it wrong.
type opening struct {
	begun   time.Time
	looking time.Duration // until the name lookup began
	// In ns: how long the name lookup took, and when, since begun, the first and the last try to connect began. Two
	// addresses of a name may be tried at once.
	looked, first, last atomic.Int64
	network             time.Duration // name lookup, failed tries and TCP's round trip
	done                time.Time     // TCP is open
	// The TLS handshake: the time of its last read since done, and the sum of the waits of its reads in the socket.
	handshake, waits atomic.Int64
}

// begin starts the measurement.
func (o *opening) begin(ctx context.Context) context.Context {
	o.begun = time.Now()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { o.looking = time.Since(o.begun) },
		DNSDone:  func(httptrace.DNSDoneInfo) { o.looked.Store(int64(time.Since(o.begun) - o.looking)) },
		ConnectStart: func(_, _ string) {
			now := int64(time.Since(o.begun))
			o.first.CompareAndSwap(0, now)
			o.last.Store(now)
		},
	})
}

// opened ends it for a connection without TLS. The kernel knows how long TCP's handshake took; when this process took
// note of its end is the client's matter. Where the kernel does not say, all of the time counts as the network's.
func (o *opening) opened(conn net.Conn) {
	o.done = time.Now()
	o.network = o.done.Sub(o.begun)
	if trip := roundTripOf(conn); trip > 0 {
		o.network = min(o.network, time.Duration(o.looked.Load()+o.last.Load()-o.first.Load())+trip)
	}
}

// read notes a read of the TLS handshake.
func (o *opening) read(waited time.Duration) {
	o.waits.Add(int64(waited))
	o.handshake.Store(int64(time.Since(o.done)))
}

// took returns the time that network and server took.
func (o *opening) took() time.Duration {
	return o.network + time.Duration(max(0, o.handshake.Load()-o.waits.Load()))
}
