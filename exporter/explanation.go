package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// explanationSchema names the form of an explanation in JSON.
const explanationSchema = "umascope.explain/1"

// explanation is where the memory of a machine is at one moment, and who holds it. The text of explain, its JSON, the
// page explain.json and the landing page are views of it. Sizes are in bytes; one that is absent could not be read.
type explanation struct {
	Schema string `json:"schema"`
	// Answer is the sentence that explain begins with.
	Answer string         `json:"answer"`
	Mode   collector.Mode `json:"mode"`
	// Exporter is the page of the running exporter that read the figures. It is empty where explain read them itself;
	// Note is why.
	Exporter string `json:"exporter,omitempty"`
	Note     string `json:"note,omitempty"`
	// GPUs are those that were read.
	GPUs []gpuMemory `json:"gpus"`
	// Memory is nil when the memory of the host could not be read; Unknown has the reason.
	Memory *memoryAccount `json:"memory,omitempty"`
	// Cached are the paths of Options.CachePaths, the largest first.
	Cached []cachedPath `json:"page_cache_by_path,omitempty"`
	// Own are the processes of umascope on the machine.
	Own []ownProcess `json:"umascope_processes,omitempty"`
	// Sockets are those that may be an engine's, in the order of metric.DiscoveryResults.
	Sockets []engineSocket `json:"engine_sockets,omitempty"`
	// Engines are those whose pages were read.
	Engines []engineMemory `json:"engines,omitempty"`
	// Unknown are sentences on missing figures, with the reasons.
	Unknown []string `json:"unknown"`
}

// gpuMemory is a GPU and its own memory.
type gpuMemory struct {
	Index        int               `json:"gpu"`
	Name         string            `json:"name"`
	Architecture nvml.Architecture `json:"memory_architecture"`
	// TotalBytes and FreeBytes are what cudaMemGetInfo reports of memory that is the GPU's own.
	TotalBytes *uint64 `json:"cuda_total_bytes,omitempty"`
	FreeBytes  *uint64 `json:"cuda_free_bytes,omitempty"`
	// Partitioned reports that an engine gets a part of the GPU (MIG), with a part of that memory.
	Partitioned bool `json:"partitioned,omitempty"`
}

// memoryAccount is the ledger and the holders of GPU memory.
type memoryAccount struct {
	PoolBytes uint64 `json:"pool_bytes"`
	// AvailableBytes is MemAvailable.
	AvailableBytes *uint64 `json:"available_bytes,omitempty"`
	// Lines add up to the pool, the largest first.
	Lines        []ledger.Line     `json:"lines"`
	Architecture nvml.Architecture `json:"memory_architecture,omitempty"`
	// CUDA is what CUDA reports as free, what can be allocated and what fit grants, or why that is not known.
	CUDA string `json:"cuda"`
	// Allocatable has these figures of a GPU that allocates from the pool, with the reserve of fit; nil elsewhere.
	Allocatable *collector.Allocatable `json:"allocatable,omitempty"`
	// Handover describes memory that kexec handover put into CMA and how to get it back; "" where there is none.
	Handover string `json:"kexec_handover,omitempty"`

	known spec.Engines
	// Nodes are the NUMA nodes with memory of a machine on which a GPU's memory is one of them.
	Nodes []nodeMemory `json:"nodes,omitempty"`
	// Holders are processes with GPU memory and Groups their cgroups, the largest first.
	Holders []holder `json:"gpu_processes"`
	Groups  []group  `json:"gpu_cgroups"`
}

type nodeMemory struct {
	Node       int    `json:"node"`
	TotalBytes uint64 `json:"total_bytes"`
	FreeBytes  uint64 `json:"free_bytes"`
}

// holder is a process with memory of one GPU.
type holder struct {
	Bytes *uint64 `json:"bytes,omitempty"`
	GPU   int     `json:"gpu"`
	PID   uint32  `json:"pid"`
	Comm  string  `json:"comm"`
	place
}

// group is a cgroup in which processes hold GPU memory.
type group struct {
	// ChargedBytes is memory.current.
	ChargedBytes *uint64 `json:"charged_bytes,omitempty"`
	HeldBytes    uint64  `json:"gpu_held_bytes"`
	place
}

// place is a cgroup, with the name of its container where that is known.
type place struct {
	Cgroup    string `json:"cgroup"`
	Container string `json:"container,omitempty"`
}

