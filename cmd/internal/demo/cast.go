package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collect"
	"github.com/umascope/umascope/exporter/hosts"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/loadgen/sim"
)

// sparkHost is the constructed machine of the demo.
const sparkHost = "gb10-load"

// shownProcesses is how many GPU processes of a host are shown one by one.
const shownProcesses = 20

const shutdownTimeout = 3 * time.Second

// watched is a host with an exporter that serves it.
type watched struct {
	name     string
	url      string
	exporter *exporter.Exporter
}

// cast is everything that the demo starts. leave stops all of it.
type cast struct {
	here, spark watched
	engineURL   string

	gpus    []*nvml.Reader
	servers []*http.Server
	stop    context.CancelFunc
	running sync.WaitGroup
}

// assemble starts the two exporters and the simulated engine, each on a free port of the loopback.
func assemble(seed uint64) (*cast, error) {
	ctx, stop := context.WithCancel(context.Background())
	c := &cast{stop: stop}
	if err := c.start(ctx, seed); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

func (c *cast) start(ctx context.Context, seed uint64) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	live, err := exporter.LiveHost()
	if err != nil {
		return err
	}
	if c.here, err = c.watch(name, live); err != nil {
		return err
	}
	spark, err := hosts.Open(sparkHost)
	if err != nil {
		return err
	}
	if c.spark, err = c.watch(sparkHost, spark); err != nil {
		return err
	}
	config := sim.Default()
	config.Seed = seed
	engine, err := sim.New(config)
	if err != nil {
		return err
	}
	c.running.Go(func() { _ = engine.Run(ctx) }) // its only error is being started twice
	c.engineURL, err = c.serve(engine.Handler())
	return err
}

func (c *cast) watch(name string, host collect.Host) (watched, error) {
	c.gpus = append(c.gpus, host.GPU)
	e, err := exporter.New(host, exporter.Settings{HideOwnMetrics: true, Options: collect.Options{ProcessLimit: shownProcesses}})
	if err != nil {
		return watched{}, fmt.Errorf("exporter of %s: %w", name, err)
	}
	url, err := c.serve(e.Handler())
	return watched{name: name, url: url + exporter.DefaultTelemetryPath, exporter: e}, err
}

// serve serves on a free port of the loopback until leave.
func (c *cast) serve(handler http.Handler) (url string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: shutdownTimeout}
	c.servers = append(c.servers, server)
	c.running.Go(func() { _ = server.Serve(listener) }) // ends with ErrServerClosed
	return "http://" + listener.Addr().String(), nil
}

// leave stops everything and waits until it has ended.
func (c *cast) leave() {
	c.stop()
	limited, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	for _, server := range c.servers {
		if server.Shutdown(limited) != nil {
			server.Close()
		}
	}
	c.running.Wait()
	for _, gpu := range c.gpus {
		gpu.Close()
	}
}
