package exporter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/umascope/umascope/exporter/collect"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

// account is what explain and the landing page say of one scrape: the ledger, who holds GPU
// memory, and what is not known. Both print the same one, so that they cannot differ.
type account struct {
	Mode     collect.Mode
	Outcomes []collect.Outcome
	// Devices are the GPUs that were read.
	Devices []nvml.Device
	// Memory is nil when the memory of the host could not be read; Unknown says why.
	Memory *memoryAccount
	// Unknown are sentences on what is missing, and why.
	Unknown []string
}

// memoryAccount is the ledger and who holds GPU memory. Sizes are in bytes.
type memoryAccount struct {
	PoolBytes    uint64
	Lines        []ledger.Line
	Architecture nvml.Architecture
	// CUDA says what CUDA sees against what is available, and why they differ.
	CUDA string
	// Holders are processes with GPU memory and Groups their cgroups, largest first.
	Holders []collect.GPUProcess
	Groups  []group
}

// group is a cgroup in which processes hold GPU memory.
type group struct {
	Path string
	// ChargedBytes is memory.current, nil when it could not be read.
	ChargedBytes *uint64
	HeldBytes    uint64
}

// accountFor looks at what a scrape has read. It must not wait for anything: it asks with a context
// that has ended, and only the samples of collectors that have returned.
func accountFor(scrape *collect.Scrape) account {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	a := account{Mode: scrape.Mode, Outcomes: scrape.Outcomes}
	for _, outcome := range scrape.Outcomes {
		a.addOutcome(outcome)
		if outcome.Spec.Name == "gpu" && outcome.Sample != nil {
			snapshot, _ := outcome.Sample.GPU(ended).Snapshot(ended) // why it is incomplete is in the outcome
			a.Devices = snapshot.Devices
		}
	}
	for _, outcome := range scrape.Outcomes {
		if outcome.Spec.Name == "memory" && outcome.Sample != nil {
			if reading, err := outcome.Sample.Memory(ended); err == nil {
				a.addMemory(reading)
			}
		}
	}
	return a
}

func (a *account) addOutcome(outcome collect.Outcome) {
	if outcome.State != collect.OK {
		a.unknown("Collector %s is %s: %v.", outcome.Spec.Name, outcome.State, outcome.Reason())
	}
	for _, need := range outcome.Unmet() {
		a.unknown("Collector %s lacks %s: %s. Mend: %s.", outcome.Spec.Name, need.Name, need.Cost, need.Mend)
	}
}

func (a *account) unknown(format string, args ...any) {
	a.Unknown = append(a.Unknown, oneLine(fmt.Sprintf(format, args...)))
}

func (a *account) addMemory(reading collect.MemoryReading) {
	a.Memory = &memoryAccount{
		PoolBytes: reading.Meminfo["MemTotal"], Lines: reading.Lines, Architecture: reading.Architecture,
		CUDA: a.cudaSentence(reading), Holders: reading.Processes, Groups: groupsOf(reading),
	}
	for _, line := range reading.Lines {
		if !line.Known {
			why := cmp.Or(reading.Unknown[line.Name], errors.New("its input could not be read"))
			a.unknown("Line %s is not known, its bytes are in %s: %v.", line.Name, metric.LineUnattributed, why)
		}
	}
	if reading.Architecture != "" && !reading.ProcessesTrusted {
		a.unknown("The list of processes that hold GPU memory may be incomplete: none in it does not mean an idle GPU.")
	}
}

// groupsOf sums the holders by cgroup, largest first.
func groupsOf(reading collect.MemoryReading) []group {
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

// cudaSentence says what cudaMemGetInfo reports as free, what the kernel could give, and why
// the two are not the same figure.
func (a *account) cudaSentence(reading collect.MemoryReading) string {
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
		return fmt.Sprintf("CUDA sees the memory of the device%s; the %s GiB available are of the whole pool, which contains it.", a.deviceFree(), gib(available))
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

// deviceFree lists the free memory of devices that have their own.
func (a *account) deviceFree() string {
	text := ""
	for _, device := range a.Devices {
		if device.MemoryFreeBytes != nil && device.MemoryTotalBytes != nil {
			text += fmt.Sprintf(", GPU %d: %s of %s GiB free", device.Index, gib(*device.MemoryFreeBytes), gib(*device.MemoryTotalBytes))
		}
	}
	return text
}

// gib prints bytes in GiB.
func gib[N int64 | uint64 | float64](bytes N) string {
	return fmt.Sprintf("%.2f", float64(bytes)/(1<<30))
}
