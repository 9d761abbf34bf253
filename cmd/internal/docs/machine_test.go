//go:build proof

package docs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/sim"
)

const gib = 1 << 30

// The simulated machine: its clock goes faster than the wall's, so that weights are there within a second. Layers and
// weights are read through its page cache.
const (
	clockSpeed = 30
	layersFile = "/var/lib/docker/overlay2/engine"
	layersSize = 9 * gib
	weights    = 15 * gib
	overhead   = 4 * gib
	loadRate   = 4 * gib
	tokenBytes = 64 << 10 // as of the pages' models of 7 and 8 billion parameters
	tierTarget = "/dynamo-kvbm-disk-cache-simulated (deleted)"
)

// spark is the simulated DGX Spark with what serves on it.
type spark struct {
	host *hostsim.Host
	seen collector.Host

	mu     sync.Mutex
	worker *sim.Engine // that a frontend of Dynamo finds
}

func newSpark(ctx context.Context) (*spark, error) {
	const uptime = time.Hour
	host, err := hostsim.New(hostsim.Config{Seed: 8, Start: time.Now().Add(-uptime), SwapBytes: 16 * gib, RailSensors: true})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, host.Close)
	if err := host.AddFile(layersFile, layersSize); err != nil {
		return nil, err
	}
	host.Advance(uptime)
	s := &spark{host: host, seen: host.Collect()}
	s.seen.HTTP = engine.Transport(nil) // to the engines, which are in the namespace
	go host.Run(ctx, clockSpeed)
	return s, nil
}

// exporter is uma-exporter's own code over the simulated machine.
func (s *spark) exporter(kvbm, engines []string, bytesPerBlock uint64) (*exporter.Exporter, error) {
	var sources collector.SourceOptions
	if bytesPerBlock > 0 {
		sources.BytesPerBlock = map[string]uint64{"": bytesPerBlock}
	}
	for _, one := range []struct {
		urls []string
		list *[]*engine.Endpoint
	}{{kvbm, &sources.KVBM}, {engines, &sources.Engines}} {
		for _, url := range one.urls {
			parsed, err := engine.ParseEndpoint(url)
			if err != nil {
				return nil, err
			}
			*one.list = append(*one.list, parsed)
		}
	}
	return exporter.New(s.seen, exporter.Settings{Options: collector.Options{ProcessLimit: 20, Sources: sources}})
}

// asked is an engine that somebody starts, as far as its arguments say it.
type asked struct {
	Vendor   sim.Vendor
	Model    string // as it is served
	Weights  string // path or name, to be read
	Address  string // "": a worker, which a frontend serves
	Share    float64
	KVBytes  int64 // of the KV cache, in place of a share
	OfPool   bool  // the share is of the pool, and weights and activations are in it; else of what is free
	Longest  int   // tokens of a request
	Scope    string
	Layers   bool // they are read first
	KVBM     bool // connected
	Host     int64
	Disk     int64
	Filter   bool
	TierDir  string
	KVBMPage string // address, "": none
	// Environment is what the exporter may read of it.
	Environment string
}

// serve runs an engine until ctx ends. It tells when it serves.
func (s *spark) serve(ctx context.Context, a asked, say func(string)) error {
	if a.Address != "" {
		if err := answered(a.Address); err == nil {
			return fmt.Errorf("%s: address already in use", a.Address)
		}
	}
	if err := s.host.AddFile(a.Weights, weights); err != nil && !s.known(a.Weights) {
		return err
	}
	program := hostsim.Program{Comm: "engine", Cgroup: a.Scope, Threads: 40, Environ: a.Environment}
	if a.KVBM && a.Disk > 0 {
		program.OpenFiles = []hostsim.OpenFile{{Target: filepath.Join(a.TierDir, tierTarget), Bytes: a.Disk, Direct: true}}
	}
	process, err := s.host.Start(program)
	if err != nil {
		return err
	}
	defer process.Stop()
	if a.Layers {
		if err := s.read(ctx, process, layersFile); err != nil {
			return err
		}
	}
	f := follower{process: process, weights: a.Weights}
	switch a.Vendor {
	case sim.TensorRTLLM:
		f.sized = func(tokens int) { say(startOf(s.pool(), f.free.Load(), tokens, a.Share)) }
	case sim.VLLM:
		f.sized = func(tokens int) { say(startOfVLLM(f.free.Load(), tokens, a.KVBytes > 0)) }
	}
	engine, err := sim.New(s.config(ctx, a, process, &f))
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- engine.Run(running) }()
	if err := loaded(running, engine, failed); err != nil {
		return err
	}
	servers, err := s.listen(a, engine)
	defer func() {
		for _, server := range servers {
			server.Close()
		}
	}()
	if err != nil {
		return err
	}
	if a.Address == "" {
		s.setWorker(engine)
		defer s.setWorker(nil)
	}
	select {
	case <-ctx.Done():
		stop()
		<-failed // it tells what it uses until then
		return nil
	case err := <-failed:
		if ctx.Err() != nil {
			return nil
		}
		return errors.Join(errors.New("the engine ended"), err)
	}
}

