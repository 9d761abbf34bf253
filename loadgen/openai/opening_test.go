package openai

import (
	"net"
	"net/http/httptrace"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A client that is off its core while a connection opens makes a latency wrong; name lookup, a try of another address and
// TCP's round trip are part of it.
func TestOpeningAConnectionCostsNetworkTimeWithoutTheClientsDelays(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	trip := roundTripOf(conn)
	if runtime.GOOS == "linux" && trip <= 0 {
		t.Fatalf("a round trip of %s", trip)
	}
	const ms = time.Millisecond
	for name, c := range map[string]struct{ beforeLookup, lookup, beforeConnect, failedTry, noticed, network time.Duration }{
		"nothing but the round trip": {0, 0, 0, 0, 1 * ms, 0},
		"late before the lookup":     {5 * ms, 3 * ms, 0, 0, 1 * ms, 3 * ms},
		"late before the connect":    {0, 3 * ms, 7 * ms, 0, 1 * ms, 3 * ms},
		"another address first":      {0, 0, 1 * ms, 20 * ms, 1 * ms, 20 * ms},
		"noticed late":               {0, 3 * ms, 0, 0, 9 * ms, 3 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var o opening
				hooks := httptrace.ContextClientTrace(o.begin(t.Context()))
				time.Sleep(c.beforeLookup)
				if c.lookup > 0 {
					hooks.DNSStart(httptrace.DNSStartInfo{})
					time.Sleep(c.lookup)
					hooks.DNSDone(httptrace.DNSDoneInfo{})
				}
				time.Sleep(c.beforeConnect)
				hooks.ConnectStart("tcp", "first")
				if c.failedTry > 0 {
					time.Sleep(c.failedTry)
					hooks.ConnectStart("tcp", "second")
				}
				time.Sleep(c.noticed)
				o.opened(conn)
				want := c.network + trip
				if trip == 0 { // where the kernel does not say, all of the time counts
					want = c.beforeLookup + c.lookup + c.beforeConnect + c.failedTry + c.noticed
				}
				if got := o.took(); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			})
		})
	}
}
