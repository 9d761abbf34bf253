// Package exporter is uma-exporter: flags to collectors to HTTP server.
//
// Run is the whole program as a function of its arguments. New is for programs that bring a
// host of their own, such as a recorded or simulated one.
package exporter

import (
	"cmp"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/recorder"
)

const (
	// DefaultAddress is the default listen address: loopback, because the pages name processes and containers.
	DefaultAddress = "127.0.0.1:10420"
	// DefaultTelemetryPath is the default path of the metrics.
	DefaultTelemetryPath = "/metrics"

	healthyPath = "/-/healthy"
	readyPath   = "/-/ready"
	explainPath = "/explain.json"
	landingPath = "/{$}"

	lastBootPath     = "/last-boot"
	lastBootJSONPath = "/last-boot.json"

	defaultMaxRequests = 40
)

// Settings of an Exporter; every zero value has a default.
type Settings struct {
	// Collectors names the collectors that may run, all when nil.
	Collectors []string
	// Options are the settings of single collectors.
	Options collector.Options
	// CollectTimeout is the timeout of every collector and every scrape, collector.DefaultTimeout when 0.
	CollectTimeout time.Duration
	// MaxRequests is the maximum number of pages assembled at once; further requests wait for their turn. 40 when 0.
	MaxRequests int
	// TelemetryPath is the path of the metrics, DefaultTelemetryPath when empty.
	TelemetryPath string
	// HideOwnMetrics leaves out the go_ and process_ series of the exporter itself.
	HideOwnMetrics bool
	// Logger receives changes of condition. Nil disables logging.
	Logger *slog.Logger
}

// Exporter serves the pages of one host.
type Exporter struct {
	settings Settings
	runner   *collector.Runner
	proc     hostfs.Dir
	pages    *pages
	own      []prometheus.Gatherer // of the exporter itself, empty when hidden
	landing  *template.Template
	recorder *recorder.Recorder // nil without --recorder
}

// New creates the exporter of a host. Its error names the invalid setting.
func New(host collector.Host, settings Settings) (*Exporter, error) {
	specs, err := pickSpecs(settings.Collectors)
	if err != nil {
		return nil, err
	}
	return newExporter(host, specs, settings)
}

func newExporter(host collector.Host, specs []collector.Spec, settings Settings) (*Exporter, error) {
	settings.TelemetryPath = cmp.Or(settings.TelemetryPath, DefaultTelemetryPath)
	settings.MaxRequests = cmp.Or(settings.MaxRequests, defaultMaxRequests)
	settings.CollectTimeout = cmp.Or(settings.CollectTimeout, collector.DefaultTimeout)
	if settings.Options.Sources.Known == nil {
		settings.Options.Sources.Known = supported.Engines()
	}
	settings.Logger = cmp.Or(settings.Logger, slog.New(slog.DiscardHandler))
	if err := settings.check(); err != nil {
		return nil, err
	}
	page, err := parseLanding()
	if err != nil {
		return nil, err
	}
	runner := collector.NewRunner(host, settings.Options, specs, collector.RunnerSettings{
		Timeout: settings.CollectTimeout, Build: readBuild().Build, Logger: settings.Logger,
	})
	e := &Exporter{settings: settings, runner: runner, proc: host.Proc, pages: newPages(runner, settings.MaxRequests), landing: page}
	if !settings.HideOwnMetrics {
		e.own = []prometheus.Gatherer{newOwn()}
	}
	return e, nil
}

func (s Settings) check() error {
	switch {
	case s.MaxRequests < 0:
		return fmt.Errorf("--web.max-requests %d: must be at least 1", s.MaxRequests)
	case s.CollectTimeout < 0:
		return fmt.Errorf("--collect.timeout %v: must be positive", s.CollectTimeout)
	case s.Options.ProcessLimit < 0:
		return fmt.Errorf("--gpu.processes %d: must not be negative", s.Options.ProcessLimit)
	case !isPagePath(s.TelemetryPath) || slices.Contains([]string{"/", explainPath, lastBootPath, lastBootJSONPath, healthyPath, readyPath}, s.TelemetryPath):
		return fmt.Errorf("--web.telemetry-path %q: must be a path such as %s that no other page has", s.TelemetryPath, DefaultTelemetryPath)
	}
	return nil
}

// isPagePath reports whether a request can have this path: one in its shortest form, without a query and without
// characters that need escaping. The mux panics on some other paths, and never matches the rest.
func isPagePath(text string) bool {
	plain := url.URL{Path: text}
	return strings.HasPrefix(text, "/") && plain.EscapedPath() == text &&
		(path.Clean(text) == text || path.Clean(text)+"/" == text)
}

// pickSpecs returns the collectors named, in order, all when names is nil.
func pickSpecs(names []string) ([]collector.Spec, error) {
	all := collector.All()
	if names == nil {
		return all, nil
	}
	var known []string
	var picked []collector.Spec
	for _, spec := range all {
		known = append(known, spec.Name)
		if slices.Contains(names, spec.Name) {
			picked = append(picked, spec)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("no collector %q; there are: %s", name, strings.Join(known, ", "))
		}
	}
	return picked, nil
}

// Handler serves the metrics, the health pages, the landing page and what explain prints, as JSON.
func (e *Exporter) Handler() http.Handler {
	mux := http.NewServeMux()
	// A pattern with method GET matches HEAD too; other methods are answered 405.
	mux.Handle("GET "+e.settings.TelemetryPath, e.pages.handler(e.writeMetrics))
	mux.Handle("GET "+landingPath, e.pages.handler(e.writeLanding))
	mux.Handle("GET "+explainPath, e.pages.handler(e.writeExplanation))
	mux.HandleFunc("GET "+lastBootPath, e.serveLastBoot)
	mux.HandleFunc("GET "+lastBootJSONPath, e.serveLastBoot)
	mux.HandleFunc("GET "+healthyPath, serveHealth)
	mux.HandleFunc("GET "+readyPath, serveHealth)
	return mux
}
