package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
)

const (
	sendTimeout     = 30 * time.Second // for a slow reader, after the page is made
	shutdownTimeout = 5 * time.Second
	// mostConnections leaves room below maxWaiting, and takes half of the descriptors of a usual limit.
	mostConnections = 512

	// defaultThreads is enough to read hundreds of cgroups side by side. On a machine with 16 cores a scrape took
	// half as much CPU time again without a limit as with 2; node_exporter's default is 1.
	defaultThreads = 4
)

// serve serves pages until ctx ends, or prints one with --once.
func (l *commandLine) serve(ctx context.Context, stdout, stderr io.Writer) (err error) {
	opened, err := l.openHost(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	// At most the number of CPUs, fewer if that is set.
	runtime.GOMAXPROCS(min(l.threads, runtime.GOMAXPROCS(0)))
	e, err := New(opened.Host, Settings{
		Collectors: l.enabledCollectors(), Options: l.options, CollectTimeout: l.collectTimeout,
		MaxRequests: l.maxRequests, TelemetryPath: l.telemetryPath, HideOwnMetrics: l.hideOwnMetrics, Logger: l.logger(),
	})
	if err != nil {
		return inputError{err}
	}
	if l.recorder {
		if e.recorder, err = l.openRecorder(e, opened.Host); err != nil {
			return err
		}
	}
	if l.once {
		return e.WritePage(ctx, stdout)
	}
	return l.listenAndServe(ctx, e, stdout, stderr)
}

// WritePage writes one page in the text format, without the series of the exporter's own process.
func (e *Exporter) WritePage(ctx context.Context, w io.Writer) error {
	scrape, err := e.runner.Scrape(ctx)
	if err != nil {
		return err
	}
	found, gatherErr := scrape.Gather()
	encoder := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range found {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	return gatherErr
}

func (l *commandLine) listenAndServe(ctx context.Context, e *Exporter, stdout, stderr io.Writer) error {
	if err := web.Validate(*l.web.WebConfigFile); err != nil {
		return badInput("--web.config.file %s: %w", *l.web.WebConfigFile, err)
	}
	if !*l.web.WebSystemdSocket && usesVsock(*l.web.WebListenAddresses) {
		server := webserver.NewUnlimited(e.Handler(), l.serverSettings(e))
		return serveUntil(ctx, []serving{{server, func() error { return web.ListenAndServe(server, l.web, e.settings.Logger) }}})
	}
	listeners, err := l.listeners(stderr)
	if err != nil {
		return err
	}
	announce(stdout, listeners, e.settings.TelemetryPath, *l.web.WebConfigFile)
	defer e.record(ctx)()
	var all []serving
	for _, listener := range listeners {
		// Each listener gets a server of its own: the toolkit changes a server that it is given, and would
		// change a shared one while it already serves on another listener.
		server, limited := webserver.New(listener, e.Handler(), l.serverSettings(e))
		all = append(all, serving{server, func() error { return web.Serve(limited, server, l.web, e.settings.Logger) }})
	}
	return serveUntil(ctx, all)
}

// listeners are the sockets that systemd passed, or open ones at the addresses of the command line. In place of a default
// address that is taken, another one is of use only to a person who reads the warning: what a service or a container is
// asked for at its address would be answered by another program.
func (l *commandLine) listeners(stderr io.Writer) ([]net.Listener, error) {
	if *l.web.WebSystemdSocket {
		return passedSockets()
	}
	return listen(*l.web.WebListenAddresses, !l.explicitAddress && terminal.Is(stderr), stderr)
}

// serverSettings limit the cost of a reader.
func (l *commandLine) serverSettings(e *Exporter) webserver.Settings {
	return webserver.Settings{MostConnections: mostConnections, WriteTimeout: e.settings.CollectTimeout + sendTimeout, AllowHosts: l.allowHosts}
}

// usesVsock leaves sockets between virtual machines to the toolkit, which supports them.
func usesVsock(addresses []string) bool {
	for _, address := range addresses {
		if strings.HasPrefix(address, "vsock://") {
			return true
		}
	}
	return false
}

func announce(w io.Writer, listeners []net.Listener, path, webConfig string) {
	scheme := "http"
	if webConfig != "" {
		scheme = "http(s)" // the file decides which
	}
	for _, listener := range listeners {
		fmt.Fprintf(w, "serving %s://%s%s\n", scheme, listener.Addr(), path)
	}
}

// serving is a server and the function that runs it.
type serving struct {
	server *http.Server
	serve  func() error
}

// serveUntil serves until ctx ends, then lets pages in progress finish. If one server ends by itself, all do.
func serveUntil(ctx context.Context, all []serving) error {
	ended := make(chan error, len(all))
	for _, one := range all {
		go func() { ended <- one.serve() }()
	}
	running := len(all)
	var failure error
	select {
	case failure = <-ended:
		running--
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	for _, one := range all {
		if err := one.server.Shutdown(limited); err != nil {
			one.server.Close()
		}
	}
	for ; running > 0; running-- {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			failure = errors.Join(failure, err)
		}
	}
	if failure != nil {
		return fmt.Errorf("serving: %w", failure)
	}
	return nil
}
