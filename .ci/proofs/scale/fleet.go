package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/sim"
)

const gib = 1 << 30

// uptime is how long a machine was on before the first scrape, different for each.
func uptime(n int) time.Duration { return 10*time.Minute + time.Duration(n)*7*time.Second }

// spark is one machine. A request of its page advances its clock by the time that has passed: the same machine as on a
// ticking clock, at a lower cost.
type spark struct {
	mu       sync.Mutex
	host     *hostsim.Host
	engine   *hostsim.Process
	web      *hostsim.Process
	page     http.Handler
	began    time.Time
	last     time.Time
	phase    float64 // no two machines do the same at the same time
	weights  int64
	seen     collector.Host
	exporter *exporter.Exporter
}

// newSpark makes the nth machine.
func newSpark(n int, sources collector.SourceOptions) (*spark, error) {
	now := time.Now()
	host, err := hostsim.New(hostsim.Config{Seed: uint64(n + 1), Start: now.Add(-uptime(n)), SwapBytes: 16 * gib, RailSensors: true, Cable: true, AmbientCelsius: 20 + float64(n%12)})
	if err != nil {
		return nil, err
	}
	s := &spark{host: host, began: now, last: now, phase: float64(n) * 2.399, weights: int64(8+n%48) * gib}
	for _, p := range []struct {
		into   **hostsim.Process
		comm   string
		digits string
	}{{&s.engine, "VLLM::EngineCor", "e1"}, {&s.web, "open-webui", "0b"}} {
		scope := "/system.slice/docker-" + strings.Repeat(p.digits, 30) + fmt.Sprintf("%04x", n) + ".scope"
		if *p.into, err = host.Start(hostsim.Program{Comm: p.comm, Cgroup: scope, Threads: 60}); err != nil {
			return nil, err
		}
	}
	s.demand(0)
	host.Advance(uptime(n))
	s.seen = host.Collect()
	s.seen.HTTP = engine.Transport() // to the engine, which is none of the machine's files
	s.exporter, err = exporter.New(s.seen, exporter.Settings{Options: collector.Options{ProcessLimit: 20, Sources: sources}})
	if err != nil {
		s.seen.GPU.Close()
		return nil, err
	}
	s.page = s.exporter.Handler()
	return s, nil
}

// demand is a load that swings over minutes, with a KV cache that fills and is emptied.
func (s *spark) demand(t float64) {
	swing := func(period float64) float64 { return 0.5 + 0.5*math.Sin(2*math.Pi*t/period+s.phase) }
	busy := swing(97)
	s.engine.Demand(hostsim.Demand{
		DeviceBytes: s.weights + int64(24*gib*swing(211)), PinnedBytes: 4 * gib, AnonBytes: 3*gib + int64(gib*swing(53)),
		BusyRatio: busy, CPUs: 1 + 3*busy,
		DirectReadBytesPerSecond: int64(2e9 * swing(41)), DirectWriteBytesPerSecond: int64(3e8 * swing(61)),
		RDMAReceiveBytesPerSecond: int64(5e9 * busy), RDMATransmitBytesPerSecond: int64(5e9 * busy),
	})
	s.web.Demand(hostsim.Demand{AnonBytes: gib/2 + int64(gib/4*swing(300)), CPUs: 0.2 * swing(29)})
}

func (s *spark) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	now := time.Now()
	s.demand(now.Sub(s.began).Seconds())
	s.host.Advance(now.Sub(s.last))
	s.last = now
	s.mu.Unlock()
	s.page.ServeHTTP(w, r)
}

// serveFleet is the process of the machines. It prints their addresses, one a line, then an empty line.
func serveFleet(ctx context.Context, hosts int, engines bool, told io.Writer) error {
	var serving sync.WaitGroup
	defer serving.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serve := func(handler http.Handler) (string, error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
		serving.Go(func() { _ = server.Serve(listener) }) // ends with ErrServerClosed
		serving.Go(func() { <-ctx.Done(); server.Close() })
		return listener.Addr().String(), nil
	}
	var sources collector.SourceOptions
	if engines {
		var err error
		if sources, err = serveEngine(ctx, &serving, serve); err != nil {
			return err
		}
	}
	for n := range hosts {
		s, err := newSpark(n, sources)
		if err != nil {
			return err
		}
		defer s.seen.GPU.Close()
		address, err := serve(s)
		if err != nil {
			return err
		}
		fmt.Fprintln(told, address)
	}
	fmt.Fprintln(told)
	<-ctx.Done()
	return nil
}

// serveEngine serves one engine with KVBM for all machines, with a request at intervals: the cost to measure is that of
// series and pages, which does not depend on the server.
func serveEngine(ctx context.Context, running *sync.WaitGroup, serve func(http.Handler) (string, error)) (collector.SourceOptions, error) {
	config := sim.Default()
	config.KV.HostBytes, config.KV.DiskBytes, config.KV.Page = 8*gib, 32*gib, sim.KVBMv2
	simulated, err := sim.New(config)
	if err != nil {
		return collector.SourceOptions{}, err
	}
	running.Go(func() { _ = simulated.Run(ctx) })
	at, err := serve(&once{page: simulated.Handler()})
	if err != nil {
		return collector.SourceOptions{}, err
	}
	kvbm, err := serve(&once{page: simulated.KVBMHandler()})
	if err != nil {
		return collector.SourceOptions{}, err
	}
	running.Go(func() { use(ctx, "http://"+at+"/v1/completions", config.Model) })
	engineAt, err := engine.ParseEndpoint("http://" + at + "/metrics")
	if err != nil {
		return collector.SourceOptions{}, err
	}
	kvbmAt, err := engine.ParseEndpoint("http://" + kvbm + "/metrics")
	return collector.SourceOptions{
		Targets: collector.Targets{Engines: []*engine.Endpoint{engineAt}, KVBM: []*engine.Endpoint{kvbmAt}}, BytesPerBlock: map[string]uint64{"": 2 << 20},
	}, err
}

// once makes a page of metrics once a second for all clients: one engine cannot answer for two hundred, and its time
// would be measured instead. It passes other requests through.
type once struct {
	page http.Handler
	mu   sync.Mutex
	made time.Time
	last *httptest.ResponseRecorder
}

func (o *once) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		o.page.ServeHTTP(w, r)
		return
	}
	o.mu.Lock()
	if time.Since(o.made) > time.Second {
		o.last, o.made = httptest.NewRecorder(), time.Now()
		o.page.ServeHTTP(o.last, r)
	}
	last := o.last
	o.mu.Unlock()
	maps.Copy(w.Header(), last.Header())
	w.WriteHeader(last.Code)
	_, _ = w.Write(last.Body.Bytes()) // a client that does not wait gets no page
}

// use sends a request every other second.
func use(ctx context.Context, url, model string) {
	for n := 0; wait(ctx, 2*time.Second) == nil; n++ {
		body := fmt.Sprintf(`{"model":%q,"prompt":"machine %d tells a story","max_tokens":16}`, model, n)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return
		}
		request.Header.Set("Content-Type", "application/json")
		if response, err := http.DefaultClient.Do(request); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
		}
	}
}
