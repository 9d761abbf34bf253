package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// account is the result of one scrape for explain and the landing page: the ledger, the holders of GPU memory, and the
// missing figures. Both print the same account, so that they cannot differ.
type account struct {
	Mode     collector.Mode
	Outcomes []collector.Outcome
	// Devices are the GPUs that were read.
	Devices []nvml.Device
	// Memory is nil when the memory of the host could not be read; Unknown gives the reason.
	Memory *memoryAccount
	// Unknown are sentences on missing figures, with the reasons.
	Unknown []string
	// Cached are the paths of Options.CachePaths.
	Cached []collector.CachedPath
	gaps   gaps
}

// memoryAccount is the ledger and the holders of GPU memory. Sizes are in bytes.
type memoryAccount struct {
	PoolBytes uint64
	// Lines add up to the pool, the largest first.
	Lines        []collector.LedgerLine
	Architecture nvml.Architecture
	// CUDA compares what CUDA sees with what is available, and explains the difference.
	CUDA string
	// Nodes are the NUMA nodes of a machine on which a GPU's memory is one of them.
	Nodes []hostfs.Node
	// Holders are processes with GPU memory and Groups their cgroups, largest first.
	Holders []collector.GPUProcess
	Groups  []group
}

// group is a cgroup in which processes hold GPU memory.
type group struct {
	Path string
	// ChargedBytes is memory.current, nil when it could not be read.
	ChargedBytes *uint64
	HeldBytes    uint64
}

// accountFor builds the account of a scrape. It must not block: it reads with a context that has ended, and only the
// samples of collectors that have returned.
func accountFor(scrape *collector.Scrape) account {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	a := account{Mode: scrape.Mode, Outcomes: scrape.Outcomes}
	for _, outcome := range scrape.Outcomes {
		a.gaps.addOutcome(outcome)
		if outcome.Spec.Name == "gpu" && outcome.Sample != nil {
			snapshot, _ := outcome.Sample.GPU(ended).Snapshot(ended) // the outcome has the reason why it is incomplete
			a.Devices = snapshot.Devices
		}
	}
	for _, outcome := range scrape.Outcomes {
		if outcome.Spec.Name == "memory" && outcome.Sample != nil {
			if reading, err := outcome.Sample.Memory(ended); err == nil {
				a.addMemory(reading)
			}
			a.addCached(outcome.Sample.CachedPaths())
		}
	}
	a.addEngines()
	a.Unknown = a.gaps.sentences()
	return a
}

// addEngines names a possible engine for a collector of engines without sources: the process with most GPU memory.
func (a *account) addEngines() {
	if a.Memory == nil || len(a.Memory.Holders) == 0 {
		return
	}
	largest := a.Memory.Holders[0]
	for _, outcome := range a.Outcomes {
		if outcome.Spec.Name == metric.CollectorEngine && errors.Is(outcome.Err, collector.ErrNoSources) {
			a.gaps.addMend(outcome.Reason(), fmt.Sprintf("%s (pid %d) holds %s GiB of GPU memory: if it is an engine, give its page, such as --engine.url=http://127.0.0.1:8000/metrics",
				largest.Comm, largest.PID, gibOr(largest.UsedBytes)))
		}
	}
}

// addCached adds the figures of the paths; the error of the collector is reported elsewhere.
func (a *account) addCached(paths []collector.CachedPath) {
	a.Cached = paths
	for _, path := range paths {
		if errors.Is(path.Err, fs.ErrNotExist) || errors.Is(path.Err, fs.ErrPermission) {
			a.gaps.add(gap{what: "How much of " + path.Path + " is in the page cache", why: path.Err.Error()})
		}
	}
}

