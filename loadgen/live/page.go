package live

import (
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// Page serves the live metrics of one run after the other. A run stays on the page until the next is shown.
type Page struct {
	listener net.Listener
	guard    protection
	shown    atomic.Pointer[http.Handler]
	stop     func()
}

// OpenPage listens; the page has no series until a run is shown. Its error is an AddressError or a ConfigError.
func OpenPage(a Address, log *slog.Logger) (*Page, error) {
	return Serve(a, (&Run{registry: prometheus.NewRegistry()}).handler(), log)
}

// Serve listens and serves the handler. Its error is an AddressError or a ConfigError.
func Serve(a Address, handler http.Handler, log *slog.Logger) (*Page, error) {
	guard, err := protect(a.ConfigFile)
	if err != nil {
		return nil, err
	}
	listener, err := listen(a, log)
	if err != nil {
		return nil, err
	}
	p := &Page{listener: listener, guard: guard}
	p.shown.Store(&handler)
	p.stop = serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.shown.Load()).ServeHTTP(w, r) }), a.AllowHosts, guard, log)
	return p, nil
}

// Show replaces the run on the page.
func (p *Page) Show(r *Run) {
	handler := r.handler()
	p.shown.Store(&handler)
}

// URL returns the URL of the series.
func (p *Page) URL() string {
	return p.guard.scheme() + "://" + p.listener.Addr().String() + "/metrics"
}

// Close stops serving. It does nothing on a nil Page.
func (p *Page) Close() {
	if p != nil {
		p.stop()
	}
}
