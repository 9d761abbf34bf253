package grafana

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
)

// embedded are the pages with their scripts and styles, and the chart library with its licence.
//
//go:embed assets page.html index.html site.html
var embedded embed.FS

// assetServer serves scripts and styles.
func assetServer() http.Handler {
	assets, err := fs.Sub(embedded, "assets")
	if err != nil {
		return http.NotFoundHandler() // cannot happen: the folder is embedded
	}
	files := http.StripPrefix("/assets/", http.FileServerFS(assets))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}

// shell is the content of the pages before their scripts run.
type shell struct {
	Dashboard  Dashboard
	Dashboards []Dashboard
	Prometheus string // its address, or its name on a site
	Problem    string
	Index      string
	Site       *Site
}

// newShell returns a shell without a dashboard.
func (s *server) newShell(all []Dashboard) shell {
	return shell{Dashboards: all, Prometheus: strings.TrimPrefix(s.asks.String(), "the "), Index: s.indexPath(), Site: s.config.Site}
}

// page serves the frame of a dashboard; the script fills it.
func (s *server) page(w http.ResponseWriter, r *http.Request) {
	d, all, err := s.find(r)
	out := s.newShell(all)
	if err != nil {
		out.Problem = err.Error()
		s.answer(w, http.StatusNotFound, "index.html", out)
		return
	}
	out.Dashboard = d
	s.answer(w, http.StatusOK, "page.html", out)
}

// index lists the dashboards.
func (s *server) index(w http.ResponseWriter, _ *http.Request) {
	all, err := readDashboards(s.config.Dashboards)
	out := s.newShell(all)
	if err != nil {
		out.Problem = err.Error()
	}
	s.answer(w, http.StatusOK, "index.html", out)
}

func (s *server) answer(w http.ResponseWriter, status int, name string, with shell) {
	var page bytes.Buffer
	parsed, err := template.ParseFS(embedded, name, "site.html")
	if err == nil {
		err = parsed.Execute(&page, with)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // an error means that the reader has gone
}
