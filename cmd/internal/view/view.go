// Package view is uma-view: the scrapes, the storage, the rules and the query API of Prometheus in one process with the
// collectors of uma-exporter, the finished runs of uma-load, and the pages that show them.
package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/cmd/internal/memnet"
	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/dashboards/grafana"
	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/promexport"
)

// Exit codes, as of the other programs.
const (
	exitDone   = 0
	exitFailed = 1
	exitInput  = 2
)

// Limits of readers.
const (
	mostConnections = 128
	leaveTimeout    = 3 * time.Second
	probeTimeout    = 10 * time.Second // of a page: the first one of an exporter waits for the driver, and for discovery
)

// Run is the whole program. It returns the exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, verb, ended, err := parseOptions(args, stdout, stderr)
	switch {
	case ended:
		return exitDone
	case err != nil:
		return fail(stderr, exitInput, err)
	case verb == verbHealthcheck:
		return healthcheck(ctx, o, stdout, stderr)
	}
	v := newViewer(o, slog.New(newOnceLog(o.log.Logger(stderr).Handler())))
	defer v.close()
	guard, err := webserver.Protect(o.config)
	if err != nil {
		return fail(stderr, exitInput, fmt.Errorf("--%s %s: %w", webserver.ConfigFile, o.config, err))
	}
	listener, err := listen(o.listen, o.nextPort(stderr), stderr)
	if err != nil {
		return fail(stderr, exitCode(err), err)
	}
	v.site = guard.Scheme() + "://" + listener.Addr().String()
	if err := v.open(ctx); err != nil {
		listener.Close()
		return fail(stderr, exitCode(err), err)
	}
	pages, err := v.pages()
	if err != nil {
		listener.Close()
		return fail(stderr, exitFailed, err)
	}
	fmt.Fprintf(stdout, "uma-view on %s; samples in %s; %s\n", v.site, o.data, v.source)
	if hint := tunnel(listener.Addr(), guard.Scheme(), os.Getenv("SSH_CONNECTION"), os.Getenv("USER")); hint != "" {
		fmt.Fprintln(stdout, hint)
	}
	if v.lacksRuns() {
		fmt.Fprintln(stdout, v.runs+missingRunsText)
	}
	if err := v.serve(ctx, listener, guard, pages); err != nil {
		return fail(stderr, exitFailed, err)
	}
	return exitDone
}

// exitCode returns that of an error which ends the program.
func exitCode(err error) int {
	if errors.As(err, &inputError{}) {
		return exitInput
	}
	return exitFailed
}

func fail(stderr io.Writer, code int, err error) int {
	fmt.Fprintf(stderr, "uma-view: %v\n", err)
	return code
}

// viewer is the program while it runs.
type viewer struct {
	options
	network    *memnet.Network
	log        *slog.Logger
	site       string // address of the pages
	source     string // where the samples of this machine come from, in words
	target     *url.URL
	client     *http.Client // of the exporter
	database   *database
	notices    *notices
	results    *promexport.Results
	dashboards []dashboards.File
	boards     []grafana.Dashboard // the same
	drawing    chan struct{}       // has room for the reports that are drawn at a time
	servers    []*http.Server
	closing    []func()
}

func newViewer(o options, log *slog.Logger) *viewer {
	network := &memnet.Network{Outside: new(net.Dialer).DialContext}
	if len(o.live) == 0 {
		o.live = []string{defaultLive}
	}
	o.runsInterval = cmp.Or(o.runsInterval, time.Minute)
	return &viewer{
		options: o, network: network, log: log, drawing: make(chan struct{}, 1),
		client: &http.Client{
			Transport:     &http.Transport{DialContext: network.Dial},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// open starts the pages inside the process, and then the database, which scrapes them.
func (v *viewer) open(ctx context.Context) (err error) {
	if v.host == "" {
		if v.host, err = os.Hostname(); err != nil {
			return err
		}
	}
	if v.dashboards, err = dashboards.Files(); err != nil {
		return err
	}
	if v.boards, err = dashboardList(v.dashboards); err != nil {
		return err
	}
	if v.target, err = v.openExporter(ctx); err != nil {
		return err
	}
	if err := v.openRuns(); err != nil {
		return err
	}
	config, err := prometheusConfig(v.options, v.target, v.host)
	if err != nil {
		return err
	}
	rules, err := v.ruleFiles()
	if err != nil {
		return err
	}
	registry, count := newRegistry()
	v.notices = newNotices(v.site, v.webhooks, count, v.log)
	v.database, err = openDatabase(databaseConfig{
		Dir: v.data, RetentionTime: v.keep, RetentionBytes: v.keepBytes, Prometheus: config, EvaluationEvery: v.interval, Rules: rules,
		Dial: v.network.Dial, Registry: registry, Notify: v.notices.notify, Version: version(), Log: v.log,
	})
	if err != nil {
		return err
	}
	if err := v.serveInside(queryInside, v.database.handler()); err != nil {
		return err
	}
	sending, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); v.notices.run(sending) }()
	v.closing = append(v.closing, func() { stop(); <-ended })
	return nil
}

// newRegistry returns the registry of this program's own series.
func newRegistry() (*prometheus.Registry, *prometheus.CounterVec) {
	registry := prometheus.NewRegistry()
	about, notices := metric.ViewBuildInfo.Def(), metric.ViewNoticesTotal.Def()
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: about.Name, Help: about.HelpText()}, about.LabelNames())
	count := prometheus.NewCounterVec(prometheus.CounterOpts{Name: notices.Name, Help: notices.HelpText()}, notices.LabelNames())
	registry.MustRegister(info, count, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	b := build()
	info.WithLabelValues(b.Version, b.Revision, b.GoVersion).Set(1)
	return registry, count
}

