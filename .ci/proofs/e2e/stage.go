package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/sim"
)

// The hosts. Each is a target of job uma-exporter with its name as label host.
const (
	spark   = "spark"   // serves models; its memory is used up later
	oven    = "oven"    // in a room of 60 degrees; later its memory is short, but not critically
	victim  = "victim"  // a process is killed for lack of memory, then its exporter goes
	nobody  = "nobody"  // a target that has never answered
	clients = "clients" // where uma-load runs: a target of job uma-load, and no machine that is measured
)

// stage has all programs and machines.
type stage struct {
	files  files
	folder string

	machines  map[string]*machine
	inference *inference
	inbox     *inbox
	addresses map[string]string // of exporters, by host

	prometheusAddress, alertmanagerAddress, loadAddress, resultsAddress string

	prometheus api
	processes  []*process
	longRun    *process
	warmer     *sim.Process // of oven
}

func newStage(f files, folder string) *stage {
	return &stage{files: f, folder: folder, machines: map[string]*machine{}, addresses: map[string]string{}}
}

// start starts everything and waits until it answers.
func (s *stage) start(ctx context.Context) (string, error) {
	for _, begin := range []func() error{s.chooseAddresses, s.makeFolders, s.startMachines, s.startPrograms} {
		if err := begin(); err != nil {
			return "", err
		}
	}
	for name, url := range map[string]string{
		"Prometheus": "http://" + s.prometheusAddress + "/-/ready", "Alertmanager": "http://" + s.alertmanagerAddress + "/-/ready",
		"uma-load serve": "http://" + s.resultsAddress + "/metrics", "the engine": "http://" + s.inference.address + "/health",
	} {
		if err := until(ctx, time.Minute, func(ctx context.Context) error { return s.answers(ctx, url) }); err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
	}
	return fmt.Sprintf("%d machines, %d programs", len(s.machines), len(s.processes)), nil
}

// answers requests a page; if a program of ours has ended, the error reports that instead.
func (s *stage) answers(ctx context.Context, url string) error {
	for _, p := range s.processes {
		if err := p.running(); err != nil {
			return err
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}

func (s *stage) chooseAddresses() error {
	s.inference, s.inbox = &inference{}, &inbox{}
	wanted := []*string{
		&s.prometheusAddress, &s.alertmanagerAddress, &s.loadAddress, &s.resultsAddress,
		&s.inference.address, &s.inference.kvbm, &s.inbox.address,
	}
	hosts := []string{spark, oven, victim, nobody}
	free, err := freeAddresses(len(wanted) + len(hosts))
	if err != nil {
		return err
	}
	for i, address := range wanted {
		*address = free[i]
	}
	for i, host := range hosts {
		s.addresses[host] = free[len(wanted)+i]
	}
	s.prometheus = api{base: "http://" + s.prometheusAddress}
	return nil
}

func (s *stage) makeFolders() error {
	for _, name := range []string{"alerts", "targets", "runs", "prometheus", "alertmanager"} {
		if err := os.MkdirAll(s.path(name), 0o755); err != nil {
			return err
		}
	}
	targets := map[string]string{"load.yml": target(s.loadAddress, clients), "results.yml": target(s.resultsAddress, ""), "engine.yml": target(s.inference.address, spark), "exporter.yml": ""}
	for host, address := range s.addresses {
		targets["exporter.yml"] += target(address, host)
	}
	for name, text := range targets {
		if err := os.WriteFile(s.path("targets", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// target is an entry of a file of targets.
func target(address, host string) string {
	text := fmt.Sprintf("- targets: [%q]\n", address)
	if host != "" {
		text += fmt.Sprintf("  labels: {host: %s}\n", host)
	}
	return text
}

func (s *stage) startMachines() error {
	enginePage, err := engine.ParseEndpoint("http://" + s.inference.address + "/metrics")
	if err != nil {
		return err
	}
	kvbm, err := engine.ParseEndpoint("http://" + s.inference.kvbm + "/metrics")
	if err != nil {
		return err
	}
	read := collector.SourceOptions{
		Targets:       collector.Targets{Engines: []*engine.Endpoint{enginePage}, KVBM: []*engine.Endpoint{kvbm}},
		BytesPerBlock: map[string]uint64{"": bytesPerToken * 16},
	}
	type wish struct {
		name    string
		config  sim.Config
		sources collector.SourceOptions
		before  func(*sim.Host) error
	}
	for _, w := range []wish{
		{spark, sim.Config{Seed: 1, SwapBytes: 16 * gib, RailSensors: true}, read, func(h *sim.Host) error { return h.AddFile(weightsFile, weightBytes) }},
		{oven, sim.Config{Seed: 2, AmbientCelsius: roomCelsius}, collector.SourceOptions{}, s.soak},
		{victim, sim.Config{Seed: 3}, collector.SourceOptions{}, nil},
	} {
		m, err := newMachine(w.name, s.addresses[w.name], w.config, w.sources, time.Hour, w.before)
		if err != nil {
			return err
		}
		s.machines[w.name] = m
		if err := m.up(); err != nil {
			return err
		}
	}
	s.inference.machine = s.machines[spark]
	if err := s.inference.serve(); err != nil {
		return err
	}
	return s.inference.begin("/user.slice/user-1000.slice/session-3.scope")
}

func (s *stage) startPrograms() error {
	if err := s.inbox.open(); err != nil {
		return err
	}
	if _, err := s.copyRules(); err != nil {
		return err
	}
	compose := filepath.Join(s.files.checkout, "compose", "prometheus", "prometheus.yml")
	if err := substitute(compose, s.path("prometheus.yml"), s.prometheusSubstitutions()); err != nil {
		return err
	}
	if err := s.writeAlertmanager(); err != nil {
		return err
	}
	for name, command := range map[string][]string{
		"alertmanager": {s.files.alertmanager, "--config.file=" + s.path("alertmanager.yml"), "--storage.path=" + s.path("alertmanager"),
			"--web.listen-address=" + s.alertmanagerAddress, "--cluster.listen-address="},
		"prometheus": {s.files.prometheus, "--config.file=" + s.path("prometheus.yml"), "--storage.tsdb.path=" + s.path("prometheus"),
			"--web.listen-address=" + s.prometheusAddress},
		"serve": {s.files.umaLoad, "serve", "--runs", s.path("runs"), "--web.listen-address", s.resultsAddress},
	} {
		p, err := launch(s.path(name+".log"), command...)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
	}
	return nil
}

// stop ends all that start and the steps have started.
func (s *stage) stop() {
	if s.longRun != nil {
		s.longRun.stop()
	}
	for _, p := range s.processes {
		p.stop()
	}
	if s.inference != nil {
		s.inference.stop()
	}
	for _, m := range s.machines {
		m.stop()
	}
	if s.inbox != nil {
		s.inbox.close()
	}
}
