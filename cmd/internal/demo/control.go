package demo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// control lets the processes of a campaign have arms on the machines of a running demo. A process asks for an arm and
// keeps the question open: as long as it does, the arm is up. Whatever ends the process ends the arm, and what ends
// the demo ends the process, since its question is then over.
type control struct {
	// secret is in the address, so that only who was told it begins anything.
	secret string
	seed   uint64
	seats  map[string]*seat // by the name of the machine; not changed once it serves
}

// seat is a machine on which at most one arm is up.
type seat struct {
	stage *stage
	taken chan struct{} // has room for one: whoever has put something in has the machine

	mu     sync.Mutex
	starts uint64 // so many engines were started
}

func newControl(seed uint64, machines []*machine) *control {
	c := &control{secret: rand.Text(), seed: seed, seats: map[string]*seat{}}
	for _, m := range machines {
		c.seats[m.name] = &seat{stage: m.stage, taken: make(chan struct{}, 1)}
	}
	return c
}

// path is where a machine is controlled.
func (c *control) path(machine string) string { return "/" + c.secret + "/" + machine }

// dropCaches is the parameter that asks for an empty page cache before the start.
const dropCaches = "drop_caches"

// handler answers POST MACHINE/ARM by holding that arm until the one who asks goes, and GET MACHINE once no arm is up.
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
		return // the one who asked has gone
	}
	defer release()
	defer seat.stage.end()
	if err := seat.stage.begin(r.Context(), a, engineOptions{seed: c.seed + seat.next()}); err != nil {
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

// close has every machine for itself from now on: whoever had an arm up has ended it then.
func (c *control) close() {
	for _, s := range c.seats {
		_, _ = s.take(context.Background()) // never released
	}
}

// next is the number of this start: engines differ by it in the times of their steps.
func (s *seat) next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
	return s.starts
}

// armNamed is the arm of a name.
func armNamed(name string) (arm, error) {
	for _, a := range []arm{nativeArm(), containerArm()} {
		if a.name == name {
			return a, nil
		}
	}
	return arm{}, fmt.Errorf("%q is none of native, container", name)
}

// errGone is why a process of a campaign ends though nobody asked it to.
var errGone = errors.New("the demo has ended this arm, or has ended itself")
