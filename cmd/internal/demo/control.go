package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

// control starts arms on the machines of a running demo for the processes of a campaign. A process requests an arm and
// keeps the request open: the arm is up for as long. When the process ends, the arm ends; when the demo ends, the
// request ends, and so does the process.
type control struct {
	// secret is part of the address, so that only clients that were given it can start an arm.
	secret string
	seed   uint64
	seats  map[string]*seat // by the name of the machine; constant once it serves
}

// seat is a machine on which at most one arm is up.
type seat struct {
	stage  *stage
	taken  chan struct{} // a semaphore of one: the sender has the machine
	starts atomic.Uint64 // engines started so far: seeds their step times, so that starts differ
}

func newControl(seed uint64, machines []*machine) *control {
	c := &control{secret: rand.Text(), seed: seed, seats: map[string]*seat{}}
	for _, m := range machines {
		c.seats[m.name] = &seat{stage: m.stage, taken: make(chan struct{}, 1)}
	}
	return c
}

// path is the path at which a machine is controlled.
func (c *control) path(machine string) string { return "/" + c.secret + "/" + machine }

// dropCaches is the query parameter that requests an empty page cache before the start.
const dropCaches = "drop_caches"

// handler answers POST MACHINE/ARM by holding that arm until the client disconnects, and GET MACHINE once no arm is up.
func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /"+c.secret+"/{machine}/{arm}", c.hold)
	mux.HandleFunc("GET /"+c.secret+"/{machine}", c.vacant)
	return mux
}

func (c *control) hold(w http.ResponseWriter, r *http.Request) {
	seat, known := c.seats[r.PathValue("machine")]
	a, err := armNamed(r.PathValue("arm"))
	if !known || err != nil {
		http.Error(w, "no such machine or arm", http.StatusNotFound)
		return
	}
	a.dropsCaches = r.URL.Query().Has(dropCaches)
	release, err := seat.take(r.Context())
	if err != nil {
		return // the client has disconnected
	}
	defer release()
	defer seat.stage.end()
	if err := seat.stage.begin(r.Context(), a, engineOptions{seed: c.seed + seat.starts.Add(1)}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusOK)
	if http.NewResponseController(w).Flush() == nil {
		<-r.Context().Done()
	}
}

func (c *control) vacant(w http.ResponseWriter, r *http.Request) {
	seat, known := c.seats[r.PathValue("machine")]
	if !known {
		http.NotFound(w, r)
		return
	}
	if release, err := seat.take(r.Context()); err == nil {
		release()
		w.WriteHeader(http.StatusNoContent)
	}
}

// take waits until the machine is free.
func (s *seat) take(ctx context.Context) (release func(), err error) {
	select {
	case s.taken <- struct{}{}:
		return func() { <-s.taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// close takes all machines for good. It returns once all arms that were up have ended.
func (c *control) close() {
	for _, s := range c.seats {
		_, _ = s.take(context.Background()) // never released
	}
}

// armNamed returns the arm with that name.
func armNamed(name string) (arm, error) {
	for _, a := range []arm{nativeArm(), containerArm()} {
		if a.name == name {
			return a, nil
		}
	}
	return arm{}, fmt.Errorf("%q is none of native, container", name)
}

// errGone is the reason why a process of a campaign ends without a signal.
var errGone = errors.New("the demo has ended this arm, or has ended itself")
