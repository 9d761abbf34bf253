package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/loadgen/render"
)

const (
	// mostWatchers is how many browsers watch a run at once.
	mostWatchers = 16
	// frameTimeout is how long a browser may take to read a frame.
	frameTimeout = 10 * time.Second
	// pageColumns is the width of the page before its script has measured the window.
	pageColumns = 100
)

// liveView is the page for people: the progress of a run, and its report when it has ended. The run stores its progress;
// each browser is served by its own goroutine, which draws for the width of its window and leaves out what a slow
// browser does not read in time.
type liveView struct {
	latest   atomic.Pointer[Progress]
	report   atomic.Pointer[string] // path of the report; nil while runs are made
	watchers atomic.Int64
}

// update shows the state of a run.
func (v *liveView) update(p Progress) { v.latest.Store(&p) }

// Report shows a report, a self-contained page, in place of the progress.
func (v *liveView) Report(path string) { v.report.Store(&path) }

// handle adds the pages to those of a server.
func (v *liveView) handle(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", v.page)
	mux.HandleFunc("GET /events", v.events)
	mux.HandleFunc("GET /"+render.LiveScriptFile, func(w http.ResponseWriter, _ *http.Request) {
		script, err := render.LiveScript()
		answer(w, "text/javascript; charset=utf-8", "default-src 'none'", script, err)
	})
}

// answer writes a page, or the error of making it.
func answer(w http.ResponseWriter, kind, policy string, text []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(text)
}

func (v *liveView) page(w http.ResponseWriter, r *http.Request) {
	if path := v.report.Load(); path != nil {
		h := w.Header()
		h.Set("Content-Security-Policy", render.Policy())
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		http.ServeFile(w, r, *path)
		return
	}
	view := render.LiveView{Title: "uma-load", Lines: v.lines(pageColumns), Links: []render.Span{render.Link("Metrics", "metrics")}} // one page shows several runs
	var text bytes.Buffer
	err := render.Live(&text, view)
	answer(w, "text/html; charset=utf-8", render.LivePolicy, text.Bytes(), err)
}

// lines draws the current state.
func (v *liveView) lines(columns int) [][]render.Span {
	if p := v.latest.Load(); p != nil {
		return p.Draw(columns)
	}
	return [][]render.Span{{render.Plain("No run has begun yet.")}}
}

// events sends frames until the browser leaves, does not read, or a report is shown.
func (v *liveView) events(w http.ResponseWriter, r *http.Request) {
	columns, err := strconv.Atoi(r.URL.Query().Get("columns"))
	if err != nil {
		http.Error(w, "columns: want a whole number", http.StatusBadRequest)
		return
	}
	defer v.watchers.Add(-1)
	if v.watchers.Add(1) > mostWatchers {
		http.Error(w, fmt.Sprintf("%d browsers watch this run, and no more can", mostWatchers), http.StatusServiceUnavailable)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	tick := time.NewTicker(redrawInterval)
	defer tick.Stop()
	var last []byte
	for {
		event, over, err := v.event(columns)
		if err == nil && !slices.Equal(event, last) {
			_ = out.SetWriteDeadline(time.Now().Add(frameTimeout))
			_, err = w.Write(event)
			err = errors.Join(err, out.Flush())
			last = event
		}
		if over || err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}

// event returns the current state as a server-sent event. The last one is that a report is shown.
func (v *liveView) event(columns int) (event []byte, last bool, err error) {
	if v.report.Load() != nil {
		return []byte("event: report\ndata: \n\n"), true, nil
	}
	text, err := json.Marshal(render.LiveFrame(v.lines(columns)))
	return fmt.Appendf(nil, "data: %s\n\n", text), false, err
}
