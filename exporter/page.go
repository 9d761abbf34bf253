package exporter

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

const (
	// transferTime is the part of a scrape's timeout reserved for making and sending the page.
	transferTime = 500 * time.Millisecond

	// maxWaiting is the maximum number of requests in progress, most of them waiting: for the collection that they
	// share, for their turn, for a slow reader. One costs a goroutine and at most a page.
	maxWaiting = 1000

	// timeoutHeader has the time, in seconds, for which whoever sends a request waits for the page.
	timeoutHeader = "X-Prometheus-Scrape-Timeout-Seconds"
)

// pages makes pages. Many requests at a time may wait for a collection, which they share and which costs little; few
// pages at a time are assembled, which costs CPU time. A finished page waits in memory for its reader and blocks no
// other request.
type pages struct {
	runner  *collector.Runner
	waiting chan struct{} // one for every request in progress
	slots   chan struct{} // one for every page being assembled
	buffers sync.Pool     // of *bytes.Buffer
}

func newPages(runner *collector.Runner, slots int) *pages {
	return &pages{
		runner: runner, waiting: make(chan struct{}, maxWaiting), slots: make(chan struct{}, slots),
		buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }},
	}
}

// writePage writes one kind of page.
type writePage func(w http.ResponseWriter, r *http.Request, scrape *collector.Scrape)

// handler serves pages of one kind, of the collectors in ?collect[]=NAME or of all.
func (p *pages) handler(write writePage) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.waiting <- struct{}{}:
			defer func() { <-p.waiting }()
		default:
			refuse(w, fmt.Sprintf("%d requests are under way, no more at a time", cap(p.waiting)))
			return
		}
		p.serve(w, r, write)
	})
}

func (p *pages) serve(w http.ResponseWriter, r *http.Request, write writePage) {
	whole, collecting, cancel := deadlines(r)
	defer cancel()
	scrape, err := p.runner.Scrape(collecting, r.URL.Query()["collect[]"]...)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case p.slots <- struct{}{}:
	case <-whole.Done():
		refuse(w, fmt.Sprintf("%d pages are being made, no more at a time", cap(p.slots)))
		return
	}
	made := p.put(w, r, scrape, write)
	defer p.buffers.Put(made.body)
	made.send()
}

// put makes the page and always gives the slot back.
func (p *pages) put(w http.ResponseWriter, r *http.Request, scrape *collector.Scrape, write writePage) *heldPage {
	defer func() { <-p.slots }()
	body := p.buffers.Get().(*bytes.Buffer)
	body.Reset()
	made := &heldPage{ResponseWriter: w, status: http.StatusOK, body: body}
	write(made, r, scrape)
	return made
}

// heldPage holds a page back until it is complete.
type heldPage struct {
	http.ResponseWriter
	status int
	body   *bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (h *heldPage) WriteHeader(status int) { h.status = status }

// Write implements http.ResponseWriter.
func (h *heldPage) Write(text []byte) (int, error) { return h.body.Write(text) }

// send sends the page. The server's deadline ends a reader that does not take it.
func (h *heldPage) send() {
	h.Header().Set("Content-Length", strconv.Itoa(h.body.Len()))
	h.ResponseWriter.WriteHeader(h.status)
	h.ResponseWriter.Write(h.body.Bytes())
}

// refuse answers a request beyond the limit. Prometheus retries by itself.
func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// deadlines of a request: whole ends with the scraper's own timeout, which Prometheus sends in
// X-Prometheus-Scrape-Timeout-Seconds, collecting early enough before it for the page to be made and sent. A header
// that is no positive number is ignored.
func deadlines(r *http.Request) (whole, collecting context.Context, cancel context.CancelFunc) {
	seconds, err := strconv.ParseFloat(r.Header.Get(timeoutHeader), 64)
	const longest = 3600 // beyond it the timeout is no limit, and a Duration could overflow
	if err != nil || !(seconds > 0 && seconds < longest) {
		return r.Context(), r.Context(), func() {}
	}
	timeout := time.Duration(seconds * float64(time.Second))
	whole, cancelWhole := context.WithTimeout(r.Context(), timeout)
	collecting, cancelCollecting := context.WithTimeout(whole, max(timeout-transferTime, timeout/2))
	return whole, collecting, func() { cancelCollecting(); cancelWhole() }
}

// serveHealth answers that the server is up. It runs no collector: a machine in trouble is when the exporter is needed,
// not when it should be restarted.
func serveHealth(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintln(w, "ok")
}