// cachedPath is how much of a path is in the page cache.
type cachedPath struct {
	Path  string  `json:"path"`
	Bytes *uint64 `json:"bytes,omitempty"`
}

// explain builds the explanation of a scrape. It must not block: it reads with a context that has ended, and only the
// samples of collectors that have returned.
func explain(scrape *collector.Scrape) explanation {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	x := explanation{Schema: explanationSchema, Mode: scrape.Mode, GPUs: []gpuMemory{}, Unknown: []string{}}
	var missing gaps
	for _, outcome := range scrape.Outcomes {
		missing.addOutcome(outcome)
		if outcome.Spec.Name == "gpu" && outcome.Sample != nil {
			snapshot, _ := outcome.Sample.GPU(ended).Snapshot(ended) // the outcome has the reason why it is incomplete
			for _, device := range snapshot.Devices {
				x.GPUs = append(x.GPUs, memoryOf(device))
			}
		}
	}
	for _, outcome := range scrape.Outcomes {
		if outcome.Spec.Name == "memory" && outcome.Sample != nil {
			if reading, err := outcome.Sample.Memory(ended); err == nil {
				x.addMemory(reading, &missing)
			}
			x.addCached(outcome.Sample.CachedPaths(), &missing)
		}
	}
	for _, outcome := range scrape.Outcomes {
		x.Sockets = append(x.Sockets, socketsOf(outcome)...)
	}
	for _, outcome := range scrape.Outcomes {
		x.Engines = append(x.Engines, enginesOf(outcome)...)
	}
	x.addEngines(scrape.Outcomes, missing)
	x.Unknown = append(x.Unknown, missing.sentences()...)
	x.Answer = x.answer()
	return x
}

// memoryOf returns the memory of a device. Memory that the driver reserves is part of NVML's total and not of CUDA's.
func memoryOf(device nvml.Device) gpuMemory {
	g := gpuMemory{Index: device.Index, Name: device.Name, Architecture: device.Architecture, Partitioned: device.MIGEnabled != nil && *device.MIGEnabled}
	if device.MemoryFreeBytes == nil || device.MemoryTotalBytes == nil {
		return g
	}
	total, free := uint64(*device.MemoryTotalBytes), uint64(*device.MemoryFreeBytes)
	if device.MemoryReservedBytes != nil {
		total -= min(total, uint64(*device.MemoryReservedBytes))
	}
	g.TotalBytes, g.FreeBytes = &total, &free
	return g
}

// addEngines names a possible engine for a collector of engines without sources: the process with most GPU memory.
func (x *explanation) addEngines(outcomes []collector.Outcome, missing gaps) {
	if x.Memory == nil || len(x.Memory.Holders) == 0 {
		return
	}
	largest := x.Memory.Holders[0]
	for _, outcome := range outcomes {
		if outcome.Spec.Name == metric.CollectorEngine && errors.Is(outcome.Err, collector.ErrNoSources) {
			missing.addFix(outcome.Reason(), fmt.Sprintf("%s (pid %d) holds %s GiB of GPU memory: if it is an engine, give its page, such as --engine.url=http://127.0.0.1:8000/metrics",
				largest.Comm, largest.PID, gibOr(largest.Bytes)))
		}
	}
}

// addCached adds the figures of the paths; the error of the collector is reported elsewhere.
func (x *explanation) addCached(paths []collector.CachedPath, missing *gaps) {
	for _, path := range paths {
		one := cachedPath{Path: path.Path}
		if path.Err == nil {
			one.Bytes = &path.Bytes
		}
		x.Cached = append(x.Cached, one)
		if errors.Is(path.Err, fs.ErrNotExist) || errors.Is(path.Err, fs.ErrPermission) {
			missing.add(gap{what: "How much of " + path.Path + " is in the page cache", why: path.Err.Error()})
		}
	}
	slices.SortStableFunc(x.Cached, func(a, b cachedPath) int { return compareKnown(b.Bytes, a.Bytes) })
}