// startOf is what TensorRT-LLM logs of its memory when it has sized its KV cache, with the figures of this engine.
func startOf(pool, free int64, tokens int, share float64) string {
	total := float64(pool) / gib
	peak, kv := total-float64(free)/gib, float64(tokens)*tokenBytes/gib
	return fmt.Sprintf("[11/20/2026-10:00:00] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): %.2f GiB, available KV cache memory when calculating max tokens: %.2f GiB, fraction is set %v, kv size is %d. device total memory %.2f GiB, , tmp kv_mem 0.56 GiB\n"+
		"[TensorRT-LLM][INFO] [MemUsageChange] Allocated %.2f GiB for max tokens in paged KV cache (%d).", peak, kv, share, tokenBytes, total, kv, tokens)
}

// startOfVLLM is what vLLM logs of its KV cache, of a size that it was given or not.
func startOfVLLM(free int64, tokens int, given bool) string {
	const by = "(EngineCore pid=1878) INFO 11-20 10:00:00 "
	bytes := fmt.Sprintf("Available KV cache memory: %.2f GiB", float64(tokens)*tokenBytes/gib)
	if given {
		bytes = fmt.Sprintf("Initial free memory %.2f GiB, reserved %.2f GiB memory for KV Cache as specified by kv_cache_memory_bytes config", float64(free)/gib, float64(tokens)*tokenBytes/gib)
	}
	return fmt.Sprintf(by+"[gpu_worker.py:508] %s\n"+by+"[kv_cache_utils.py:2146] GPU KV cache size: %d tokens", bytes, tokens)
}

