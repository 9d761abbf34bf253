package collector

import (
	"context"
	"fmt"

	"github.com/umascope/umascope/exporter/hostfs"
)

// maxEngineProcesses is the maximum number of processes inspected for an engine.
const maxEngineProcesses = 256

// engineProcesses lists the processes that may belong to an engine: those that hold GPU memory, largest first, then the
// others in their cgroups, since the engine's front end and its KV block manager can be separate processes that hold
// none. The list is empty if the GPU belongs to another machine.
func (s *Sample) engineProcesses(ctx context.Context) []uint32 {
	// Without a reading there are no processes either; the memory collector reports why.
	pids, _ := s.engines.get(ctx, func(ctx context.Context) ([]uint32, error) {
		reading, err := s.Memory(ctx)
		if s.host.ForeignGPU {
			return nil, err
		}
		return s.withCompanions(reading.Processes), err
	})
	return pids
}

// withCompanions lists the processes given and those in the same cgroups, each once.
func (s *Sample) withCompanions(holders []GPUProcess) []uint32 {
	var pids []uint32
	listed := map[uint32]bool{}
	list := func(pid uint32) {
		if !listed[pid] && len(pids) < maxEngineProcesses {
			listed[pid] = true
			pids = append(pids, pid)
		}
	}
	for _, holder := range holders {
		list(holder.PID)
	}
	looked := map[string]bool{}
	for _, holder := range holders {
		if looked[holder.Cgroup] {
			continue
		}
		looked[holder.Cgroup] = true
		for _, pid := range s.companions(holder.Cgroup) {
			list(pid)
		}
	}
	return pids
}

// companions lists the processes in a cgroup. It returns none for the root, which holds every process that was never
// placed, and none for a cgroup that is gone or unreadable.
func (s *Sample) companions(cgroup string) []uint32 {
	if cgroup == "" || cgroup == "/" {
		return nil
	}
	pids, _ := hostfs.CgroupProcesses(s.host.Cgroup, cgroup)
	return pids
}

// gpuProcessesKnown returns why processes may be missing among those that hold GPU memory: the list of a device could
// not be read. ProcessesTrusted covers processes that the driver leaves out without an error.
func (s *Sample) gpuProcessesKnown(ctx context.Context) error {
	if _, err := s.devices(ctx); err != nil {
		return fmt.Errorf("not all processes that use a GPU are known: %w", err)
	}
	return nil
}
