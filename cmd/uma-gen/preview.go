package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/cmd/webserver"
	"github.com/umascope/umascope/dashboards/grafana"
)

const (
	previewName    = "preview"
	previewAddress = "127.0.0.1:10429"
	// mostConnections and leaveTimeout limit the resources of slow readers.
	mostConnections = 128
	leaveTimeout    = 3 * time.Second
	// askTimeout is how long the check of the Prometheus may take before the pages are served.
	askTimeout = 2 * time.Second
)

const aboutPreview = `Shows the dashboards without Grafana, as pages that ask one Prometheus.

  uma-gen preview
  uma-gen preview --prometheus http://127.0.0.1:9090 --scrape-interval 15s

It is a preview: no editing, no zooming, no other data sources. Ctrl-C ends it.`

// previewFlags are the flags of the sub-command.
type previewFlags struct {
	prometheus, listen, dir string
	explicit                bool
	scrape                  time.Duration
	allowHosts              []string
}

// runPreview shows the dashboards until it is interrupted.
func runPreview(args []string, stdout, stderr io.Writer) int {
	flags, ended, err := parsePreview(args, stdout, stderr)
	switch {
	case ended:
		return exitDone
	case err != nil:
		return fail(stderr, exitInput, err)
	}
	if err := isCheckout(flags.dir); err != nil {
		return fail(stderr, exitInput, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return servePreview(ctx, flags, stdout, stderr)
}

func parsePreview(args []string, stdout, stderr io.Writer) (flags previewFlags, ended bool, err error) {
	app := kingpin.New("uma-gen preview", aboutPreview)
	app.Terminate(func(int) { ended = true }).UsageWriter(stdout).ErrorWriter(stderr)
	terminal.Guide{}.Apply(app)
	app.Flag("prometheus", "Address of the Prometheus that is asked.").Default("http://127.0.0.1:9090").StringVar(&flags.prometheus)
	app.Flag("listen", "Address to listen on.").Default(previewAddress).IsSetByUser(&flags.explicit).StringVar(&flags.listen)
	webserver.AllowHostFlag(app, &flags.allowHosts)
	app.Flag("dir", "Root of the checkout.").Default(".").StringVar(&flags.dir)
	terminal.Flag(app, "scrape-interval", "Scrape interval, from which Grafana works out steps and rates.", "5s", &flags.scrape, terminal.PositiveDuration)
	if _, err = app.Parse(args); err != nil || ended {
		return flags, ended, terminal.Mend(app, args, err)
	}
	if flags.listen == "" { // an empty address would be any port of every address
		return flags, false, errors.New(`--listen "": want HOST:PORT`)
	}
	return flags, false, nil
}

// servePreview listens and serves until the context ends.
func servePreview(ctx context.Context, flags previewFlags, stdout, stderr io.Writer) int {
	listener, err := listenPreview(flags, stderr)
	if err != nil {
		return fail(stderr, exitInput, err)
	}
	handler, err := grafana.NewPreview(grafana.PreviewConfig{
		Dashboards: os.DirFS(filepath.Join(flags.dir, "dashboards")), Prometheus: flags.prometheus, Scrape: flags.scrape,
	})
	if err != nil {
		listener.Close()
		return fail(stderr, exitInput, fmt.Errorf("--prometheus: %w", err))
	}
	if err := ask(ctx, flags.prometheus); err != nil {
		fmt.Fprintf(stderr, "uma-gen: warning: --prometheus: %v; until one answers there the pages are empty; compose/up sim starts one with something to see\n", err)
	}
	fmt.Fprintf(stdout, "dashboards on http://%s (a preview, not Grafana); interrupt to end\n", listener.Addr())
	server, limited := webserver.New(listener, handler, webserver.Settings{MostConnections: mostConnections, AllowHosts: flags.allowHosts})
	ended := context.AfterFunc(ctx, func() {
		limited, cancel := context.WithTimeout(context.Background(), leaveTimeout)
		defer cancel()
		if server.Shutdown(limited) != nil {
			server.Close()
		}
	})
	defer ended()
	if err := server.Serve(limited); !errors.Is(err, http.ErrServerClosed) {
		return fail(stderr, exitFailed, err)
	}
	return exitDone
}

// ask returns an error if a Prometheus does not answer. The error has the address, without a password.
func ask(ctx context.Context, prometheus string) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(prometheus, "/")+"/api/v1/status/buildinfo", http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Redacted(), response.Status)
	}
	return nil
}

// listenPreview opens the address. An explicit address that is taken is an error; for the default one it takes the next
// free port, with a warning.
func listenPreview(flags previewFlags, stderr io.Writer) (net.Listener, error) {
	listener, err := webserver.Listen(flags.listen, !flags.explicit)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--listen %s: %w; port 0 takes one that is free", flags.listen, webserver.ListenCause(err))
	}
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", flags.listen, webserver.ListenCause(err))
	}
	if actual := listener.Addr().String(); !flags.explicit && actual != flags.listen {
		fmt.Fprintf(stderr, "uma-gen: warning: %s is in use, listening on %s instead\n", flags.listen, actual)
	}
	if !onLoopback(listener) {
		fmt.Fprintf(stderr, "uma-gen: warning: %s is not of the loopback: the whole Prometheus can be read by whoever reaches it\n", listener.Addr())
	}
	return listener, nil
}

// onLoopback reports whether a listener can be reached from this machine only.
func onLoopback(listener net.Listener) bool {
	address, is := listener.Addr().(*net.TCPAddr)
	return is && address.IP.IsLoopback()
}
