package collector

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// Sample is the data that the collectors of one collection share. Each source is read once, on first use, so that
// related figures on a page agree.
type Sample struct {
	host    Host
	options Options

	beginOnce sync.Once
	beginErr  error

	brief    bool // GPUs are read without what costs most
	passOnce sync.Once
	pass     *nvml.Pass

	memory  shared[MemoryReading]
	engines shared[[]uint32] // see engineProcesses

	discovery     *discovery // nil where it is off
	found         shared[discovered]
	engineSockets atomic.Pointer[[]EngineSocket]
	enginePages   atomic.Pointer[[]EnginePage]

	topsOnce sync.Once
	tops     map[string]hostfs.MemoryStat
	topsErr  error

	cachedPaths atomic.Pointer[[]CachedPath]
}

// NewSample returns an unread sample of the host.
func NewSample(host Host, options Options) *Sample { return &Sample{host: host, options: options} }

// begin brings the files of the host up to date. The first collector of a collection does it, the others wait.
func (s *Sample) begin() error {
	s.beginOnce.Do(func() {
		if s.host.Refresh != nil {
			s.beginErr = s.host.Refresh()
		}
	})
	return s.beginErr
}

// GPU is the pass over the devices. The first caller starts it; GPU does not wait for it.
func (s *Sample) GPU(ctx context.Context) *nvml.Pass {
	s.passOnce.Do(func() {
		if s.brief {
			s.pass = s.host.GPU.ReadBriefly(ctx)
		} else {
			s.pass = s.host.GPU.Read(ctx)
		}
	})
	return s.pass
}

// Memory reads the memory of the host. The error is that of /proc/meminfo, without which there is no reading, or of a
// context that ends before the reading is there; MemoryReading.Unknown gives the reason for every other missing figure.
func (s *Sample) Memory(ctx context.Context) (MemoryReading, error) {
	return s.memory.get(ctx, s.readMemory)
}

// TopCgroupStats reads memory.stat of all cgroups directly below the root, by path; one that goes away meanwhile is
// left out. Reading the memory of the host reads them too: call Memory first for figures of the same moment.
func (s *Sample) TopCgroupStats() (map[string]hostfs.MemoryStat, error) {
	s.topsOnce.Do(func() {
		s.topsErr = errors.New("reading the top-level cgroups ended in a panic") // final if it is true
		s.tops, s.topsErr = hostfs.ReadTopMemoryStats(s.host.Cgroup)
	})
	return s.tops, s.topsErr
}

// ProcessesTrusted reports whether no process can be missing from the driver's process lists, which are those of this
// process's PID namespace. The error is why the answer is unknown.
func (s *Sample) ProcessesTrusted() (bool, error) {
	if s.host.ForeignGPU {
		return false, errors.New("the GPU is another machine's")
	}
	return hostfs.HostPIDNamespace(s.host.Proc)
}

// devices are the machine's GPUs with identity and process lists. It waits for them for half of the remaining time, so
// that a driver that hangs leaves the other half for the rest. GPUs of another machine are left out.
func (s *Sample) devices(ctx context.Context) ([]nvml.Device, error) {
	if s.host.ForeignGPU {
		return nil, nil
	}
	pass := s.GPU(ctx)
	if deadline, bounded := ctx.Deadline(); bounded {
		half, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
		defer cancel()
		ctx = half
	}
	devices, err := pass.Processes(ctx)
	if s.options.Architecture != "" { // at least one source reports that there are some
		for i := range devices {
			devices[i].Architecture = s.options.Architecture
		}
		return devices, err
	}
	if errors.Is(err, nvml.ErrUnavailable) {
		// Without the driver no GPU is in use. With it one may be in use, though this program cannot read it.
		if snapshot, _ := pass.Snapshot(ctx); noGPUExpected(snapshot.Return) && !hostfs.HasNVIDIAModule(s.host.Sys) {
			return nil, nil
		}
	}
	return devices, err
}

// architectureOf returns where the memory of the machine's GPUs is, "" when it has none or they belong to another
// machine; err is the fault of listing them. With several GPUs one whose memory is the pool decides, since the ledger
// depends on that; next one whose memory is a part of it; next one that could be either.
func (s *Sample) architectureOf(devices []nvml.Device, err error) nvml.Architecture {
	switch {
	case s.host.ForeignGPU:
		return ""
	case s.options.Architecture != "":
		return s.options.Architecture
	}
	for _, decides := range []func(nvml.Device) bool{
		func(d nvml.Device) bool { return d.Architecture.InPool() },
		func(d nvml.Device) bool { return d.Architecture.TakesFromPool() },
		func(d nvml.Device) bool { return d.Architecture == nvml.ArchitectureUnset },
		func(nvml.Device) bool { return true },
	} {
		if at := slices.IndexFunc(devices, decides); at >= 0 {
			return devices[at].Architecture
		}
	}
	if err != nil {
		return nvml.ArchitectureUnset
	}
	return ""
}

// GPUProcess is a process with memory of one GPU.
type GPUProcess struct {
	UUID string // of the GPU
	GPU  int    // its index, as the driver counts
	PID  uint32
	// UsedBytes is nil where the driver does not report it.
	UsedBytes *uint64
	// Comm is the process's short name and Cgroup its path, "" if it ended before they were read, or runs on another
	// machine.
	Comm, Cgroup string
}

// gpuProcesses lists the processes that hold GPU memory, largest first. A process that uses several GPUs is in it once
// for each.
func (s *Sample) gpuProcesses(devices []nvml.Device) []GPUProcess {
	var processes []GPUProcess
	for _, device := range devices {
		for _, p := range device.Processes {
			holder := GPUProcess{UUID: device.UUID, GPU: device.Index, PID: p.PID, UsedBytes: p.UsedBytes}
			if !s.host.ForeignGPU {
				// A process may end at any time: a missing name is no error.
				holder.Comm, _ = hostfs.Comm(s.host.Proc, p.PID)
				holder.Cgroup, _ = hostfs.ProcessCgroup(s.host.Proc, p.PID)
			}
			processes = append(processes, holder)
		}
	}
	slices.SortStableFunc(processes, func(a, b GPUProcess) int {
		return compareUsed(b.UsedBytes, a.UsedBytes)
	})
	return processes
}

// compareUsed orders unknown amounts below all known ones.
func compareUsed(a, b *uint64) int {
	switch {
	case a == nil && b == nil, a != nil && b != nil && *a == *b:
		return 0
	case a == nil, b != nil && *a < *b:
		return -1
	}
	return 1
}