// compareKnown orders unknown sizes below all known ones.
func compareKnown(a, b *uint64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

func (x *explanation) addMemory(reading collector.MemoryReading, missing *gaps) {
	m := &memoryAccount{
		PoolBytes: reading.Meminfo["MemTotal"], Lines: ledger.BySize(reading.Lines), Architecture: reading.Architecture, CUDA: x.cudaSentence(reading),
		Handover: handoverSentence(reading), Holders: []holder{}, Groups: groupsOf(reading),
	}
	if can, known := reading.Allocatable(); known {
		m.Allocatable = &can
	}
	if available, known := reading.Meminfo["MemAvailable"]; known {
		m.AvailableBytes = &available
	}
	for _, node := range reading.Nodes {
		if total := node.Meminfo["MemTotal"]; total > 0 {
			m.Nodes = append(m.Nodes, nodeMemory{node.ID, total, node.Meminfo["MemFree"]})
		}
	}
	for _, p := range reading.Processes {
		m.Holders = append(m.Holders, holder{p.UsedBytes, p.GPU, p.PID, p.Comm, place{Cgroup: p.Cgroup}})
	}
	x.Memory = m
	for _, line := range reading.Lines {
		switch {
		case line.Unknown:
			why := cmp.Or(reading.Unknown[line.Name], errors.New("its input could not be read"))
			missing.addLine(ledger.Named(line.Name).Title, ledger.Unattributed, why)
		case line.Name == ledger.Unattributed && countedTwice(reading, line.Bytes):
			missing.add(gap{what: "Unattributed is negative: something is counted twice, perhaps by a driver that charges GPU memory to cgroups, so that it is in " +
				ledger.GPUProcess + " and in " + ledger.Managed})
		}
	}
	if reading.Architecture != "" && !reading.ProcessesTrusted {
		missing.add(gap{what: "The list of processes that hold GPU memory may be incomplete: none in it does not mean an idle GPU"})
	}
}

// countedTwice reports whether a remainder is further below 0 than figures of different moments explain: 2 % of the
// pool. It applies to coherent machines only, whose rules have not been measured yet.
func countedTwice(reading collector.MemoryReading, unattributed float64) bool {
	return reading.Architecture == nvml.CoherentNUMA && unattributed < -float64(reading.Meminfo["MemTotal"]/50)
}

// groupsOf sums the holders by cgroup, largest first.
func groupsOf(reading collector.MemoryReading) []group {
	held := make(map[string]uint64)
	for _, holder := range reading.Processes {
		if holder.Cgroup != "" && holder.UsedBytes != nil {
			held[holder.Cgroup] += *holder.UsedBytes
		}
	}
	groups := []group{}
	for path, bytes := range held {
		one := group{HeldBytes: bytes, place: place{Cgroup: path}}
		if charged, known := reading.CgroupBytes[path]; known {
			one.ChargedBytes = &charged
		}
		groups = append(groups, one)
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Or(cmp.Compare(b.HeldBytes, a.HeldBytes), cmp.Compare(a.Cgroup, b.Cgroup))
	})
	return groups
}

// cudaSentence describes what CUDA reports as free and what can be allocated, or of which memory CUDA reports.
func (x *explanation) cudaSentence(reading collector.MemoryReading) string {
	available, hasAvailable := reading.Meminfo["MemAvailable"]
	can, known := reading.Allocatable()
	switch where := reading.Architecture; {
	case reading.ForeignGPU:
		return "Not known: the GPU is another machine's."
	case where == "":
		return "No GPU: nothing here is visible to CUDA."
	case where == nvml.ArchitectureUnset:
		return "Not known: where the memory of the GPU is could not be told."
	case known:
		return can.Sentence() + "."
	case where.InPool(), !hasAvailable:
		return "Not known: the kernel does not state free and available memory."
	case where == nvml.CoherentNUMA:
		return fmt.Sprintf("CUDA reports the memory of the device%s; the %s GiB available are of the whole pool, which contains it. Programs that run out of the CPU's memory take the GPU's too.", x.deviceFree(), gib(available))
	default:
		return fmt.Sprintf("CUDA reports the memory of the device%s; the %s GiB available are of the pool, which is another memory.", x.deviceFree(), gib(available))
	}
}

// deviceFree lists the free memory of devices that have their own.
func (x *explanation) deviceFree() string {
	text := ""
	for _, g := range x.GPUs {
		if g.FreeBytes != nil {
			text += fmt.Sprintf(", GPU %d: %s of %s GiB free", g.Index, gib(*g.FreeBytes), gib(*g.TotalBytes))
		}
	}
	return text
}

// gib prints bytes in GiB.
func gib[N int64 | uint64 | float64](bytes N) string {
	return fmt.Sprintf("%.2f", float64(bytes)/(1<<30))
}