// healthcheck is the verb of that name.
func healthcheck(ctx context.Context, o options, stdout, stderr io.Writer) int {
	err := webserver.Healthcheck(ctx, o.healthURL, o.healthConfig)
	if _, is := errors.AsType[webserver.FlagError](err); is {
		return fail(stderr, exitInput, err)
	}
	if err != nil {
		return fail(stderr, exitFailed, err)
	}
	fmt.Fprintln(stdout, "ok")
	return exitDone
}

// openExporter returns the metrics page of this machine: that of the flag, of a running exporter, or of this process.
func (v *viewer) openExporter(ctx context.Context) (*url.URL, error) {
	address := v.exporter
	if running := "http://" + exporter.DefaultAddress + exporter.DefaultTelemetryPath; address == "" && v.isExporter(ctx, running) {
		address = running
	}
	if address != "" {
		v.source = "this machine by " + address
		return url.Parse(address)
	}
	host, err := exporter.LiveHost()
	if err != nil {
		return nil, err
	}
	v.closing = append(v.closing, func() { host.GPU.Close() })
	pages, err := exporter.New(host, exporter.Settings{Logger: v.log})
	if err != nil {
		return nil, err
	}
	if err := v.serveInside(exporterInside, pages.Handler()); err != nil {
		return nil, err
	}
	v.source = "this machine by the collectors of this process"
	return &url.URL{Scheme: "http", Host: exporterInside, Path: exporter.DefaultTelemetryPath}, nil
}

// isExporter reports whether a page is that of uma-exporter.
func (v *viewer) isExporter(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return false
	}
	response, err := v.client.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	head, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return err == nil && strings.Contains(string(head), metric.ExporterBuildInfo.Def().Name)
}

// serveInside serves pages inside this process.
func (v *viewer) serveInside(address string, pages http.Handler) error {
	listener, err := v.network.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := webserver.NewUnlimited(pages, webserver.Settings{})
	v.servers = append(v.servers, server)
	go server.Serve(listener) //nolint:errcheck // it ends by Close
	return nil
}

func (v *viewer) serve(ctx context.Context, listener net.Listener, guard webserver.Protection, pages http.Handler) error {
	server, limited := webserver.New(listener, pages, webserver.Settings{MostConnections: mostConnections, AllowHosts: v.allowHosts})
	ended := context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		if server.Shutdown(limited) != nil {
			server.Close()
		}
	})
	defer ended()
	if err := guard.Serve(limited, server, v.log); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (v *viewer) close() {
	if v.database != nil {
		if err := v.database.close(); err != nil {
			v.log.Error("the samples were not closed", "why", err)
		}
	}
	for _, server := range v.servers {
		server.Close()
	}
	for _, end := range v.closing {
		end()
	}
}

// ruleFiles returns the rules of --rules, or those of the project.
func (v *viewer) ruleFiles() ([]ruleFile, error) {
	if v.ruleFolder != "" {
		return rulesIn(v.ruleFolder)
	}
	return shippedRules()
}

const ruleSuffix = ".yaml"

// rulesIn reads the rule files of a folder.
func rulesIn(folder string) (all []ruleFile, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*"+ruleSuffix))
	if err == nil && len(paths) == 0 {
		err = errors.New("it has no file *" + ruleSuffix)
	}
	for _, path := range paths {
		content, failed := os.ReadFile(path)
		err = errors.Join(err, failed)
		if failed == nil {
			_, wrong := rulefmt.Parse(content, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
			err = errors.Join(err, fileProblem(filepath.Base(path), wrong))
		}
		all = append(all, ruleFile{path, content})
	}
	if err != nil {
		return nil, inputError{fmt.Errorf("--rules %s: %w", folder, err)}
	}
	return all, nil
}

// fileProblem returns the first of some errors with the name of the file; nil without one.
func fileProblem(name string, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", name, errs[0])
}

// shippedRules returns the rule files of the project.
func shippedRules() ([]ruleFile, error) {
	files, err := alerts.Files()
	if err != nil {
		return nil, err
	}
	var rules []ruleFile
	for _, f := range files {
		if strings.HasSuffix(f.Name, ruleSuffix) {
			rules = append(rules, ruleFile{f.Name, f.Content})
		}
	}
	return rules, nil
}
