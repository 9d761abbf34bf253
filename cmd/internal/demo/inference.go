package demo

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/sim"
)

// lookPause is the interval at which the state of the machine is checked. takenUp is the time after which a new demand is
// in effect: two ticks of the machine.
const (
	lookPause = 10 * time.Millisecond
	takenUp   = 200 * time.Millisecond
)

// inference is the engine on the machine. Each arm starts a new one.
type inference struct {
	host    *hostsim.Host
	weights int64                      // bytes
	current atomic.Pointer[sim.Engine] // nil: no engine, no answers

	process *hostsim.Process
	arm     arm
	kvBytes int64              // of engineOptions
	awaited int64              // GPU memory, in bytes, that the engine had been given before it went on
	stop    context.CancelFunc // nil: no engine
	running sync.WaitGroup

	accounting sync.Mutex // guards accounts
	accounts   []account

	read, written tierTraffic
	visits        visits
}

// begin starts the engine in the cgroup of an arm and returns when it loads its weights.
func (i *inference) begin(ctx context.Context, a arm, o engineOptions) error {
	if a.limits != (hostsim.Limits{}) { // they end with the last process of the scope
		if err := i.host.SetLimits(a.cgroup, a.limits); err != nil {
			return err
		}
	}
	process, err := i.host.Start(hostsim.Program{
		Comm: "VLLM::EngineCor", Cgroup: a.cgroup, Threads: 60,
		OpenFiles: []hostsim.OpenFile{{Target: tierFile, Bytes: diskTier, Direct: true}},
	})
	if err != nil {
		return err
	}
	if err := i.readWhole(ctx, process, a.layers); err != nil {
		process.Stop()
		return err
	}
	running, stop := context.WithCancel(context.Background())
	config := engineConfig(o, i.weights)
	config.KV.FreeBytes = i.note // by then it has been given all other memory
	config.OnUse = func(use sim.Use) { i.follow(running, use) }
	engine, err := sim.New(config)
	if err != nil {
		stop()
		process.Stop()
		return err
	}
	i.process, i.arm, i.kvBytes, i.awaited, i.read, i.written = process, a, o.kvBytes, 0, tierTraffic{}, tierTraffic{}
	i.stop = stop
	i.running.Go(func() { _ = engine.Run(running) }) // clients see whether it serves
	i.current.Store(engine)
	return nil
}

// readWhole reads a file once through the page cache.
func (i *inference) readWhole(ctx context.Context, process *hostsim.Process, file string) error {
	if file == "" {
		return nil
	}
	process.Demand(hostsim.Demand{AnonBytes: gib, CPUs: 2, Read: hostsim.FileTransfer{File: file, BytesPerSecond: loadRate}})
	for asked := i.host.Now(); ; {
		if err := pause(ctx, lookPause); err != nil {
			return err
		}
		if i.host.Now().Sub(asked) >= takenUp && process.Status().ReadLeftBytes == 0 {
			return nil
		}
	}
}

// follow sets the demand of the process to what the engine uses, and waits until the machine has given it what it needs
// to go on: its weights, and later its KV cache. The engine makes one report at a time.
func (i *inference) follow(ctx context.Context, use sim.Use) {
	demand := i.demandOf(use)
	if moved := i.process.Status(); moved.Alive {
		demand.DirectReadMostBytes, demand.DirectWriteMostBytes = use.DiskReadBytes, use.DiskWrittenBytes
		demand.DirectReadBytesPerSecond = i.read.owed(use.DiskReadBytes, moved.ReadBytes)
		demand.DirectWriteBytesPerSecond = i.written.owed(use.DiskWrittenBytes, moved.WrittenBytes)
	}
	i.process.Demand(demand)
	if use.WeightsRead == i.weights && use.PromptTokens == 0 && use.DeviceBytes > i.awaited {
		i.awaited = use.DeviceBytes
		i.given(ctx, demand)
	}
}

// demandOf returns the demand on the machine for what the engine uses.
func (i *inference) demandOf(use sim.Use) hostsim.Demand {
	grown := min(use.PromptTokens, grownTokens)
	return hostsim.Demand{
		DeviceBytes: use.DeviceBytes + grown*workspaceBytes/grownTokens,
		PinnedBytes: hostTier, ShmemBytes: i.arm.shmemBytes,
		AnonBytes: startHeap + grown*heapBytes/grownTokens,
		BusyRatio: use.BusyRatio, CPUs: 1 + 2*use.BusyRatio,
		// The machine reads a file once while the demand of a process lasts.
		Read: hostsim.FileTransfer{File: i.arm.weights, BytesPerSecond: loadRate},
	}
}

// given waits until the process has what it demands, or cannot get it any more.
func (i *inference) given(ctx context.Context, want hostsim.Demand) {
	for asked := i.host.Now(); ; {
		has := i.process.Status()
		switch {
		case !has.Alive || has.Refusals > 0:
			return
		case i.host.Now().Sub(asked) >= takenUp && has.ReadLeftBytes == 0 && has.DeviceBytes >= want.DeviceBytes &&
			has.PinnedBytes >= want.PinnedBytes && has.ShmemBytes >= want.ShmemBytes && has.AnonBytes+has.SwappedBytes >= want.AnonBytes:
			return
		}
		if pause(ctx, lookPause) != nil {
			return
		}
	}
}

// end stops the engine and its process, if there is one.
func (i *inference) end() {
	if i.stop == nil {
		return
	}
	i.stop()
	i.running.Wait()
	i.current.Store(nil)
	i.process.Stop()
	i.stop = nil
}

// serve answers with the handler of the current engine.
func (i *inference) serve(of func(*sim.Engine) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if engine := i.current.Load(); engine != nil {
			of(engine).ServeHTTP(w, r)
			return
		}
		http.Error(w, "no engine", http.StatusServiceUnavailable)
	})
}

// engineHandler serves the API of the engine and its metrics page.
func (s *stage) engineHandler() http.Handler {
	return s.inference.visits.counted(s.inference.serve((*sim.Engine).Handler))
}

// kvbmHandler serves the metrics page of its KV block manager.
func (s *stage) kvbmHandler() http.Handler { return s.inference.serve((*sim.Engine).KVBMHandler) }
