package link

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listen serves on loopback and returns its address, the peers that it saw, and a function that waits for its end.
func listen(t *testing.T, limits Limits) (netip.AddrPort, <-chan netip.Addr, func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	peers, ended := make(chan netip.Addr, 8), make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, limits, func(peer netip.Addr) { peers <- peer }) }()
	t.Cleanup(cancel)
	return listener.Addr().(*net.TCPAddr).AddrPort(), peers, func() error { return <-ended }
}

func TestStreamsAreCountedWhereTheyArrive(t *testing.T) {
	address, peers, _ := listen(t, DefaultLimits())
	for _, streams := range []int{1, 3} {
		rate, err := Send(t.Context(), address, streams, 20*time.Millisecond)
		if err != nil || rate.Streams != streams || !(rate.BytesPerSecond > 0) || rate.PathMTU < 1500 || rate.Segments == 0 {
			t.Errorf("%+v, %v", rate, err)
		}
	}
	if peer := <-peers; peer != netip.MustParseAddr("127.0.0.1") || len(peers) != 0 {
		t.Errorf("%s and %d more: one peer is shown once", peer, len(peers))
	}
}

func TestAStreamThatDoesNotGreetIsCutOff(t *testing.T) {
	address, _, _ := listen(t, DefaultLimits())
	conn, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: spark-2\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if answer, _ := io.ReadAll(conn); len(answer) != 0 {
		t.Errorf("it answers %q", answer)
	}
}

func TestTheListenerEndsAtItsLimitOfBytes(t *testing.T) {
	limits := DefaultLimits()
	limits.Bytes = 4 << 20
	address, _, ended := listen(t, limits)
	if _, err := Send(t.Context(), address, 1, 10*time.Second); err == nil || !strings.Contains(err.Error(), "the listener reached a limit") {
		t.Errorf("%v", err)
	}
	if err := ended(); err != nil {
		t.Error(err)
	}
}

func TestTheListenerEndsAtItsLimitOfTime(t *testing.T) {
	limits := DefaultLimits()
	limits.Time = time.Millisecond
	_, _, ended := listen(t, limits)
	if err := ended(); err != nil {
		t.Error(err)
	}
}

// TestMoreStreamsThanTheLimitAreRefused: one slot is taken by a peer that says nothing.
func TestMoreStreamsThanTheLimitAreRefused(t *testing.T) {
	limits := DefaultLimits()
	limits.Streams = 1
	address, peers, _ := listen(t, limits)
	first, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	<-peers
	second, err := net.Dial("tcp", address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := second.Read(make([]byte, 1)); err == nil {
		t.Error("a second stream is accepted")
	}
}

func TestAnotherProgramThatListensIsNotMeasured(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(io.Discard, conn)
				_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n")
				_ = conn.Close()
			}()
		}
	}()
	address := listener.Addr().(*net.TCPAddr).AddrPort()
	if rate, err := Send(t.Context(), address, 2, time.Millisecond); err == nil || !strings.Contains(err.Error(), "another program listens there") {
		t.Errorf("%+v, %v", rate, err)
	}
}

func TestWhyAPortIsNotReached(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().(*net.TCPAddr).AddrPort()
	listener.Close()
	_, err = Send(t.Context(), address, 1, time.Millisecond)
	if got := unreachable(err, address.Addr(), address.Port()).Error(); !strings.Contains(got, "start there first: uma-exporter doctor --link-listen=:") {
		t.Error(got)
	}
	for want, err := range map[string]error{
		"no machine on that network": unix.EHOSTUNREACH, "a firewall drops it": context.DeadlineExceeded, "port 9: broken pipe": unix.EPIPE,
	} {
		if got := unreachable(err, netip.MustParseAddr("192.0.2.1"), 9).Error(); !strings.Contains(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

func TestTheKernelTellsRouteAndQueueing(t *testing.T) {
	index, err := route(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	loopback, err := net.InterfaceByIndex(index)
	if err != nil || loopback.Flags&net.FlagLoopback == 0 {
		t.Fatalf("%+v, %v", loopback, err)
	}
	kinds, err := queueing(index)
	if err != nil || len(shapers(kinds)) != 0 {
		t.Errorf("%v, %v", kinds, err)
	}
}

func FuzzAttributes(f *testing.F) {
	attribute := func(kind uint16, value string) []byte {
		bytes := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
		bytes = append(binary.NativeEndian.AppendUint16(bytes, kind), value...)
		for len(bytes)%4 != 0 {
			bytes = append(bytes, 0)
		}
		return bytes
	}
	f.Add(append(attribute(2, "options"), attribute(unix.TCA_KIND, "tbf\x00")...))
	f.Add(attribute(unix.TCA_KIND, "fq_codel"))
	f.Add([]byte{3, 0, 1, 0})
	f.Fuzz(func(t *testing.T, attributes []byte) {
		if kind := stringAttribute(attributes, unix.TCA_KIND); kind != "" && !strings.Contains(string(attributes), kind+"\x00") {
			t.Errorf("%q is not in %q", kind, attributes)
		}
	})
}
