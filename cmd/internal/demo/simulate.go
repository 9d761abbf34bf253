package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/exporter"
)

// simulateOptions is the command line of simulate.
type simulateOptions struct {
	host                         string
	exporter, load, engine, kvbm string // addresses
	runs                         string
	every                        time.Duration
	keep                         int
	seed                         uint64
	allowHosts                   []string
}

// simulation is a stage that is always in use: runs one after the other, and now and then something that goes wrong.
type simulation struct {
	program Program
	options simulateOptions
	pace    pace
	log     *slog.Logger

	stage   *stage
	servers servers
	at      addresses

	// trouble is why the last run has not come about, and what the health page says.
	trouble   atomic.Pointer[string]
	events    int       // counts them
	nextEvent time.Time // when the next one is due
}

// healthyPath is that of the exporter's health page, which here knows of the runs too.
const healthyPath = "/-/healthy"

// simulate runs until ctx ends. The run in flight then ends as uma-load ends it.
func (p Program) simulate(ctx context.Context, o simulateOptions) int {
	return p.newSimulation(o, usualPace(o.every)).run(ctx)
}

func (p Program) newSimulation(o simulateOptions, pace pace) *simulation {
	return &simulation{program: p, options: o, pace: pace, log: slog.New(slog.NewTextHandler(p.Stdout, nil))}
}

func (s *simulation) run(ctx context.Context) int {
	first, err := s.open()
	if err != nil {
		s.close()
		return s.program.fail(exitInput, err)
	}
	defer s.close()
	if err := s.stage.lively(ctx, s.options.seed); err != nil {
		return s.program.fail(exitFailed, err)
	}
	s.log.Info("simulated, all of it: no figure here is of a real machine", "host", s.options.host, "exporter", s.exporterURL(),
		"engine", "http://"+s.at.engine, "kvbm", "http://"+s.at.kvbm+pagePath, "runs", s.options.runs, "first_turn", first)
	s.events = first // so that one that is started again and again does not play the same event every time
	s.perform(ctx, first)
	s.log.Info("ended")
	return exitDone
}

// open makes everything that can fail for what the command line says, and serves.
func (s *simulation) open() (firstTurn int, err error) {
	if s.options.runs, err = filepath.Abs(s.options.runs); err != nil {
		return 0, err
	}
	if err := checkRuns(s.options.runs); err != nil {
		return 0, err
	}
	if firstTurn, err = nextTurn(s.options.runs); err != nil {
		return 0, fmt.Errorf("--runs %s: %w", s.options.runs, err)
	}
	if err := s.checkLoadAddress(); err != nil {
		return 0, err
	}
	listeners, err := s.listenAll()
	if err != nil {
		return 0, err
	}
	s.servers.allowHosts = s.options.allowHosts
	s.stage, err = openStage(stageSettings{
		seed: s.options.seed, speed: s.pace.speed,
		enginePage: "http://" + s.at.engine + pagePath, kvbmPage: "http://" + s.at.kvbm + pagePath,
	})
	if err != nil {
		for _, l := range listeners {
			l.Close()
		}
		return 0, err
	}
	for i, handler := range []http.Handler{s.exporterHandler(), s.stage.engineHandler(), s.stage.kvbmHandler()} {
		s.servers.serve(listeners[i], handler)
	}
	return firstTurn, nil
}

// listenAll opens the addresses of exporter, engine and KVBM.
func (s *simulation) listenAll() ([]net.Listener, error) {
	var open []net.Listener
	for _, one := range []struct {
		flag, address string
		at            *string
	}{
		{"exporter.listen-address", s.options.exporter, &s.at.exporter},
		{"engine.listen-address", s.options.engine, &s.at.engine},
		{"kvbm.listen-address", s.options.kvbm, &s.at.kvbm},
	} {
		listener, at, err := listen(one.flag, one.address)
		if err != nil {
			for _, l := range open {
				l.Close()
			}
			return nil, err
		}
		*one.at = at
		open = append(open, listener)
	}
	return open, nil
}

// checkLoadAddress finds out now whether the live page of runs can be served: each run opens it anew.
func (s *simulation) checkLoadAddress() error {
	listener, _, err := listen("load.listen-address", s.options.load)
	if err != nil {
		return err
	}
	return listener.Close()
}

func (s *simulation) close() {
	if s.stage != nil {
		s.stage.close()
	}
	s.servers.close()
}

func (s *simulation) exporterURL() string {
	return "http://" + s.at.exporter + exporter.DefaultTelemetryPath
}

// exporterHandler is the exporter, whose health page is red while runs do not come about.
func (s *simulation) exporterHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.stage.exporterHandler())
	mux.HandleFunc("GET "+healthyPath, func(w http.ResponseWriter, r *http.Request) {
		if trouble := s.trouble.Load(); trouble != nil {
			http.Error(w, *trouble, http.StatusServiceUnavailable)
			return
		}
		s.stage.exporterHandler().ServeHTTP(w, r)
	})
	return mux
}
