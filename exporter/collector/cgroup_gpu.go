package collector

import (
	"context"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// gpuHeld is the GPU memory that processes hold, by cgroup.
type gpuHeld struct {
	// known reports that no process and no figure can be missing, so that a cgroup which is not in the maps holds none.
	// It is false on a machine without GPU and for GPUs of another machine.
	known bool
	// direct are the cgroups that directly contain such processes, whether or not the amounts are known.
	direct map[string]bool
	// bytes is held by processes in a cgroup and all cgroups below it, over all GPUs; fromPool is the part of it that
	// is pool memory.
	bytes, fromPool map[string]uint64
	// inPool reports that the memory of at least one GPU is pool memory.
	inPool bool
}

// gpuHeld sums the memory that the processes of a reading hold, up the tree: a cgroup holds what its processes hold.
func (s *Sample) gpuHeld(ctx context.Context, memory MemoryReading, memoryErr error) gpuHeld {
	held := gpuHeld{direct: map[string]bool{}, bytes: map[string]uint64{}, fromPool: map[string]uint64{}}
	if memoryErr != nil || s.host.ForeignGPU {
		return held
	}
	devices, err := s.devices(ctx)
	held.inPool = memory.Architecture.InPool()
	held.known = err == nil && len(devices) > 0 && memory.ProcessesTrusted &&
		!slices.ContainsFunc(devices, func(d nvml.Device) bool { return !d.HeldKnown() }) &&
		!slices.ContainsFunc(memory.Processes, s.isUnplaced)
	pooled := map[string]bool{}
	for _, d := range devices {
		pooled[d.UUID] = d.Architecture.InPool()
	}
	for _, p := range memory.Processes {
		held.add(p, pooled[p.UUID])
	}
	return held
}

// isUnplaced reports whether the reader cannot see the cgroup of a process: the process is hidden (hidepid), or outside
// the reader's cgroup namespace.
func (s *Sample) isUnplaced(p GPUProcess) bool {
	return strings.HasPrefix(p.Cgroup, "/..") || p.Cgroup == "" && hostfs.ProcessExists(s.host.Proc, p.PID)
}

// add skips a process that ended before its cgroup was read: it holds no memory any more.
func (h gpuHeld) add(p GPUProcess, fromPool bool) {
	if p.Cgroup == "" {
		return
	}
	h.direct[p.Cgroup] = true
	if p.UsedBytes == nil {
		return
	}
	for cgroup := p.Cgroup; cgroup != ""; cgroup = cgroup[:strings.LastIndexByte(cgroup, '/')] {
		h.bytes[cgroup] += *p.UsedBytes
		if fromPool {
			h.fromPool[cgroup] += *p.UsedBytes
		}
	}
}
