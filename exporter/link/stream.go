package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The protocol of a stream: the sender writes greeting and then anything; it closes its half; the listener answers with
// the number of bytes after the greeting, and a line end.
const (
	greeting    = "umascope link 1\n"
	greetWithin = 2 * time.Second
	// bufferBytes is what one write or read moves: large, so that calls cost little.
	bufferBytes = 1 << 20
)

// Limits bound what a listener accepts.
type Limits struct {
	Time    time.Duration // of the listener
	Stream  time.Duration // of one stream
	Bytes   int64         // of all streams together
	Streams int           // at a time
}

// DefaultLimits are room for a few measurements of 200 Gb/s.
func DefaultLimits() Limits {
	return Limits{Time: 10 * time.Minute, Stream: 20 * time.Second, Bytes: 2 << 40, Streams: 16}
}

// Serve accepts streams until a limit is reached or ctx ends, discards what they send, and calls peer with the address of
// each sender when it is seen first.
func Serve(ctx context.Context, listener net.Listener, limits Limits, peer func(netip.Addr)) error {
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	var streams sync.WaitGroup
	defer streams.Wait()
	var left atomic.Int64
	left.Store(limits.Bytes)
	slots := make(chan struct{}, limits.Streams)
	seen := map[netip.Addr]bool{}
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		select {
		case slots <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		if address := addressOf(conn.RemoteAddr()); !seen[address] && len(seen) < limits.Streams {
			seen[address] = true
			peer(address)
		}
		streams.Go(func() {
			defer func() { <-slots }()
			if discard(ctx, conn, limits.Stream, &left); left.Load() <= 0 {
				cancel()
			}
		})
	}
}

// discard reads a stream to its end and answers with its length. A peer that does not greet is cut off.
func discard(ctx context.Context, conn net.Conn, most time.Duration, left *atomic.Int64) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(greetWithin))
	begin := make([]byte, len(greeting))
	if _, err := io.ReadFull(conn, begin); err != nil || string(begin) != greeting {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(most))
	buffer := make([]byte, bufferBytes)
	var got int64
	for {
		n, err := conn.Read(buffer)
		got += int64(n)
		if left.Add(-int64(n)) <= 0 {
			return
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return
		}
	}
	fmt.Fprintf(conn, "%d\n", got)
}

// Rate is what some streams carried together.
type Rate struct {
	Streams        int
	BytesPerSecond float64
	// CPUs is how many CPUs this process kept busy meanwhile.
	CPUs float64
	// PathMTU is the largest packet that the path carries, and RoundTrip the time of one, by the kernel's TCP; of all
	// streams the least.
	PathMTU   int
	RoundTrip time.Duration
	// Segments were sent, Repeated of them because they were lost or late.
	Segments, Repeated uint64
}

// Send measures a number of streams to a listener, for a time. It counts what arrived.
func Send(ctx context.Context, to netip.AddrPort, streams int, lasting time.Duration) (Rate, error) {
	ctx, cancel := context.WithTimeout(ctx, lasting+15*time.Second)
	defer cancel()
	conns := make([]*net.TCPConn, streams)
	for i := range conns {
		conn, err := dial(ctx, to)
		if err != nil {
			return Rate{}, err
		}
		defer func() { _ = conn.Close() }()
		defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
		conns[i] = conn
	}
	rate := Rate{Streams: streams}
	var (
		running sync.WaitGroup
		lock    sync.Mutex
		arrived int64
		failed  error
	)
	began, cpu := time.Now(), cpuTime()
	for _, conn := range conns {
		running.Go(func() {
			n, state, err := push(conn, began.Add(lasting))
			lock.Lock()
			defer lock.Unlock()
			arrived += n
			failed = errors.Join(failed, err)
			if state != nil {
				rate.add(state)
			}
		})
	}
	running.Wait()
	took := time.Since(began).Seconds()
	rate.BytesPerSecond, rate.CPUs = float64(arrived)/took, (cpuTime()-cpu).Seconds()/took
	return rate, failed
}

func (r *Rate) add(state *unix.TCPInfo) {
	if mtu := int(state.Pmtu); r.PathMTU == 0 || mtu < r.PathMTU {
		r.PathMTU = mtu
	}
	// The peer's MTU is in the segment size that it allows, before a packet has been too large for the path.
	if mtu := int(state.Snd_mss) + headersOf(state); mtu < r.PathMTU {
		r.PathMTU = mtu
	}
	trip := time.Duration(state.Min_rtt) * time.Microsecond
	if r.RoundTrip == 0 || trip < r.RoundTrip {
		r.RoundTrip = trip
	}
	r.Segments += uint64(state.Segs_out)
	r.Repeated += uint64(state.Total_retrans)
}

// headersOf is what IPv4 and TCP add to a segment. IPv6 adds 20 bytes more; a path is not judged by so few.
func headersOf(state *unix.TCPInfo) int {
	const (
		ip, tcp, timestamps = 20, 20, 12
		optionTimestamps    = 1 // TCPI_OPT_TIMESTAMPS of linux/tcp.h
	)
	if state.Options&optionTimestamps != 0 {
		return ip + tcp + timestamps
	}
	return ip + tcp
}

// push sends until a time, ends its half of the stream, and returns how much arrived.
func push(conn *net.TCPConn, until time.Time) (int64, *unix.TCPInfo, error) {
	_ = conn.SetWriteDeadline(until.Add(5 * time.Second))
	if _, err := io.WriteString(conn, greeting); err != nil {
		return 0, nil, err
	}
	buffer := make([]byte, bufferBytes)
	for sending := true; sending; sending = time.Now().Before(until) {
		if _, err := conn.Write(buffer); err != nil {
			return 0, nil, cutOff(err)
		}
	}
	state, err := tcpInfo(conn)
	if err != nil {
		return 0, nil, err
	}
	if err := conn.CloseWrite(); err != nil {
		return 0, nil, err
	}
	_ = conn.SetReadDeadline(until.Add(10 * time.Second))
	answer, err := bufio.NewReader(io.LimitReader(conn, 32)).ReadString('\n')
	if err != nil {
		return 0, nil, cutOff(err)
	}
	arrived, err := strconv.ParseInt(strings.TrimSuffix(answer, "\n"), 10, 64)
	if err != nil || arrived < 0 {
		return 0, nil, fmt.Errorf("%s answers %.20q: another program listens there", conn.RemoteAddr(), answer)
	}
	return arrived, state, nil
}

// cutOff explains the end of a stream.
func cutOff(err error) error {
	return fmt.Errorf("the stream ended: another program listens there, or the listener reached a limit: %w", err)
}

func dial(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

func tcpInfo(conn *net.TCPConn) (*unix.TCPInfo, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var state *unix.TCPInfo
	var failed error
	if err := raw.Control(func(fd uintptr) {
		state, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil {
		return nil, err
	}
	return state, failed
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func addressOf(address net.Addr) netip.Addr {
	if tcp, is := address.(*net.TCPAddr); is {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
