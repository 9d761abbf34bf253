package grafana

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// PreviewConfig configures a preview.
type PreviewConfig struct {
	// Dashboards holds the dashboards' JSON files.
	Dashboards fs.FS
	// Dial connects to the Prometheus; nil for the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Prometheus is the address of the Prometheus.
	Prometheus string
	// Site is set where the dashboards are pages among others; nil for a preview, whose list of dashboards is at /.
	Site *Site
	// Scrape is the scrape interval in the settings of Grafana's data source, 0 for Grafana's default of 15 s.
	Scrape time.Duration
	// Timeout is the time limit of one answer of Prometheus, 0 for 20 s.
	Timeout time.Duration
	// Now returns the present of the data in Prometheus, nil for the wall clock: a simulation has a clock of its own.
	Now func() time.Time
}

// Site is what the pages of dashboards show of the site that they belong to.
type Site struct {
	// Index is the path of the list of dashboards, such as /dashboards/.
	Index string
	// Source names the Prometheus on the pages, in place of its address.
	Source string
	// Pages are the links of the bar above each page.
	Pages []SitePage
}

// SitePage is a page of the site.
type SitePage struct{ Title, Address string }

// sourceUID is the data source in addresses; the compose stack's Grafana has the same.
const sourceUID = "prometheus"

// renderTimeout is the time limit of all answers of one page together.
const renderTimeout = 2 * time.Minute

// server shows dashboards.
type server struct {
	config PreviewConfig
	asks   *prometheus
	assets http.Handler
}

// NewPreview returns the handler of a preview. It sends no query yet: the pages report a Prometheus that does not answer.
func NewPreview(config PreviewConfig) (http.Handler, error) {
	if config.Timeout == 0 {
		config.Timeout = answerTimeout
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	asks, err := openPrometheus(config)
	if err != nil {
		return nil, err
	}
	s := &server{config: config, asks: asks, assets: assetServer()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+s.indexPath()+"{$}", s.index)
	mux.HandleFunc("GET /d/{uid}", s.page)
	mux.HandleFunc("GET /d/{uid}/{slug}", s.page)
	mux.HandleFunc("GET /render/{uid}", s.render)
	mux.Handle("GET /assets/", s.assets)
	return s.guarded(mux), nil
}

// indexPath is the path of the list of dashboards.
func (s *server) indexPath() string {
	if s.config.Site != nil {
		return s.config.Site.Index
	}
	return "/"
}

// policy keeps pages from loading anything from other servers, from running scripts that are written into them, and
// from being framed. Styles are set by scripts and never written into pages.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// guarded sets the headers of every answer and rejects requests that come from other sites.
func (s *server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if strings.HasPrefix(r.URL.Path, "/render/") && r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			http.Error(w, "another site asks", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// find reads the folder and the dashboard of a request. It reports files that cannot be read only if the dashboard is
// not found: one of them may be the dashboard.
func (s *server) find(r *http.Request) (found Dashboard, all []Dashboard, err error) {
	all, problems := readDashboards(s.config.Dashboards)
	for _, d := range all {
		if d.UID == r.PathValue("uid") {
			return d, all, nil
		}
	}
	return found, all, errors.Join(errors.New("there is no such dashboard"), problems)
}

// render sends the data of a page, a line of JSON at a time: first the description of the dashboard, then its
// annotations and its panels as Prometheus answers.
func (s *server) render(w http.ResponseWriter, r *http.Request) {
	d, all, err := s.find(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	look, err := readLook(r.URL.Query(), d, s.config.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), renderTimeout)
	defer cancel()
	settings := Settings{Source: sourceUID, Scrape: s.config.Scrape, Window: look.window, Chosen: look.chosen}
	scope := s.resolve(ctx, d, settings)
	out := describe(d, all, look, scope)
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := &lineWriter{to: w}
	lines.write(out)
	s.answerAll(ctx, lines, d, scope, look)
	lines.write(struct {
		Kind string `json:"kind"`
	}{"end"})
}

// resolve queries the values of all variables, within the time limit of one answer: if Prometheus does not answer, the
// page reports it after one timeout and not after one for each variable.
func (s *server) resolve(ctx context.Context, d Dashboard, settings Settings) Scope {
	limited, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	return Resolve(limited, d, settings, s.asks.source())
}

// answerAll runs all queries of what is shown concurrently, up to askedAtOnce.
func (s *server) answerAll(ctx context.Context, lines *lineWriter, d Dashboard, scope Scope, l look) {
	var asking sync.WaitGroup
	asking.Go(func() { lines.write(s.asks.answerEvents(ctx, scope, d)) })
	for _, p := range d.Panels {
		if !d.shown(p, l.opened) {
			continue
		}
		asking.Go(func() { lines.write(s.asks.answerPanel(ctx, scope, p, l.points(p))) })
	}
	asking.Wait()
}

// lineWriter writes values as lines, each at once.
type lineWriter struct {
	mu sync.Mutex
	to http.ResponseWriter
}

func (l *lineWriter) write(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		line = []byte(`{"kind":"failed"}`)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.to.Write(append(line, '\n')); err != nil {
		return // the page has gone; the context ends the rest
	}
	if flusher, can := l.to.(http.Flusher); can {
		flusher.Flush()
	}
}
