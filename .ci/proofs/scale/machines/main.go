// Machines serves simulated DGX Sparks, each with the project's exporter, for proofs that need many or want to provoke something:
//
//	machines [-hosts 3] [-still] [-engine 127.0.0.1:8000]
//
// It prints the address of each machine, one a line, then an empty line. GET /metrics is the exporter's page, and advances the
// machine's clock by the time that has passed: the same machine as on a ticking clock, at a lower cost. POST /control with the JSON
// of a control changes what runs on the machine.
//
// With -engine it serves a simulated engine, whose page and that of KVBM every exporter reads.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/sim"
)

const gib = 1 << 30

func main() {
	hosts := flag.Int("hosts", 3, "machines")
	still := flag.Bool("still", false, "only what is controlled runs on the machines")
	engineAddress := flag.String("engine", "", "address of an engine that all machines share; none if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *hosts, *still, *engineAddress, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "machines:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, hosts int, still bool, engineAddress string, addresses io.Writer) error {
	var sources collector.SourceOptions
	var pages gate
	if engineAddress != "" {
		var err error
		if sources, err = serveEngine(ctx, engineAddress, &pages); err != nil {
			return err
		}
	}
	for n := range hosts {
		m, err := newMachine(n, still, sources)
		if err != nil {
			return err
		}
		defer m.close()
		m.engine = &pages
		address, err := listen("127.0.0.1:0", m)
		if err != nil {
			return err
		}
		fmt.Fprintln(addresses, address)
	}
	fmt.Fprintln(addresses)
	<-ctx.Done()
	return nil
}

// listen serves until the program ends, and returns the address.
func listen(address string, handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with the program
	return listener.Addr().String(), nil
}

// machine is one simulated machine.
type machine struct {
	mu        sync.Mutex
	host      *hostsim.Host
	processes map[string]*hostsim.Process
	page      http.Handler
	engine    *gate
	seen      collector.Host
	began     time.Time
	last      time.Time // of the clock's last advance
	still     bool
	down      bool
	phase     float64 // no two machines do the same at the same time
	weights   int64
}

// newMachine makes the nth machine. Each was on for another time before the first scrape.
func newMachine(n int, still bool, sources collector.SourceOptions) (*machine, error) {
	now, uptime := time.Now(), 10*time.Minute+time.Duration(n)*7*time.Second
	config := hostsim.Config{Seed: uint64(n + 1), Start: now.Add(-uptime), SwapBytes: 16 * gib, RailSensors: true, Cable: true, AmbientCelsius: 20 + float64(n%12)}
	host, err := hostsim.New(config)
	if err != nil {
		return nil, err
	}
	m := &machine{host: host, processes: map[string]*hostsim.Process{}, began: now, last: now, still: still, phase: float64(n) * 2.399, weights: int64(8+n%48) * gib}
	if err := m.swing(0); err != nil {
		return nil, err
	}
	host.Advance(uptime)
	m.seen = host.Collect()
	m.seen.HTTP = engine.Transport(nil) // to the engine, which is none of the machine's files
	e, err := exporter.New(m.seen, exporter.Settings{Options: collector.Options{ProcessLimit: 20, Sources: sources}})
	if err != nil {
		m.close()
		return nil, err
	}
	m.page = e.Handler()
	return m, nil
}

func (m *machine) close() {
	m.seen.Close()
	m.host.Close()
}

// demand sets what a process wants, and starts it the first time.
func (m *machine) demand(comm string, demand hostsim.Demand) (*hostsim.Process, error) {
	if m.processes[comm] == nil {
		scope := fmt.Sprintf("/system.slice/docker-%064x.scope", len(m.processes)+1)
		process, err := m.host.Start(hostsim.Program{Comm: comm, Cgroup: scope, Threads: 60})
		if err != nil {
			return nil, err
		}
		m.processes[comm] = process
	}
	m.processes[comm].Demand(demand)
	return m.processes[comm], nil
}

// swing is a load that changes over minutes, with a KV cache that fills and is emptied.
func (m *machine) swing(seconds float64) error {
	if m.still {
		return nil
	}
	wave := func(period float64) float64 { return 0.5 + 0.5*math.Sin(2*math.Pi*seconds/period+m.phase) }
	busy := wave(97)
	_, err := m.demand("VLLM::EngineCor", hostsim.Demand{
		DeviceBytes: m.weights + int64(24*gib*wave(211)), PinnedBytes: 4 * gib, AnonBytes: 3*gib + int64(gib*wave(53)),
		BusyRatio: busy, CPUs: 1 + 3*busy,
		DirectReadBytesPerSecond: int64(2e9 * wave(41)), DirectWriteBytesPerSecond: int64(3e8 * wave(61)),
		RDMAReceiveBytesPerSecond: int64(5e9 * busy), RDMATransmitBytesPerSecond: int64(5e9 * busy),
	})
	_, webErr := m.demand("open-webui", hostsim.Demand{AnonBytes: gib/2 + int64(gib/4*wave(300)), CPUs: 0.2 * wave(29)})
	return errors.Join(err, webErr)
}

// control changes what runs on a machine. Absent fields change nothing.
type control struct {
	Ambient float64        `json:"ambient"` // degrees Celsius of the room
	Process string         `json:"process"`
	Demand  hostsim.Demand `json:"demand"`    // of the process
	Leave   float64        `json:"leave_gib"` // the process takes memory until so much is available
	Cache   float64        `json:"cache_gib"` // a file of this size is read into the page cache, once
	Stop    bool           `json:"stop"`      // ends the process
	Down    *bool          `json:"down"`      // pages are answered with an error
	Engine  *bool          `json:"engine"`    // whether pages of the engine are answered, for all machines that share it
	Advance float64        `json:"advance_seconds"`
}

func (m *machine) apply(c control) error {
	if c.Down != nil {
		m.down = *c.Down
	}
	if c.Engine != nil {
		m.engine.shut.Store(!*c.Engine)
	}
	if c.Cache > 0 {
		if err := m.fillCache(int64(c.Cache * gib)); err != nil {
			return err
		}
	}
	if c.Ambient != 0 {
		if err := m.host.SetAmbient(c.Ambient); err != nil {
			return err
		}
	}
	if c.Stop && m.processes[c.Process] != nil {
		m.processes[c.Process].Stop()
		delete(m.processes, c.Process)
	} else if c.Process != "" {
		process, err := m.demand(c.Process, c.Demand)
		if err != nil {
			return err
		}
		for round := 0; c.Leave > 0 && round < 10; round++ {
			m.host.Advance(time.Second)
			over := m.host.AvailableBytes() - int64(c.Leave*gib)
			process.Demand(hostsim.Demand{AnonBytes: max(0, process.Status().AnonBytes+over)})
		}
	}
	m.host.Advance(time.Duration(c.Advance * float64(time.Second)))
	return nil
}

// fillCache reads a new file through the page cache.
func (m *machine) fillCache(bytes int64) error {
	const name, perSecond = "weights", 4 << 30
	if err := m.host.AddFile(name, bytes); err != nil {
		return err
	}
	reader, err := m.demand("cp", hostsim.Demand{Read: hostsim.FileTransfer{File: name, BytesPerSecond: perSecond}})
	if err != nil {
		return err
	}
	m.host.Advance(time.Duration(1+bytes/perSecond) * time.Second)
	reader.Stop()
	delete(m.processes, "cp")
	return nil
}

// gate answers with an error while it is shut.
type gate struct{ shut atomic.Bool }

func (g *gate) guard(page http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.shut.Load() {
			http.Error(w, "the engine is gone", http.StatusBadGateway)
			return
		}
		page.ServeHTTP(w, r)
	})
}

