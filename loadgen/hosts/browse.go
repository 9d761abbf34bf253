package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// port is the port of multicast DNS.
const port = 5353

// pauses are how long to wait before asking again: the first packet on a link is often lost, and an announced name may
// not be resolved yet.
var pauses = []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}

// Browse asks on one link until the context is done, and returns the answers. An error means that the link could not be
// asked at all.
func Browse(ctx context.Context, link Link) ([]Heard, error) { return browse(ctx, link, port) }

func browse(ctx context.Context, link Link, port int) ([]Heard, error) {
	sockets, err := open(ctx, link, port)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	packets := make(chan []byte)
	var readers sync.WaitGroup
	for _, s := range sockets {
		readers.Go(func() { s.read(ctx, link, packets) })
	}
	defer func() {
		stop()
		for _, s := range sockets {
			s.conn.Close()
		}
		readers.Wait()
	}()

	received := newRecords()
	err = askAll(sockets, received)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", link.Name, err)
	}
	round := 0
	again := time.NewTimer(pauses[round])
	defer again.Stop()
	for {
		select {
		case packet := <-packets:
			_ = received.take(packet) // foreign or broken packets are ignored
		case <-again.C:
			_ = askAll(sockets, received) // the link may be down; earlier answers are still valid
			if round++; round < len(pauses) {
				again.Reset(pauses[round])
			}
		case <-ctx.Done():
			return received.heard(link), nil
		}
	}
}

// askAll sends the questions through each socket. It fails only if none could send.
func askAll(sockets []socket, received *records) error {
	packet, err := received.questions()
	if err != nil {
		return err
	}
	var failed []error
	for _, s := range sockets {
		if err := s.send(packet); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) < len(sockets) {
		return nil
	}
	return errors.Join(failed...)
}

// socket is the socket of one address family on one link.
type socket struct {
	conn net.PacketConn
	send func([]byte) error
}

// read sends packets that came from the link to the channel, until the socket is closed.
func (s socket) read(ctx context.Context, link Link, packets chan<- []byte) {
	buffer := make([]byte, largestPacket)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || !local(link, from) {
			continue
		}
		select {
		case packets <- append([]byte(nil), buffer[:n]...):
		case <-ctx.Done():
			return
		}
	}
}

// local reports whether a packet came from a machine on the link: only such machines may answer (RFC 6762, 11).
func local(link Link, from net.Addr) bool {
	udp, is := from.(*net.UDPAddr)
	if !is {
		return false
	}
	addr, valid := netip.AddrFromSlice(udp.IP)
	return valid && link.Holds(addr.Unmap())
}

// open makes a socket for each address family of the link.
func open(ctx context.Context, link Link, port int) ([]socket, error) {
	var sockets []socket
	var failed []error
	device := &net.Interface{Index: link.Index, Name: link.Name}
	for _, family := range []struct {
		has  func(netip.Addr) bool
		open func(context.Context, *net.Interface, int) (socket, error)
	}{{netip.Addr.Is4, open4}, {netip.Addr.Is6, open6}} {
		has := false
		for _, p := range link.Prefixes {
			has = has || family.has(p.Addr())
		}
		if !has {
			continue
		}
		s, err := family.open(ctx, device, port)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		sockets = append(sockets, s)
	}
	if len(sockets) == 0 {
		return nil, fmt.Errorf("%s: %w", link.Name, errors.Join(failed...))
	}
	return sockets, nil
}

func open4(ctx context.Context, device *net.Interface, port int) (socket, error) {
	group := &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: port}
	conn, err := listen(ctx, "udp4", group)
	if err != nil {
		return socket{}, err
	}
	p := ipv4.NewPacketConn(conn)
	err = errors.Join(p.JoinGroup(device, group), p.SetMulticastInterface(device), p.SetMulticastTTL(255), p.SetMulticastLoopback(true))
	if err != nil {
		conn.Close()
		return socket{}, err
	}
	return socket{conn, func(packet []byte) error { _, err := conn.WriteTo(packet, group); return err }}, nil
}

func open6(ctx context.Context, device *net.Interface, port int) (socket, error) {
	group := &net.UDPAddr{IP: net.ParseIP("ff02::fb"), Port: port, Zone: device.Name}
	conn, err := listen(ctx, "udp6", group)
	if err != nil {
		return socket{}, err
	}
	p := ipv6.NewPacketConn(conn)
	err = errors.Join(p.JoinGroup(device, group), p.SetMulticastInterface(device), p.SetMulticastHopLimit(255), p.SetMulticastLoopback(true))
	if err != nil {
		conn.Close()
		return socket{}, err
	}
	return socket{conn, func(packet []byte) error { _, err := conn.WriteTo(packet, group); return err }}, nil
}

// listen shares the port with other programs on this machine that use multicast DNS.
func listen(ctx context.Context, network string, group *net.UDPAddr) (net.PacketConn, error) {
	config := net.ListenConfig{Control: func(network, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = ownGroupsOnly(int(fd), network) })
		return errors.Join(err, failed)
	}}
	return config.ListenPacket(ctx, network, group.String())
}
