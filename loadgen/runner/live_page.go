package runner

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/cmd/webserver"
)

// LivePage serves one run after the other: its live metrics, and its progress as a page for people. A run stays on the
// page until the next is shown, or until a report takes its place.
type LivePage struct {
	liveView
	listener net.Listener
	guard    webserver.Protection
	metrics  atomic.Pointer[http.Handler]
	stop     func()
}

// OpenLivePage listens; the page has no series until a run is shown. Its error is an InputError that names the flag.
func OpenLivePage(a ListenAddress, n Network, log *slog.Logger) (*LivePage, error) {
	p := &LivePage{}
	p.show(&liveRun{registry: prometheus.NewRegistry()})
	mux := http.NewServeMux()
	p.handle(mux)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { (*p.metrics.Load()).ServeHTTP(w, r) })
	return p.open(a, n, mux, log)
}

// ServePage listens and serves the handler. Its error is an InputError that names the flag.
func ServePage(a ListenAddress, handler http.Handler, log *slog.Logger) (*LivePage, error) {
	return (&LivePage{}).open(a, Network{}, handler, log)
}

func (p *LivePage) open(a ListenAddress, n Network, handler http.Handler, log *slog.Logger) (*LivePage, error) {
	var err error
	if p.guard, err = webserver.Protect(a.ConfigFile); err != nil {
		return nil, inputOf("--"+webserver.ConfigFile+" "+a.ConfigFile, err)
	}
	if p.listener, err = listen(a, n, log); err != nil {
		return nil, err
	}
	p.stop = serve(p.listener, handler, a.AllowHosts, p.guard, log)
	return p, nil
}

// show replaces the run on the page.
func (p *LivePage) show(r *liveRun) {
	handler := r.handler()
	p.metrics.Store(&handler)
}

// URL returns the URL of the series.
func (p *LivePage) URL() string {
	return p.guard.Scheme() + "://" + p.listener.Addr().String() + "/metrics"
}

// Close stops serving. It does nothing on a nil Page.
func (p *LivePage) Close() {
	if p != nil {
		p.stop()
	}
}
