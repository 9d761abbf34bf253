package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/sim"
)

const gib = 1 << 30

// machine is a simulated Spark on its own clock, driven by the wall clock, with the project's exporter.
type machine struct {
	name, address string
	host          *sim.Host
	seen          collector.Host
	handler       http.Handler

	server  *http.Server // nil while the exporter is down
	stopped context.CancelFunc
	running sync.WaitGroup
}

// newMachine makes a machine that has been on for a while. Any earlier work is over when its clock has reached the wall
// clock.
func newMachine(name, address string, config sim.Config, sources collector.SourceOptions, past time.Duration, before func(*sim.Host) error) (*machine, error) {
	config.Start = time.Now().Add(-past)
	host, err := sim.New(config)
	if err != nil {
		return nil, err
	}
	if before != nil {
		if err := before(host); err != nil {
			return nil, err
		}
	}
	host.Advance(past)
	m := &machine{name: name, address: address, host: host, seen: host.Collect()}
	m.seen.HTTP = engine.Transport() // requests to the engine, which is not a file of the machine
	e, err := exporter.New(m.seen, exporter.Settings{Options: collector.Options{ProcessLimit: 20, Sources: sources}})
	if err != nil {
		m.seen.GPU.Close()
		return nil, fmt.Errorf("exporter of %s: %w", name, err)
	}
	m.handler = e.Handler()
	ctx, stop := context.WithCancel(context.Background())
	m.stopped = stop
	m.running.Go(func() { host.Run(ctx, 1) })
	return m, nil
}

// up starts the server, also again after down.
func (m *machine) up() error {
	listener, err := net.Listen("tcp", m.address)
	if err != nil {
		return err
	}
	m.server = &http.Server{Handler: m.handler, ReadHeaderTimeout: time.Second}
	server := m.server
	m.running.Go(func() { _ = server.Serve(listener) }) // ends with ErrServerClosed
	return nil
}

// down stops the exporter; the machine goes on.
func (m *machine) down() {
	if m.server != nil {
		m.server.Close()
		m.server = nil
	}
}

func (m *machine) stop() {
	m.down()
	m.stopped()
	m.running.Wait()
	m.seen.GPU.Close()
}

// url is the page of the exporter.
func (m *machine) url() string { return "http://" + m.address + exporter.DefaultTelemetryPath }

// process starts a process on the machine.
func (m *machine) process(comm, cgroup string, threads int, demand sim.Demand) (*sim.Process, error) {
	p, err := m.host.Start(sim.Program{Comm: comm, Cgroup: cgroup, Threads: threads})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	p.Demand(demand)
	return p, nil
}

// freeAddresses are several, all different.
func freeAddresses(n int) ([]string, error) {
	var open []net.Listener
	var addresses []string
	var problems []error
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			problems = append(problems, err)
			break
		}
		open = append(open, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	for _, listener := range open {
		problems = append(problems, listener.Close())
	}
	return addresses, errors.Join(problems...)
}