// loaded waits until an engine would answer: none opens its port before.
func loaded(ctx context.Context, engine *sim.Engine, failed <-chan error) error {
	for {
		answer := httptest.NewRecorder()
		engine.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/models", nil))
		if answer.Code == http.StatusOK {
			return nil
		}
		select {
		case err := <-failed:
			return errors.Join(errors.New("the engine ended"), err)
		default:
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// known remembers the trees that the machine has.
func (s *spark) known(file string) bool {
	_, cached := s.host.Truth().CachedBytes[file]
	return cached
}

// pool is MemTotal, of which vLLM and SGLang take a share.
func (s *spark) pool() int64 { return s.host.Truth().PoolBytes }

func (s *spark) setWorker(e *sim.Engine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.worker = e
}

// listen opens the addresses of an engine: its own, and that of KVBM's page.
func (s *spark) listen(a asked, engine *sim.Engine) ([]*http.Server, error) {
	var all []*http.Server
	for address, handler := range map[string]http.Handler{a.Address: engine.Handler(), a.KVBMPage: engine.KVBMHandler()} {
		if address == "" {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return all, err
		}
		server := &http.Server{Handler: handler}
		all = append(all, server)
		go func() { _ = server.Serve(listener) }()
	}
	return all, nil
}

// frontend serves the worker that is there, if one is.
func (s *spark) frontend(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	engine := s.worker
	s.mu.Unlock()
	if engine != nil {
		engine.Handler().ServeHTTP(w, r)
		return
	}
	if r.URL.Path == "/v1/models" { // the port is open long before a worker has registered
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[]}`)
		return
	}
	http.Error(w, "no worker", http.StatusServiceUnavailable)
}

// config is an engine that is in no hurry to be realistic: its times are none that anybody compares.
func (s *spark) config(ctx context.Context, a asked, process *hostsim.Process, f *follower) sim.Config {
	c := sim.Default()
	c.Vendor, c.Model = a.Vendor, a.Model
	// But a prompt of a thousand tokens takes ten times as long to compute as a busy computer is late: by that a cache is known.
	c.PrefillTokensPerSecond, c.DecodeBase, c.DecodePerSequence = 1e5, 500*time.Microsecond, 20*time.Microsecond
	c.MaxModelTokens = a.Longest
	c.CachedTokens = true
	c.KV.BytesPerToken, c.KV.TokensPerBlock, c.KV.FreeRatio = tokenBytes, 32, a.Share
	if a.OfPool {
		c.KV.FreeRatio = 1
	}
	c.KV.CountTiers = a.Vendor == sim.VLLM
	if a.Host > 0 || a.Disk > 0 {
		c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter, c.KV.Page = a.Host, a.Disk, a.Filter, sim.KVBMv1
		c.KV.Host.BytesPerSecond, c.KV.Disk.BytesPerSecond = 40e9, 10e9
	}
	c.Memory = sim.Memory{WeightBytes: weights, LoadBytesPerSecond: loadRate * clockSpeed, OverheadBytes: overhead}
	c.KV.FreeBytes = func() int64 {
		for status := process.Status(); status.Alive && (status.DeviceBytes < weights+overhead || status.ReadLeftBytes > 0); status = process.Status() {
			if pause(ctx) != nil {
				break
			}
		}
		f.free.Store(s.host.CUDAFreeBytes())
		if a.KVBytes > 0 {
			return a.KVBytes
		}
		if a.OfPool {
			return int64(a.Share*float64(s.pool())) - weights - overhead
		}
		return f.free.Load()
	}
	c.OnUse = f.follow
	return c
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// read waits until a process has read a file through the page cache.
func (s *spark) read(ctx context.Context, process *hostsim.Process, file string) error {
	process.Demand(hostsim.Demand{AnonBytes: gib, CPUs: 2, Read: hostsim.FileTransfer{File: file, BytesPerSecond: loadRate}})
	for began := s.host.Now(); s.host.Now().Sub(began) < time.Second || process.Status().ReadLeftBytes > 0; {
		if err := pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follower makes the process want what the engine says that it uses; what the tier on the drive moves is moved by the process.
type follower struct {
	process *hostsim.Process
	weights string
	before  struct{ read, written uint64 }

	free  atomic.Int64       // what the engine found free for its KV cache
	sized func(tokensKV int) // called once with the size that it got
}

func (f *follower) follow(u sim.Use) {
	demand := hostsim.Demand{
		DeviceBytes: u.DeviceBytes, PinnedBytes: u.PinnedBytes, AnonBytes: 3 * gib, BusyRatio: u.BusyRatio, CPUs: 1 + u.BusyRatio,
		Read: hostsim.FileTransfer{File: f.weights, BytesPerSecond: loadRate},
	}
	if f.sized != nil && u.KVCapacityTokens > 0 && f.free.Load() > 0 {
		f.sized(u.KVCapacityTokens)
		f.sized = nil
	}
	if moved := f.process.Status(); moved.Alive {
		demand.DirectReadMostBytes, demand.DirectWriteMostBytes = u.DiskReadBytes, u.DiskWrittenBytes
		demand.DirectReadBytesPerSecond = owed(u.DiskReadBytes, moved.ReadBytes, &f.before.read)
		demand.DirectWriteBytesPerSecond = owed(u.DiskWrittenBytes, moved.WrittenBytes, &f.before.written)
	}
	f.process.Demand(demand)
}

// owed is the rate at which the process comes to what the engine has moved within two reports.
func owed(engine int64, process uint64, before *uint64) int64 {
	if engine == 0 {
		*before = process
		return 0
	}
	return max(0, int64(float64(engine-int64(process-*before))/0.2/clockSpeed))
}

// shown is a page, a ledger or an examination of the machine, as uma-exporter prints it.
func shownBy(ctx context.Context, e *exporter.Exporter, verb string) (string, error) {
	var out bytes.Buffer
	var err error
	switch verb {
	case "explain":
		err = e.Explain(ctx, &out)
	case "fit":
		err = e.Fit(ctx, &out, "")
	case "doctor":
		err = e.Doctor(ctx, &out)
	default:
		err = e.WritePage(ctx, &out)
	}
	return out.String(), err
}
