package runner

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/telemetry"
)

const (
	// exporterPort is the default port of an exporter.
	exporterPort = "10420"
	// unknownMachine is the name of the machine behind a forwarded port.
	unknownMachine = "unknown"
)

// machine returns the location of the server under test. A load without a server is on this machine.
func (s CaptureSettings) machine(ctx context.Context) server.Location {
	if s.Server == "" {
		return server.Location{Here: true}
	}
	return server.Locate(ctx, s.Server)
}

// oneMachine reports whether all servers that share the load are on one machine, as far as this one can see.
func (s CaptureSettings) oneMachine(ctx context.Context) bool {
	first := s.machine(ctx)
	return !slices.ContainsFunc(s.Replicas, func(address string) bool {
		at := server.Locate(ctx, address)
		return at.Here != first.Here || at.Forwarder != first.Forwarder || !at.Here && at.Host != first.Host
	})
}

// ServerHere reports whether the server under test is on this machine, as far as this machine can see: see
// server.Locate.
func (s CaptureSettings) ServerHere(ctx context.Context) bool { return s.machine(ctx).Here }

// machineName returns the name of another machine, in letters, digits, dots, _ and -.
func machineName(at server.Location) string {
	if at.Forwarder != "" || at.Host == "" {
		return unknownMachine
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, at.Host)
}

// defaultExporter returns the exporter that is followed if the settings name none: this machine's, at the address
// local, if the server is here, else the one at the port of the server's machine. If it does not answer, there is no
// telemetry, and a log message names the flag.
func defaultExporter(ctx context.Context, at server.Location, local, port string, client *http.Client, log *slog.Logger) ([]telemetry.Source, error) {
	switch {
	case at.Forwarder != "":
		log.Warn("no telemetry: the port of the server is forwarded to another machine; --telemetry NAME=URL names the exporter there", "by", at.Forwarder)
		return nil, nil
	case !at.Here:
		there := telemetry.Source{Name: machineName(at), URL: "http://" + net.JoinHostPort(at.Host, port), Client: client}
		if err := telemetry.Probe(ctx, there); err != nil {
			log.Warn("no telemetry: the server is on another machine, where no exporter answers; --telemetry NAME=URL names one", "tried", there.URL)
			return nil, nil
		}
		log.Info("telemetry of the server's machine", "from", there.URL)
		return []telemetry.Source{there}, nil
	}
	here := telemetry.Source{URL: local, Client: client}
	if telemetry.Probe(ctx, here) != nil {
		log.Info("no telemetry: no exporter answers on this machine; --telemetry NAME=URL names one", "tried", local)
		return nil, nil
	}
	// It has this machine's name. The label host may name another machine.
	var err error
	here.Name, err = os.Hostname()
	return []telemetry.Source{here}, err
}
