package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"syscall"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/runner"
)

// DefaultResultsAddress is the default address where finished runs are served.
const DefaultResultsAddress = "127.0.0.1:10422"

const serveHelp = `Serve finished runs and saved comparisons to Prometheus.

  uma-load serve --runs runs
  uma-load healthcheck --web.listen-address 127.0.0.1:10422  # is it alive?

The newest runs of every cell of host, arm, scenario, engine and model are shown, and what compare --save
saved beside them.

Scrape it with honor_labels: true: the label host is the machine that was measured. A page for people is at /.
What is added to the folder is seen by the next scrape; a run that goes on is passed by until it has a summary.`

// serveLine holds the flags of the verb serve.
type serveLine struct {
	runs          string
	web           runner.ListenAddress
	perCell, most int
	log           terminal.Log
}

func serveVerb(app *kingpin.Application) verb {
	l := &serveLine{}
	clause := app.Command("serve", serveHelp)
	terminal.Flag(clause, "runs", "Folder that the folders of runs lie in, or in folders of it.", "runs", &l.runs, terminal.Text)
	terminal.Flag(clause, "web.listen-address", "Address of the page; if given and in use, exit code 2.", DefaultResultsAddress, &l.web.HostPort, parseListenAddress).IsSetByUser(&l.web.Explicit)
	readerFlags(clause, &l.web)
	terminal.Flag(clause, "runs-per-cell", "How many runs of a cell are shown, the newest.", "10", &l.perCell, terminal.AtLeast(1))
	terminal.Flag(clause, "max-runs", "How many runs are shown in all, the newest.", "500", &l.most, terminal.AtLeast(1))
	l.log.Flags(clause, defaultLogLevel)
	return verb{clause, func(ctx context.Context, p Program) error {
		return l.run(ctx, l.address(p.Stderr), p.Cut, l.log.Logger(p.Stderr))
	}}
}

// address returns where to serve. In place of a default port that is taken, another one is of use only to a person who reads
// the warning: what a service is asked for at its address would be answered by another program.
func (l *serveLine) address(stderr io.Writer) runner.ListenAddress {
	address := l.web
	address.Explicit = address.Explicit || !terminal.Is(stderr)
	return address
}

// run carries out the verb serve until the context or cut ends it.
func (l *serveLine) run(ctx context.Context, address runner.ListenAddress, cut <-chan struct{}, log *slog.Logger) error {
	results := l.served()
	if err := results.Check(); err != nil {
		return usage(fmt.Errorf("--runs: %w", err))
	}
	build := buildVersion()
	handler, err := promexport.Handler(results, promexport.Program{Version: build.Version, Revision: build.Revision, GoVersion: build.GoVersion}, log)
	if err != nil {
		return err
	}
	page, err := runner.ServePage(address, handler, log)
	if errors.Is(err, syscall.EADDRNOTAVAIL) { // the address may appear when its link comes up, so a supervisor should retry
		return fmt.Errorf("--web.listen-address %s: this machine has no such address, or not yet", address.HostPort)
	}
	if err != nil {
		return usage(err)
	}
	defer page.Close()
	first := results.Look()
	for _, problem := range first.Problems {
		log.Warn("not shown", "problem", problem)
	}
	log.LogAttrs(ctx, slog.LevelInfo, "serving", slog.String("url", page.URL()), slog.Int("runs", len(first.Runs)), slog.Int("comparisons", len(first.Comparisons)))
	select {
	case <-ctx.Done():
	case <-cut:
	}
	return nil
}

// served returns the folder of runs that is served.
func (l *serveLine) served() *promexport.Results {
	return promexport.New(l.runs, l.perCell, l.most)
}
