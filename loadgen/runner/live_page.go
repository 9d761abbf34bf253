package runner

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/cmd/webserver"
)

// LivePage serves the live metrics of one run after the other. A run stays on the page until the next is shown.
type LivePage struct {
	listener net.Listener
	guard    webserver.Protection
	shown    atomic.Pointer[http.Handler]
	stop     func()
}

// OpenLivePage listens; the page has no series until a run is shown. Its error is an InputError that names the flag.
func OpenLivePage(a ListenAddress, log *slog.Logger) (*LivePage, error) {
	return ServePage(a, (&liveRun{registry: prometheus.NewRegistry()}).handler(), log)
}

// ServePage listens and serves the handler. Its error is an InputError that names the flag.
func ServePage(a ListenAddress, handler http.Handler, log *slog.Logger) (*LivePage, error) {
	guard, err := webserver.Protect(a.ConfigFile)
	if err != nil {
		return nil, inputOf("--"+webserver.ConfigFile+" "+a.ConfigFile, err)
	}
	listener, err := listen(a, log)
	if err != nil {
		return nil, err
	}
	p := &LivePage{listener: listener, guard: guard}
	p.shown.Store(&handler)
	p.stop = serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.shown.Load()).ServeHTTP(w, r) }), a.AllowHosts, guard, log)
	return p, nil
}

// show replaces the run on the page.
func (p *LivePage) show(r *liveRun) {
	handler := r.handler()
	p.shown.Store(&handler)
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