func (m *machine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c control
	if r.URL.Path == "/control" {
		if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	m.mu.Lock()
	now := time.Now()
	err := m.swing(now.Sub(m.began).Seconds())
	m.host.Advance(now.Sub(m.last))
	m.last = now
	err = errors.Join(err, m.apply(c))
	if m.down && r.URL.Path != "/control" {
		err = errors.Join(err, errors.New("the exporter is down"))
	}
	m.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if r.URL.Path != "/control" {
		m.page.ServeHTTP(w, r)
	}
}

// serveEngine serves a quick engine, with the page of KVBM at a port of its own.
func serveEngine(ctx context.Context, address string, pages *gate) (collector.SourceOptions, error) {
	config := sim.Default()
	config.DecodeBase, config.DecodePerSequence, config.PrefillTokensPerSecond = 3*time.Millisecond, 100*time.Microsecond, 60000
	config.KV.HostBytes, config.KV.DiskBytes, config.KV.Page = 8*gib, 32*gib, sim.KVBMv2
	simulated, err := sim.New(config)
	if err != nil {
		return collector.SourceOptions{}, err
	}
	go func() { _ = simulated.Run(ctx) }() // its only error is being started twice
	var endpoints [2]*engine.Endpoint
	for i, page := range []struct {
		address string
		handler http.Handler
	}{{address, simulated.Handler()}, {"127.0.0.1:0", simulated.KVBMHandler()}} {
		at, err := listen(page.address, pages.guard(onceASecond(page.handler)))
		if err != nil {
			return collector.SourceOptions{}, err
		}
		if endpoints[i], err = engine.ParseEndpoint("http://" + at + "/metrics"); err != nil {
			return collector.SourceOptions{}, err
		}
	}
	return collector.SourceOptions{
		Targets:       collector.Targets{Engines: endpoints[:1], KVBM: endpoints[1:]},
		BytesPerBlock: map[string]uint64{"": 2 << 20},
	}, nil
}

// onceASecond makes a page of metrics once a second for all clients: one engine cannot answer for two hundred, and its time would be
// measured instead. It passes other requests through.
func onceASecond(page http.Handler) http.Handler {
	var mu sync.Mutex
	var made time.Time
	var last *httptest.ResponseRecorder
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/metrics") {
			page.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if time.Since(made) > time.Second {
			last, made = httptest.NewRecorder(), time.Now()
			page.ServeHTTP(last, r)
		}
		maps.Copy(w.Header(), last.Header())
		_, _ = w.Write(last.Body.Bytes()) // a client that does not wait gets no page
	})
}
