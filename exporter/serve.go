package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/exporter-toolkit/web"
)

const (
	headerTimeout   = 5 * time.Second
	sendTimeout     = 30 * time.Second // for a slow reader, after the page is made
	shutdownTimeout = 5 * time.Second
	maxHeaderBytes  = 64 << 10
)

// serve serves pages until ctx ends, or prints one with --once.
func (l *commandLine) serve(ctx context.Context, stdout, stderr io.Writer) (err error) {
	opened, err := l.openHost(true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.close()) }()
	e, err := New(opened.Host, Settings{
		Collectors: l.enabledCollectors(), Options: l.options, CollectTimeout: l.collectTimeout,
		MaxRequests: l.maxRequests, TelemetryPath: l.telemetryPath, HideOwnMetrics: l.hideOwnMetrics, Logger: l.logger(),
	})
	if err != nil {
		return inputError{err}
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
	server := newServer(e)
	serve := func() error { return web.ListenAndServe(server, l.web, e.settings.Logger) }
	if !*l.web.WebSystemdSocket && !usesVsock(*l.web.WebListenAddresses) {
		listeners, err := listen(*l.web.WebListenAddresses, l.explicitAddress, stderr)
		if err != nil {
			return err
		}
		serve = func() error { return web.ServeMultiple(listeners, server, l.web, e.settings.Logger) }
		announce(stdout, listeners, e.settings.TelemetryPath, *l.web.WebConfigFile)
	}
	return serveUntil(ctx, server, serve)
}

// newServer bounds what a client can cost: size and time of its headers, time to take the page, and
// time that a connection is kept with nothing on it.
func newServer(e *Exporter) *http.Server {
	return &http.Server{
		Handler: e.Handler(), MaxHeaderBytes: maxHeaderBytes,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout,
		WriteTimeout: e.settings.CollectTimeout + sendTimeout, IdleTimeout: 2 * time.Minute,
	}
}

// usesVsock leaves sockets between virtual machines to the toolkit, which knows them.
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
		scheme = "http(s)" // the file says which
	}
	for _, listener := range listeners {
		fmt.Fprintf(w, "serving %s://%s%s\n", scheme, listener.Addr(), path)
	}
}

// serveUntil serves until ctx ends, then lets pages that are being made be finished.
func serveUntil(ctx context.Context, server *http.Server, serve func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- serve() }()
	select {
	case err := <-ended:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		server.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}
