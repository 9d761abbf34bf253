package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// errNoURL is the error of a verb that has no server under test.
var errNoURL = errors.New("missing --url of the server under test, such as --url http://127.0.0.1:8000")

// target returns the server under test of a verb, with the level of its log; nil for a verb without one.
func (l *commandLine) target(verb string) (t *server.Target, log terminal.Log) {
	switch verb {
	case "run":
		return &l.settings.Target, l.settings.log
	case "sweep":
		return &l.sweepRun.Target, l.sweepRun.log
	case "arena":
		return &l.arenaRun.Target, l.arenaRun.log
	case "check":
		return &l.check.target, terminal.LogAt(defaultLogLevel)
	}
	return nil, log
}

// withServer returns a command line that lacks --url with that of the only engine that the exporter of this machine has
// found, and other command lines unchanged.
func (p Program) withServer(ctx context.Context, line *commandLine, verb string) (*commandLine, error) {
	target, log := line.target(verb)
	if target == nil || target.URL != "" {
		return line, nil
	}
	if p.Exporter == "" {
		return nil, errNoURL
	}
	found, err := p.findEngine(ctx)
	if err != nil {
		return nil, err
	}
	whole := newCommandLine(p.Stdout)
	_, _, err = whole.parse(slices.Insert(slices.Clone(line.args), slices.Index(line.args, verb)+1, "--url="+found.URL))
	if err != nil {
		return nil, err
	}
	target, _ = whole.target(verb)
	target.FoundBy = p.Exporter
	log.Logger(p.Stderr).Info("the server under test is the engine that the exporter has found", "url", target.URL, "engine", found.Name, "exporter", p.Exporter)
	return whole, nil
}

// findEngine asks the exporter. A cache has a page and no API. Of several servers, those without an OpenAI-compatible API
// do not count, such as the workers behind a frontend.
func (p Program) findEngine(ctx context.Context) (telemetry.Engine, error) {
	engines, err := telemetry.Engines(ctx, telemetry.Source{URL: p.Exporter}, supported.Engines())
	if err != nil {
		return telemetry.Engine{}, fmt.Errorf("%w; no exporter names an engine: %w", errNoURL, err)
	}
	engines = slices.DeleteFunc(engines, func(e telemetry.Engine) bool {
		known, is := supported.Engines().Find(e.Name)
		return is && !known.HasAPI()
	})
	if len(engines) > 1 {
		engines = slices.DeleteFunc(engines, func(e telemetry.Engine) bool { return !server.IsOpenAI(ctx, e.URL) })
	}
	if len(engines) == 1 {
		return engines[0], nil
	}
	if len(engines) == 0 {
		return telemetry.Engine{}, fmt.Errorf("%w; the exporter at %s has found no engine with an OpenAI-compatible API; uma-exporter doctor lists the sockets that it looked at", errNoURL, p.Exporter)
	}
	var names []string
	for _, e := range engines {
		names = append(names, e.String())
	}
	return telemetry.Engine{}, fmt.Errorf("missing --url: the exporter at %s has found %d engines: %s", p.Exporter, len(engines), strings.Join(names, ", "))
}
