package openai

import (
	"errors"
	"io"
	"sync/atomic"
	"time"
)

const (
	// endWait is how long a request waits for the end of its body after [DONE]. The end of most servers' bodies comes in
	// the same read, or a moment later, and makes the connection reusable. A server that misses it is not waited for
	// again until an answer ends in time.
	endWait = 10 * time.Millisecond
	// drainTime and maxDrained bound what is read after that, for the sake of the connection alone.
	drainTime  = time.Second
	maxDrained = 1 << 20
	// mostDrains bounds the bodies that are read at the same time. The connections of others are closed.
	mostDrains = 32
	// triedAgain is how many connections are closed until a body is waited for again.
	triedAgain = 16
)

// errLeft ends the reading of a body for which there is no connection to spare.
var errLeft = errors.New("the answer is complete")

// drains are the bodies that go on after [DONE]. An answer is complete with [DONE]; its slot is free from then on.
type drains struct {
	most int64 // at the same time

	lingers        atomic.Bool // the latest body did not end in time
	running        atomic.Int64
	closed         atomic.Int64 // connections, unread
	answers, bytes atomic.Int64
}

func newDrains(o Options) *drains {
	d := &drains{most: mostDrains}
	if o.MostOpen > 0 { // bodies may take no connection from requests, and to close one takes a moment
		d.most = int64(min(mostDrains, max(o.MostOpen-o.Connections, 0)/2))
	}
	return d
}

// AfterDone returns how many answers had a body that did not end soon after [DONE], and how many bytes of these bodies
// came later.
func (c *Client) AfterDone() (answers, bytes int64) {
	return c.drains.answers.Load(), c.drains.bytes.Load()
}

// drain is the rest of one body, read by a goroutine of its own.
type drain struct {
	of   *drains
	body io.ReadCloser
	// more is closed when bytes come after [DONE], ended when the body has ended, with err.
	more, ended chan struct{}
	err         error // nil at the proper end of the body
	// decided is set by whichever comes first: the end of the body, or the request that does not wait for it.
	decided atomic.Bool
	buffer  [512]byte
	release func() // frees what the request holds; called if the request did not wait
}

// leave ends the reading of a body after [DONE]: it waits a moment for the end, and leaves the rest to a goroutine.
func (x *exchange) leave(body io.ReadCloser, r *reception) {
	d := x.client.drains
	wait := !d.lingers.Load()
	over := d.running.Add(1) > d.most
	if over && !wait {
		if d.closed.Add(1)%triedAgain != 0 {
			d.running.Add(-1)
			d.answers.Add(1)
			x.ended = true
			return // the caller closes the connection
		}
		wait = true
	}
	x.limits.arm(drainTime, "no end of body")
	rest := &drain{of: d, body: body, more: make(chan struct{}), ended: make(chan struct{}), release: x.release}
	go rest.read()
	if wait {
		moment := time.NewTimer(endWait)
		defer moment.Stop()
		select {
		case <-rest.ended:
		case <-rest.more:
		case <-moment.C:
		}
	}
	if rest.decided.CompareAndSwap(false, true) {
		x.left, x.ended = true, true
		d.lingers.Store(true)
		d.answers.Add(1)
		if over {
			x.limits.cancel(errLeft)
		}
		return
	}
	<-rest.ended
	r.broken = rest.err
}

// read reads the body to its end, or until the limits.
func (r *drain) read() {
	defer r.of.running.Add(-1)
	began, total := time.Now(), 0
	var err error
	for err == nil && total <= maxDrained {
		var n int
		n, err = r.body.Read(r.buffer[:])
		if n > 0 && total == 0 {
			close(r.more)
		}
		total += n
	}
	r.of.bytes.Add(int64(total))
	if err != io.EOF {
		r.err = err
	} else if total == 0 && time.Since(began) < endWait {
		r.of.lingers.Store(false)
	}
	waited := r.decided.CompareAndSwap(false, true)
	close(r.ended)
	if !waited {
		_ = r.body.Close()
		r.release()
	}
}
