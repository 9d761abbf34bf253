package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/umascope/umascope/exporter/hostfs"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/nvml"
)

// MemoryReading is the memory of a host at one moment, as nearly as possible: process lists, meminfo and memory.stat
// are read back to back, before anything else.
type MemoryReading struct {
	Meminfo hostfs.Meminfo
	// Lines is the ledger. Unknown is the reason for each missing line.
	Lines   []ledger.Line
	Unknown map[string]error
	// Architecture is where the memory of the host's GPUs is, "" without a GPU.
	Architecture nvml.Architecture
	// ForeignGPU reports that the GPUs read with the host belong to another machine, so that there is no reading of the
	// host's own.
	ForeignGPU bool
	// Nodes is the memory of the NUMA nodes, read only where a GPU's memory is one of them.
	Nodes []hostfs.Node
	// Processes are those that hold GPU memory, largest first, each once for every GPU it uses.
	Processes []GPUProcess
	// ProcessesTrusted reports that no process can be missing from the driver's lists.
	ProcessesTrusted bool
	// CgroupBytes is what is charged to each cgroup that has such a process, by path
	// (memory.current). Memory of an integrated GPU is not in it.
	CgroupBytes map[string]uint64
}

func (s *Sample) readMemory(ctx context.Context) (MemoryReading, error) {
	devices, listErr := s.devices(ctx)
	meminfo, err := hostfs.ReadMeminfo(s.host.Proc)
	if err != nil {
		return MemoryReading{}, err
	}
	managed, managedErr := managedMemory(s.TopCgroupStats())

	trustErr := s.checkTrust()
	reading := MemoryReading{
		Meminfo: meminfo, Unknown: map[string]error{}, ProcessesTrusted: trustErr == nil,
		ForeignGPU: s.host.ForeignGPU, Architecture: s.architectureOf(devices, listErr), Processes: s.gpuProcesses(devices),
	}
	var nodesErr error
	if slices.ContainsFunc(devices, isNode) {
		reading.Nodes, nodesErr = hostfs.ReadNodes(s.host.Sys)
	}
	pool := poolNodes{total: meminfo["MemTotal"], nodes: reading.Nodes, err: nodesErr}
	held, heldErr := heldInPool(reading.Architecture, devices, pool, errors.Join(listErr, trustErr))
	arc, arcErr := zfsCache(s.host.Proc)
	input := meminfoInput(meminfo)
	input.GPUProcess = reading.noted(ledger.GPUProcess, held, heldErr)
	input.Managed = reading.noted(ledger.Managed, managed, managedErr)
	input.ZFSArc = reading.noted(ledger.ZFSArc, arc, arcErr)
	reading.Lines = input.Lines()
	reading.CgroupBytes = chargedBytes(s.host.Cgroup, reading.Processes)
	return reading, nil
}

// noted records why an amount is unknown.
func (r *MemoryReading) noted(line string, amount LedgerAmount, err error) LedgerAmount {
	if err != nil {
		r.Unknown[line] = err
		return UnknownAmount()
	}
	return amount
}

// meminfoInput takes the ledger's fields from meminfo. A field that this kernel lacks is memory that it does not count:
// unknown. There are three exceptions. SecPageTables are counted separately only since kernel 6.1 and exist on few
// machines. Hugetlb is impossible on a kernel without huge pages, which has no Hugepagesize either. CmaFree is impossible
// on a kernel without CMA.
func meminfoInput(m hostfs.Meminfo) LedgerInput {
	counted := func(field string, otherwise LedgerAmount) LedgerAmount {
		if bytes, there := m[field]; there {
			return KnownAmount(int64(bytes))
		}
		return otherwise
	}
	hugetlb := ImpossibleAmount()
	if _, supported := m["Hugepagesize"]; supported {
		hugetlb = UnknownAmount()
	}
	unknown := UnknownAmount()
	return LedgerInput{
		MemTotal: int64(m["MemTotal"]), MemFree: counted("MemFree", unknown),
		AnonPages: counted("AnonPages", unknown), Buffers: counted("Buffers", unknown),
		Cached: counted("Cached", unknown), Shmem: counted("Shmem", unknown),
		SwapCached: counted("SwapCached", unknown), SReclaimable: counted("SReclaimable", unknown),
		SUnreclaim: counted("SUnreclaim", unknown), KernelStack: counted("KernelStack", unknown),
		PageTables: counted("PageTables", unknown), SecPageTables: counted("SecPageTables", ImpossibleAmount()),
		Percpu: counted("Percpu", unknown), Hugetlb: counted("Hugetlb", hugetlb), CmaFree: freeCMA(m),
	}
}

// freeCMA is the part of MemFree that is in CMA. The kernel sums the two one after the other, so that the part can be
// more than the whole for a moment.
func freeCMA(m hostfs.Meminfo) LedgerAmount {
	part, counted := m["CmaFree"]
	free, there := m["MemFree"]
	switch {
	case !counted:
		return ImpossibleAmount()
	case !there:
		return UnknownAmount()
	}
	return KnownAmount(int64(min(part, free)))
}

