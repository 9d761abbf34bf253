package gauge

import (
	_ "embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/live"
)

// mostScrapes is how many pages are made at once; who asks for more is told to come later.
const mostScrapes = 8

//go:embed index.html
var indexText string

// Program is what serves, as its build recorded itself.
type Program struct{ Version, Revision, GoVersion string }

// Handler serves what lies on the shelf: the series, a page for people, and whether it is alive.
func Handler(s *Shelf, p Program, log *slog.Logger) (http.Handler, error) {
	index, err := template.New("index").Funcs(template.FuncMap{"figure": figure}).Parse(indexText)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	if err := errors.Join(registry.Register(collector{s}), registry.Register(build(p))); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError),
	}))
	mux.HandleFunc("GET "+live.HealthPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := index.Execute(w, newIndex(s, p)); err != nil {
			log.Error("page", "problem", err.Error())
		}
	})
	return mux, nil
}

// figure is a number with so many decimals; empty if there is none.
func figure(decimals int, v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', decimals, 64)
}

// build says which program serves.
func build(p Program) prometheus.Collector {
	d := metric.LoadBuildInfo.Def()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.HelpText()}, d.LabelNames())
	gauge.WithLabelValues(p.Version, p.Revision, p.GoVersion).Set(1)
	return gauge
}

// index is what the page for people shows.
type index struct {
	*Shown
	Program
	Root string
	Rows []indexRow
}

// indexRow is a run.
type indexRow struct {
	Run, Started, Arm, Scenario, Engine, Model, Host, Mode string
	Valid, Simulated                                       bool
	Tokens                                                 *float64
}

func newIndex(s *Shelf, p Program) index {
	i := index{Shown: s.Look(), Program: p, Root: s.Root}
	for _, r := range i.Runs {
		line := indexRow{
			Run: r.info.run, Started: r.started.UTC().Format(time.DateTime), Arm: r.info.arm, Scenario: r.info.scenario,
			Engine: r.info.engine, Model: r.info.model, Host: r.info.host, Mode: r.mode, Valid: r.valid, Simulated: r.simulated,
		}
		for _, f := range r.figures {
			if f.family == &metric.RunOutputTokensPerSecond {
				line.Tokens = &f.value
			}
		}
		i.Rows = append(i.Rows, line)
	}
	return i
}