func (a *account) addMemory(reading collector.MemoryReading) {
	a.Memory = &memoryAccount{
		PoolBytes: reading.Meminfo["MemTotal"], Lines: collector.LinesBySize(reading.Lines), Architecture: reading.Architecture,
		CUDA: a.cudaSentence(reading), Holders: reading.Processes, Groups: groupsOf(reading), Nodes: reading.Nodes,
	}
	for _, line := range reading.Lines {
		switch {
		case !line.Known:
			why := cmp.Or(reading.Unknown[line.Name], errors.New("its input could not be read"))
			a.gaps.addLine(line.Name, metric.LineUnattributed, why)
		case line.Name == metric.LineUnattributed && countedTwice(reading, line.Bytes):
			a.gaps.add(gap{what: "Unattributed is negative: something is counted twice, perhaps by a driver that charges GPU memory to cgroups, so that it is in " +
				metric.LineGPUProcess + " and in " + metric.LineManaged})
		}
	}
	if reading.Architecture != "" && !reading.ProcessesTrusted {
		a.gaps.add(gap{what: "The list of processes that hold GPU memory may be incomplete: none in it does not mean an idle GPU"})
	}
}

// countedTwice reports whether a remainder is further below 0 than figures of different moments explain: 2 % of the
// pool. It applies to coherent machines only, whose rules have not been measured yet.
func countedTwice(reading collector.MemoryReading, unattributed int64) bool {
	return reading.Architecture == nvml.CoherentNUMA && unattributed < -int64(reading.Meminfo["MemTotal"]/50)
}

// groupsOf sums the holders by cgroup, largest first.
func groupsOf(reading collector.MemoryReading) []group {
	held := make(map[string]uint64)
	for _, holder := range reading.Processes {
		if holder.Cgroup != "" && holder.UsedBytes != nil {
			held[holder.Cgroup] += *holder.UsedBytes
		}
	}
	var groups []group
	for path, bytes := range held {
		one := group{Path: path, HeldBytes: bytes}
		if charged, known := reading.CgroupBytes[path]; known {
			one.ChargedBytes = &charged
		}
		groups = append(groups, one)
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.HeldBytes, a.HeldBytes), cmp.Compare(a.Path, b.Path))
	})
	return groups
}

// cudaSentence describes what cudaMemGetInfo reports as free, what the kernel could free, and why the two figures
// differ.
func (a *account) cudaSentence(reading collector.MemoryReading) string {
	free, hasFree := reading.Meminfo["MemFree"]
	available, hasAvailable := reading.Meminfo["MemAvailable"]
	switch where := reading.Architecture; {
	case reading.ForeignGPU:
		return "Not known: the GPU is another machine's."
	case where == "":
		return "No GPU: nothing here is visible to CUDA."
	case where == nvml.ArchitectureUnset:
		return "Not known: where the memory of the GPU is could not be told."
	case !hasFree || !hasAvailable:
		return "Not known: the kernel does not state free and available memory."
	case where == nvml.CoherentNUMA:
		return fmt.Sprintf("CUDA sees the memory of the device%s; the %s GiB available are of the whole pool, which contains it. Programs that run out of the CPU's memory take the GPU's too.", a.deviceFree(), gib(available))
	case !where.InPool():
		return fmt.Sprintf("CUDA sees the memory of the device%s; the %s GiB available are of the pool, which is another memory.", a.deviceFree(), gib(available))
	case free > available:
		return fmt.Sprintf("CUDA sees %s GiB (MemFree), %s GiB is available: the kernel keeps %s GiB in reserve.",
			gib(free), gib(available), gib(free-available))
	default:
		return fmt.Sprintf("CUDA sees %s GiB (MemFree), %s GiB is available: CUDA does not count the %s GiB of cache that the kernel would give up when asked.",
			gib(free), gib(available), gib(available-free))
	}
}

// deviceFree lists the free memory of devices that have their own. Memory that the driver reserves is part of NVML's
// total and not of CUDA's.
func (a *account) deviceFree() string {
	text := ""
	for _, device := range a.Devices {
		if device.MemoryFreeBytes == nil || device.MemoryTotalBytes == nil {
			continue
		}
		total := *device.MemoryTotalBytes
		if device.MemoryReservedBytes != nil {
			total -= *device.MemoryReservedBytes
		}
		text += fmt.Sprintf(", GPU %d: %s of %s GiB free", device.Index, gib(*device.MemoryFreeBytes), gib(total))
	}
	return text
}

// gib prints bytes in GiB.
func gib[N int64 | uint64 | float64](bytes N) string {
	return fmt.Sprintf("%.2f", float64(bytes)/(1<<30))
}
