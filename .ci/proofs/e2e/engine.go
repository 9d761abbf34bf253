package main

import (
	"context"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/sim"
)

// The engine has few tokens, so that short runs push blocks out to the host and to the disk, and many bytes, so that
// the machine's memory changes: 8 MiB a token; a real one of 8 billion parameters has 128 KiB.
const (
	weightBytes   = 16 * gib
	loadRate      = 8 * gib // bytes per second
	bytesPerToken = 8 << 20
	hostTier      = 6 * gib
	diskTier      = 48 * gib
	weightsFile   = "weights of the simulated model"
	tierFile      = "/tmp/dynamo-kvbm-disk-cache-e2e (deleted)"
)

// containerScope is a cgroup as Docker with systemd names it.
const containerScope = "/system.slice/docker-00000000000000000000000000000000000000000000000000000000000000e2.scope"

// inference is the simulated engine, with a metrics page of vLLM and one of KVBM, on a machine that follows its use.
// Each arm starts a new one; the addresses stay.
type inference struct {
	machine       *machine
	address, kvbm string
	current       atomic.Pointer[sim.Engine] // nil: no engine, no answers
	servers       []*http.Server
	serving       sync.WaitGroup
	stopEngine    context.CancelFunc
	engine        sync.WaitGroup
	process       *hostsim.Process
	read, written int64     // of the last report
	reported      time.Time // and its time
}

func (i *inference) serve() error {
	for address, handler := range map[string]func(*sim.Engine) http.Handler{
		i.address: (*sim.Engine).Handler, i.kvbm: (*sim.Engine).KVBMHandler,
	} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		server := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if engine := i.current.Load(); engine != nil {
				handler(engine).ServeHTTP(w, r)
				return
			}
			http.Error(w, "no engine", http.StatusServiceUnavailable)
		})}
		i.servers = append(i.servers, server)
		i.serving.Go(func() { _ = server.Serve(listener) }) // ends with ErrServerClosed
	}
	return nil
}

// begin starts the engine in a cgroup of the machine.
func (i *inference) begin(cgroup string) error {
	if cgroup == containerScope { // the limits ended with the last process of the cgroup
		if err := i.machine.host.SetLimits(cgroup, hostsim.Limits{MaxBytes: 64 * gib, HighBytes: 60 * gib}); err != nil {
			return err
		}
	}
	process, err := i.machine.host.Start(hostsim.Program{
		Comm: "VLLM::EngineCor", Cgroup: cgroup, Threads: 60,
		OpenFiles: []hostsim.OpenFile{{Target: tierFile, Bytes: diskTier, Direct: true}},
	})
	if err != nil {
		return err
	}
	config := sim.Default()
	config.PrefillTokensPerSecond, config.DecodeBase = 20_000, 8*time.Millisecond
	config.MaxModelTokens = 2048
	config.KV.BytesPerToken, config.KV.HostBytes, config.KV.DiskBytes, config.KV.DiskFilter = bytesPerToken, hostTier, diskTier, false
	config.KV.Page = sim.KVBMv2
	config.KV.FreeBytes = func() int64 { return i.machine.host.CUDAFreeBytes() - 24*gib } // leaves room to the tier in the host's memory
	config.Memory = sim.Memory{WeightBytes: weightBytes, LoadBytesPerSecond: loadRate, OverheadBytes: gib}
	config.OnUse = i.follow
	engine, err := sim.New(config)
	if err != nil {
		return err
	}
	i.process, i.read, i.written, i.reported = process, 0, 0, time.Now()
	ctx, stop := context.WithCancel(context.Background())
	i.stopEngine = stop
	i.engine.Go(func() { _ = engine.Run(ctx) }) // clients see whether it serves
	i.current.Store(engine)
	return nil
}

// follow sets the demand of the machine's process to what the engine uses.
func (i *inference) follow(use sim.Use) {
	now := time.Now()
	elapsed := max(now.Sub(i.reported).Seconds(), 0.01)
	rate := func(bytes, before int64) int64 { return int64(math.Max(0, float64(bytes-before)/elapsed)) }
	demand := hostsim.Demand{
		DeviceBytes: use.DeviceBytes, PinnedBytes: use.PinnedBytes, AnonBytes: 3 * gib,
		BusyRatio: use.BusyRatio, CPUs: 1 + 2*use.BusyRatio,
		DirectReadBytesPerSecond: rate(use.DiskReadBytes, i.read), DirectWriteBytesPerSecond: rate(use.DiskWrittenBytes, i.written),
	}
	if use.WeightsRead < weightBytes {
		demand.Read = hostsim.FileTransfer{File: weightsFile, BytesPerSecond: loadRate}
	}
	i.read, i.written, i.reported = use.DiskReadBytes, use.DiskWrittenBytes, now
	i.process.Demand(demand)
}

// finish ends the engine and its process.
func (i *inference) finish() {
	if i.stopEngine == nil {
		return
	}
	i.stopEngine()
	i.engine.Wait()
	i.current.Store(nil)
	i.process.Stop()
	i.stopEngine = nil
}

func (i *inference) stop() {
	for _, server := range i.servers {
		server.Close()
	}
	i.serving.Wait()
	i.finish()
}
