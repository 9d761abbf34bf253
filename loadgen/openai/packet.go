package openai

import (
	"sync/atomic"
	"time"
)

// stampsSeen is the source of the stamps on a client's connections.
type stampsSeen struct {
	kernel atomic.Bool // a read had the kernel's stamp
	refuse atomic.Bool // a connection cannot be stamped
}

// bothClocks is one moment on two clocks: the time of day, which the kernel uses for packet stamps, and the monotonic
// clock, which is never set.
type bothClocks struct{ wall, monotonic int64 }

func (c bothClocks) offset() int64 { return c.wall - c.monotonic }

// clockOffset is the time of day minus the monotonic clock, at the last read of a connection.
type clockOffset struct{ before int64 }

// waited returns the time from the stamp until now. The time of day may be set while bytes wait, so the wait is
// computed with two offsets: that of now and that of the read before. One of the two applied at the stamp. The shorter
// wait is returned, so a clock change never creates a wait and at worst hides one.
func (o *clockOffset) waited(now bothClocks, stamp int64) time.Duration {
	offset := min(o.before, now.offset())
	o.before = now.offset()
	return time.Duration(max(0, now.monotonic+offset-stamp))
}
