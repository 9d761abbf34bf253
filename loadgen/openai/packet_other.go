//go:build !linux

package openai

import (
	"net"
	"time"
)

// packetReader is of Linux: other kernels do not stamp what they receive on a TCP connection.
type packetReader struct{ conn net.Conn }

// newPacketReader returns nil.
func newPacketReader(_ net.Conn, seen *stampsSeen) *packetReader {
	seen.refuse.Store(true)
	return nil
}

// roundTripOf returns 0: it is not known.
func roundTripOf(net.Conn) time.Duration { return 0 }

func (r *packetReader) read(p []byte) (n int, waited time.Duration, err error) {
	n, err = r.conn.Read(p)
	return n, 0, err
}