// Allocatable returns what can be allocated of the pool. It is false where GPU memory does not come from the pool, and
// where the kernel states neither free nor available memory.
func (r MemoryReading) Allocatable() (Allocatable, bool) {
	free, hasFree := r.Meminfo["MemFree"]
	available, hasAvailable := r.Meminfo["MemAvailable"]
	if !r.Architecture.InPool() || !hasFree || !hasAvailable {
		return Allocatable{}, false
	}
	return NewAllocatable(int64(r.Meminfo["MemTotal"]), int64(free), int64(r.Meminfo["CmaFree"]), int64(available)), true
}

// HandoverBytes is the free memory in CMA that no driver asked for, in bytes: the kernel gave memory that it keeps for kexec
// handover (KHO) to CMA and did not count it in CmaTotal. It is 0 without CmaFree > CmaTotal.
func (r MemoryReading) HandoverBytes() uint64 {
	free, total := r.Meminfo["CmaFree"], r.Meminfo["CmaTotal"]
	if _, counted := r.Meminfo["CmaTotal"]; !counted {
		return 0
	}
	return free - min(free, total)
}

// checkTrust returns why the driver's process lists may lack processes, nil if they cannot.
func (s *Sample) checkTrust() error {
	trusted, err := s.ProcessesTrusted()
	if err == nil && !trusted {
		err = errors.New("the driver lists only processes of the exporter's own PID namespace, which is not the host's")
	}
	return err
}

// heldInPool is the memory that processes hold by GPUs and that is memory of the pool. It is impossible where GPUs have
// their own memory outside the pool, and unknown where that is unknown.
func heldInPool(host nvml.Architecture, devices []nvml.Device, pool poolNodes, listErr error) (LedgerAmount, error) {
	switch {
	case host == "", !host.TakesFromPool() && host != nvml.ArchitectureUnset:
		return ImpossibleAmount(), nil
	case listErr != nil:
		return UnknownAmount(), listErr
	case host == nvml.ArchitectureUnset:
		return UnknownAmount(), errors.New("where the memory of the GPU is could not be told")
	}
	var sum int64
	for _, device := range devices {
		bytes, err := heldInPoolBy(device, pool)
		if err != nil {
			return UnknownAmount(), fmt.Errorf("GPU %d: %w", device.Index, err)
		}
		sum += int64(bytes)
	}
	return KnownAmount(sum), nil
}

// heldInPoolBy is the part of the pool that processes hold by one device.
func heldInPoolBy(device nvml.Device, pool poolNodes) (uint64, error) {
	switch {
	case device.Architecture == nvml.ArchitectureUnset:
		return 0, errors.New("where its memory is could not be told")
	case !device.Architecture.TakesFromPool():
		return 0, nil
	case !device.HeldKnown():
		return 0, errors.New("the driver does not report what every process holds")
	case isNode(device):
		return device.HeldBytes(), pool.contains(device.NUMANode)
	}
	return device.HeldBytes(), nil
}

// managedMemory is the kernel memory of all cgroups that is of no named kind: memory of cudaMallocManaged is charged
// there. Processes in the root cgroup are not charged.
//
// The kernel brings memory.stat up to date when it is read if more than 64 pages for each CPU have changed, and every
// two seconds otherwise (mem_cgroup_flush_stats in mm/memcontrol.c). By that rule gigabytes that stay in the line for a
// second after they were freed, as seen once on an H200, are still charged and not an old figure. The cause, a driver
// that returns them late, is a guess.
func managedMemory(tops map[string]hostfs.MemoryStat, err error) (LedgerAmount, error) {
	if err != nil {
		return UnknownAmount(), err
	}
	var sum int64
	for _, stat := range tops {
		bytes, counted := stat.KernelOther()
		if !counted {
			return UnknownAmount(), errors.New("this kernel does not count the kernel memory of cgroups (5.18 and later do)")
		}
		sum += bytes
	}
	return KnownAmount(sum), nil
}

// zfsCache is the cache of ZFS, impossible without ZFS.
func zfsCache(proc hostfs.Dir) (LedgerAmount, error) {
	bytes, err := hostfs.ReadARCBytes(proc)
	if errors.Is(err, fs.ErrNotExist) {
		return ImpossibleAmount(), nil
	}
	return KnownAmount(int64(bytes)), err
}

// chargedBytes reads what is charged to the cgroups of the processes. A cgroup without figures, such as the root, is
// left out.
func chargedBytes(cgroups hostfs.Dir, processes []GPUProcess) map[string]uint64 {
	charged := map[string]uint64{}
	for _, p := range processes {
		if _, done := charged[p.Cgroup]; done || p.Cgroup == "" {
			continue
		}
		if bytes, err := hostfs.ReadMemoryCurrent(cgroups, p.Cgroup); err == nil {
			charged[p.Cgroup] = bytes
		}
	}
	return charged
}
