package demo

import (
	"context"
	"io/fs"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/exporter/kernelfs"
	hostsim "github.com/umascope/umascope/exporter/sim"
	"github.com/umascope/umascope/loadgen/sim"
)

// The engine is a model of 7 billion parameters without grouped heads, as the published runs had one: 480 KiB of KV
// cache a token, so that tens of thousands of tokens fill the memory and short runs push blocks out to the drive.
const (
	modelName     = "simulated-7b"
	weightBytes   = 16 * gib
	overheadBytes = 4 * gib // of CUDA, graphs and workspaces
	loadRate      = 4 * gib // bytes per second
	bytesPerToken = 480 << 10
	blockTokens   = 16
	blockBytes    = bytesPerToken * blockTokens
	hostTier      = 8 * gib
	diskTier      = 128 * gib
	tierFile      = "/tmp/dynamo-kvbm-disk-cache-simulated (deleted)"
	driveRate     = 10e9 // a fast drive: less would bring blocks back more slowly than they are computed again
	contextTokens = 4096

	// notForKV is what the engine leaves free beside its KV cache: its own tier in the host's memory, and room for others.
	notForKV = hostTier + 4*gib
	kvShare  = 0.9
)

// imageRate is how fast the layers of an image are read.
const imageRate = 5 * gib

// It is looked every so often whether a file was read, and the machine has taken up a demand after so long on its clock.
const (
	lookPause = 20 * time.Millisecond
	takenUp   = 300 * time.Millisecond
)

// inference is the engine on the machine. It is started anew for every arm.
type inference struct {
	host    *hostsim.Host
	speed   float64                    // of the host's clock, by which weights are loaded
	current atomic.Pointer[sim.Engine] // nil: nobody answers in its place

	process *hostsim.Process
	arm     arm
	stop    context.CancelFunc // nil: no engine
	running sync.WaitGroup

	accounting sync.Mutex // guards accounts
	accounts   []account

	proc          fs.FS // of the host
	read, written tierTraffic
}

// engineOptions are what may differ from one start of an engine to the next, whatever the arm.
type engineOptions struct {
	seed   uint64 // makes the times of its steps differ
	faults sim.Faults
}

// engineConfig is the engine of every arm.
func engineConfig(o engineOptions) sim.Config {
	c := sim.Default()
	c.Model, c.Seed, c.Faults = modelName, o.seed, o.faults
	c.PrefillTokensPerSecond, c.PrefillChunkTokens = 12_000, 1024
	c.MaxModelTokens = contextTokens
	c.KV.TokensPerBlock, c.KV.BytesPerToken = blockTokens, bytesPerToken
	c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter = hostTier, diskTier, false
	c.KV.Disk.BytesPerSecond = driveRate
	c.KV.Page, c.KV.FreeRatio, c.KV.TellBytes = sim.KVBMv2, kvShare, true
	c.Memory = sim.Memory{WeightBytes: weightBytes, LoadBytesPerSecond: loadRate, OverheadBytes: overheadBytes}
	return c
}

// begin starts the engine in the cgroup of an arm and returns when it loads its weights.
func (i *inference) begin(ctx context.Context, a arm, o engineOptions) error {
	if a.limits != (hostsim.Limits{}) { // which go with the last process of the scope
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
	config := engineConfig(o)
	config.Memory.LoadBytesPerSecond *= i.speed
	config.KV.FreeBytes = func() int64 { return i.freeForKV(running, process) }
	config.OnUse = i.follow
	engine, err := sim.New(config)
	if err != nil {
		stop()
		process.Stop()
		return err
	}
	process.Demand(hostsim.Demand{AnonBytes: gib, CPUs: 2, Read: loading(a)})
	i.process, i.arm, i.read, i.written = process, a, tierTraffic{}, tierTraffic{}
	i.stop = stop
	i.running.Go(func() { _ = engine.Run(running) }) // whether it serves is seen from outside
	i.current.Store(engine)
	return nil
}

// freeForKV is what the engine finds free for its KV cache once the machine has read the weights and given the memory for
// them, which takes it some tenths of a second longer than the engine.
func (i *inference) freeForKV(ctx context.Context, process *hostsim.Process) int64 {
	for status := process.Status(); status.Alive && status.Refusals == 0; status = process.Status() {
		if status.DeviceBytes >= weightBytes+overheadBytes && status.ReadLeftBytes == 0 || pause(ctx, lookPause) != nil {
			break
		}
	}
	return i.host.CUDAFreeBytes() - notForKV
}

// readWhole reads a file once through the page cache.
func (i *inference) readWhole(ctx context.Context, process *hostsim.Process, file string) error {
	if file == "" {
		return nil
	}
	process.Demand(hostsim.Demand{AnonBytes: gib, CPUs: 2, Read: hostsim.FileTransfer{File: file, BytesPerSecond: imageRate}})
	for asked := i.host.Now(); ; {
		if err := pause(ctx, lookPause); err != nil {
			return err
		}
		if i.host.Now().Sub(asked) >= takenUp && process.Status().ReadLeftBytes == 0 {
			return nil
		}
	}
}

// loading is the read of the weights. The machine reads a file once for as long as a process goes on to want it.
func loading(a arm) hostsim.FileTransfer {
	return hostsim.FileTransfer{File: a.weights, BytesPerSecond: loadRate}
}

// follow makes the process want what the engine uses. The engine makes one report at a time.
func (i *inference) follow(use sim.Use) {
	demand := hostsim.Demand{
		DeviceBytes: use.DeviceBytes, PinnedBytes: use.PinnedBytes, ManagedBytes: use.ManagedBytes, ShmemBytes: i.arm.shmemBytes,
		AnonBytes: 3 * gib, BusyRatio: use.BusyRatio, CPUs: 1 + 2*use.BusyRatio, Read: loading(i.arm),
	}
	if moved, err := kernelfs.ReadProcessIO(i.proc, i.process.PID); err == nil { // else it was killed
		demand.DirectReadBytesPerSecond = i.read.owed(use.DiskReadBytes, moved.Read, i.speed)
		demand.DirectWriteBytesPerSecond = i.written.owed(use.DiskWrittenBytes, moved.Written, i.speed)
	}
	i.process.Demand(demand)
}

// tierTraffic is what the engine says that it moves to or from its tier on the drive, which the machine has to move.
// Reports come at uneven times: a rate alone would lose some of it, or move it twice.
type tierTraffic struct {
	before uint64 // what the process had moved before the engine moved anything
}

// settling is in what time the machine makes up for what it owes: two reports, so that one that is late does not
// move too much.
const settling = 200 * time.Millisecond

// owed is the rate at which the machine comes to what the engine has moved, from what the process has.
func (t *tierTraffic) owed(engine int64, process uint64, speed float64) (bytesPerSecond int64) {
	if engine == 0 {
		t.before = process
		return 0
	}
	owed := engine - int64(process-t.before)
	return int64(float64(max(0, owed)) / settling.Seconds() / speed)
}

// end ends the engine and its process, if there is one.
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

// serve answers by the engine that is there.
func (i *inference) serve(of func(*sim.Engine) http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if engine := i.current.Load(); engine != nil {
			of(engine).ServeHTTP(w, r)
			return
		}
		http.Error(w, "no engine", http.StatusServiceUnavailable)
	})
}

// engineHandler is the engine's server: what clients ask, and its page of metrics.
func (s *stage) engineHandler() http.Handler { return s.inference.serve((*sim.Engine).Handler) }

// kvbmHandler is the page of its KV block manager.
func (s *stage) kvbmHandler() http.Handler { return s.inference.serve((*sim.Engine).KVBMHandler) }
