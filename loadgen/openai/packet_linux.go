package openai

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// packetReader reads a TCP connection together with the kernel's stamp of the bytes it returns: the time at which the
// newest of them came in (SO_TIMESTAMPNS, socket(7)). Bytes that came in while this process was stopped keep their old
// stamp until they are read. Only the stamp shows this: from inside the process, an answer that came late and one that
// was read late look the same.
//
// The kernel merges segments that wait in a socket and keeps the stamp of the newest, so the returned wait is that of
// the last byte. An older byte of the same read waited longer.
//
// It reads by recvmsg(2) from the file descriptor that the runtime polls, as net.TCPConn.Read does by read(2), with the
// same deadlines and errors. Only one goroutine may read at a time.
type packetReader struct {
	conn    *net.TCPConn
	raw     syscall.RawConn
	receive func(descriptor uintptr) bool // the method value, made once
	seen    *stampsSeen
	opened  time.Time
	offset  clockOffset

	// State of the current read. It is kept here, since unix.Recvmsg allocates on each call.
	message unix.Msghdr
	vector  unix.Iovec
	control [64]byte // holds one stamp, 32 bytes
	n       int
	stamp   int64 // ns since 1970; 0 is none
	err     error
}

// newPacketReader returns nil if the connection is not TCP or its kernel does not stamp.
func newPacketReader(conn net.Conn, seen *stampsSeen) *packetReader {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		seen.refuse.Store(true)
		return nil
	}
	r := &packetReader{conn: tcp, seen: seen, opened: time.Now()}
	r.receive = r.receiveOnce
	r.message.Iov, r.message.Control = &r.vector, &r.control[0]
	r.message.SetIovlen(1)
	var refused error
	raw, err := tcp.SyscallConn()
	if err == nil {
		err = raw.Control(func(descriptor uintptr) {
			refused = unix.SetsockoptInt(int(descriptor), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		})
	}
	if err != nil || refused != nil {
		seen.refuse.Store(true)
		return nil
	}
	r.raw = raw
	r.offset.before = r.now().offset()
	return r
}

// read is net.Conn's Read. waited is how long the last byte was in the socket, or 0 if that is unknown.
func (r *packetReader) read(p []byte) (n int, waited time.Duration, err error) {
	if len(p) == 0 { // recvmsg needs room for one byte to return the stamp
		n, err = r.conn.Read(p)
		return n, 0, err
	}
	r.vector.Base, r.n, r.stamp, r.err = &p[0], 0, 0, nil
	r.vector.SetLen(len(p))
	err = r.raw.Read(r.receive)
	r.vector.Base = nil
	switch {
	case err != nil: // closed, or past its deadline: err has the cause, wrapped as another operation
		return 0, 0, r.failed(unwrap(err))
	case r.err != nil:
		return 0, 0, r.failed(os.NewSyscallError("read", r.err))
	case r.n == 0:
		return 0, 0, io.EOF
	}
	if r.stamp != 0 {
		if !r.seen.kernel.Load() {
			r.seen.kernel.Store(true)
		}
		waited = r.offset.waited(r.now(), r.stamp)
	}
	return r.n, waited, nil
}

// receiveOnce reads the bytes that are there and returns false if there are none. It never blocks, and copies at most the
// buffer of a reader, so it is not announced to the scheduler: two announcements a read, which wake the scheduler's monitor,
// cost a client of 200 streams a fifth of its time.
func (r *packetReader) receiveOnce(descriptor uintptr) bool {
	for {
		r.message.SetControllen(len(r.control))
		n, _, err := unix.RawSyscall(unix.SYS_RECVMSG, descriptor, uintptr(unsafe.Pointer(&r.message)), unix.MSG_DONTWAIT)
		switch err {
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			return false
		case 0:
			r.n, r.stamp = int(n), stampOf(r.control[:r.message.Controllen])
			acquire(descriptor)
		default:
			r.err = err
		}
		return true
	}
}

// stampOf reads the stamp from the control messages of a read; 0 means no stamp.
func stampOf(control []byte) int64 {
	for len(control) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(control)
		if err != nil {
			return 0
		}
		if header.Level == unix.SOL_SOCKET && header.Type == unix.SCM_TIMESTAMPNS && len(data) >= 16 {
			seconds, ns := binary.NativeEndian.Uint64(data), binary.NativeEndian.Uint64(data[8:])
			return int64(seconds)*int64(time.Second) + int64(ns)
		}
		control = rest
	}
	return 0
}

// roundTripOf returns the round trip of the handshake of a connection that has just been opened, by the kernel; 0 if it
// is not known, as after a lost packet.
func roundTripOf(conn net.Conn) time.Duration {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	var info *unix.TCPInfo
	if err := raw.Control(func(descriptor uintptr) {
		info, _ = unix.GetsockoptTCPInfo(int(descriptor), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil || info == nil {
		return 0
	}
	return time.Duration(info.Rtt) * time.Microsecond
}

// failed returns the error of a read in the form of net.TCPConn.
func (r *packetReader) failed(err error) error {
	return &net.OpError{Op: "read", Net: "tcp", Source: r.conn.LocalAddr(), Addr: r.conn.RemoteAddr(), Err: err}
}

func unwrap(err error) error {
	if wrapped, ok := err.(*net.OpError); ok {
		return wrapped.Err
	}
	return err
}

// now reads both clocks.
func (r *packetReader) now() bothClocks {
	now := time.Now()
	return bothClocks{wall: now.UnixNano(), monotonic: int64(now.Sub(r.opened))}
}
