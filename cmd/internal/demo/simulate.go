package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/cmd/webserver"
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

// simulation is a stage that is always in use: run after run, with an event at intervals.
type simulation struct {
	program Program
	options simulateOptions
	pace    pace
	log     *slog.Logger

	machine *machine
	servers servers

	// trouble is the reason why the last run failed, for the health page.
	trouble   atomic.Pointer[string]
	events    int       // events so far
	nextEvent time.Time // the time of the next one
}

// simulate runs until ctx ends. The run in flight then drains as on an interrupt of uma-load.
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
	if err := s.machine.stage.lively(ctx, s.options.seed); err != nil {
		return s.program.fail(exitFailed, err)
	}
	s.log.Info("simulated, all of it: no figure here is of a real machine", "host", s.options.host, "exporter", s.machine.exporterURL(),
		"engine", s.machine.engineURL(), "kvbm", s.machine.kvbmURL(), "runs", s.options.runs, "first_turn", first)
	s.events = first // so that a simulation that is restarted often does not play the same event every time
	s.perform(ctx, first)
	s.log.Info("ended")
	return exitDone
}

// open opens everything that can fail because of the command line, and serves.
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
	s.servers.allowHosts = s.options.allowHosts
	addresses := [...]struct{ flag, address string }{
		exporterPage: {"exporter.listen-address", s.options.exporter}, enginePage: {"engine.listen-address", s.options.engine}, kvbmPage: {"kvbm.listen-address", s.options.kvbm},
	}
	s.machine, err = openMachine(s.options.host, stageSettings{seed: s.options.seed, weights: weightBytes, factor: s.pace.factor}, func(page int) (listener, error) {
		return listen(addresses[page].flag, addresses[page].address, false)
	})
	if err != nil {
		return 0, err
	}
	s.machine.serve(&s.servers, s.exporterHandler())
	return firstTurn, nil
}

// checkLoadAddress checks at the start that the live page of runs can be served: each run opens its address anew.
func (s *simulation) checkLoadAddress() error {
	probe, err := listen("load.listen-address", s.options.load, false)
	if err != nil {
		return err
	}
	return probe.Close()
}

func (s *simulation) close() {
	if s.machine != nil {
		s.machine.stage.close()
	}
	s.servers.close()
}

// exporterHandler serves the exporter; its health page fails while runs fail.
func (s *simulation) exporterHandler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", s.machine.stage.exporterHandler())
	// The health page of the exporter, which here also reports failed runs.
	mux.HandleFunc("GET "+webserver.HealthPath, func(w http.ResponseWriter, r *http.Request) {
		if trouble := s.trouble.Load(); trouble != nil {
			http.Error(w, *trouble, http.StatusServiceUnavailable)
			return
		}
		s.machine.stage.exporterHandler().ServeHTTP(w, r)
	})
	return mux
}
