package metric

import (
	"cmp"
	"maps"
	"slices"
)

// Values of LabelReason on the clock event series, one per reason that the driver names.
const (
	ReasonSWPowerCap   = "sw_power_cap"
	ReasonHWSlowdown   = "hw_slowdown"
	ReasonSyncBoost    = "sync_boost"
	ReasonSWThermal    = "sw_thermal"
	ReasonHWThermal    = "hw_thermal"
	ReasonHWPowerBrake = "hw_power_brake"
)

// Values of LabelLine: the lines of the memory ledger.
const (
	LineGPUProcess        = "gpu_process"
	LineManaged           = "managed"
	LineAnon              = "anon"
	LineShmem             = "shmem"
	LineHugetlb           = "hugetlb"
	LineKernelStack       = "kernel_stack"
	LinePageTables        = "page_tables"
	LinePercpu            = "percpu"
	LineSlabUnreclaimable = "slab_unreclaimable"
	LineUnattributed      = "unattributed"
	LineZFSArc            = "zfs_arc"
	LineSlabReclaimable   = "slab_reclaimable"
	LineSwapCache         = "swap_cache"
	LinePageCache         = "page_cache"
	LineFreeCMA           = "free_cma"
	LineFree              = "free"
)

// LedgerLine is a line of the ledger with its inputs, under the names of their source.
type LedgerLine struct{ Name, Formula string }

// Ledger lists the lines in the order of comparisons and of charts over time, where they are stacked from the first:
// memory that processes and the kernel hold, unattributed memory, reclaimable memory, and free memory. A table of one
// moment is sorted by size instead. Names without a file are fields of /proc/meminfo.
func Ledger() []LedgerLine {
	return []LedgerLine{
		{LineGPUProcess, "what the driver says that processes hold, over all devices whose memory comes from the pool or, on a coherent machine, is a NUMA node of it (by the driver's source, not measured); elsewhere there is no such line"},
		{LineManaged, "over the top-level cgroups, memory.stat: kernel - (slab + kernel_stack + pagetables + sec_pagetables + percpu + vmalloc + zswap): CUDA managed memory and the GPU's page tables. A figure of memory.stat may be two seconds old, but then differs by less than 128 pages for each CPU"},
		{LineAnon, "AnonPages"},
		{LineShmem, "Shmem"},
		{LineHugetlb, "Hugetlb"},
		{LineKernelStack, "KernelStack"},
		{LinePageTables, "PageTables + SecPageTables"},
		{LinePercpu, "Percpu"},
		{LineSlabUnreclaimable, "SUnreclaim"},
		{LineUnattributed, "the pool minus all other lines, signed: pools and buffers of drivers, and what could not be read"},
		{LineZFSArc, "/proc/spl/kstat/zfs/arcstats: size without headers, which are slab; only where ZFS is loaded"},
		{LineSlabReclaimable, "SReclaimable"},
		{LineSwapCache, "SwapCached"},
		{LinePageCache, "Buffers + Cached - Shmem"},
		{LineFreeCMA, "CmaFree: free memory that the kernel gives to movable pages only, such as those of programs and of the page cache; a driver cannot pin it. Only on kernels with CMA"},
		{LineFree, "MemFree - CmaFree"},
	}
}

// LedgerLines lists the names of the lines in that order.
func LedgerLines() []string {
	var names []string
	for _, line := range Ledger() {
		names = append(names, line.Name)
	}
	return names
}

// LedgerBand is a group of ledger lines that is drawn as one area: more than nine areas cannot be told apart. Its name is
// also the class of its colour.
type LedgerBand struct {
	Name, Title string
	Lines       []string
}

// LedgerBands lists the bands, which are stacked in the order of Ledger.
func LedgerBands() []LedgerBand {
	return []LedgerBand{
		{"gpu", "GPU-held", []string{LineGPUProcess}},
		{"managed", "managed and other kernel-charged", []string{LineManaged}},
		{"anon", "anonymous", []string{LineAnon}},
		{"shmem", "shared", []string{LineShmem}},
		{"huge", "huge pages reserved", []string{LineHugetlb}},
		{"kernel", "kernel", []string{LineKernelStack, LinePageTables, LinePercpu, LineSlabUnreclaimable}},
		{"rest", "unattributed", []string{LineUnattributed}},
		{"cache", "page cache and reclaimable", []string{LineZFSArc, LineSlabReclaimable, LineSwapCache, LinePageCache}},
		{"free", "free", FreeLines()},
	}
}

// FreeLines lists the lines that add up to MemFree. What occupies the pool are all other lines.
func FreeLines() []string { return []string{LineFreeCMA, LineFree} }

// FreeBytes is MemFree of a ledger, in bytes; false if the ledger does not have it.
func FreeBytes[N int64 | float64](lines map[string]N) (N, bool) {
	free, known := lines[LineFree]
	return free + lines[LineFreeCMA], known
}

// InLedgerOrder sorts the keys of a ledger in that order. Lines outside the vocabulary are last, by name.
func InLedgerOrder[V any](lines map[string]V) []string {
	order := LedgerLines()
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	return slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
	})
}

// ArchitecturesInPool lists the values of LabelArchitecture of machines whose GPU memory comes from the pool in a way
// that only the driver's process lists show.
func ArchitecturesInPool() []string {
	return []string{"integrated", "integrated_carveout", "shimmed"}
}

// MinBlockHuge is the value of LabelMinBlock for the 2 MiB blocks that the driver asks for first.
const MinBlockHuge = "2097152"

// ResourceMemory is the value of LabelResource for waits for memory.
const ResourceMemory = "memory"

// Values of LabelPhase on phases that every run of a campaign has, in their order. A scenario has its own
// instead of measure.
const (
	PhaseCooldown = "cooldown" // the machine comes to rest
	PhaseStart    = "start"    // the moment before the engine is started; the ledger at start is read then
	PhaseLoad     = "load"     // processes are started; the engine reads its weights and sizes its KV cache
	PhaseReady    = "ready"    // it answers
	PhaseWarmup   = "warmup"
	PhaseMeasure  = "measure"
	PhaseStop     = "stop"
)

// Values of LabelVerdict that alerts go by. Worse is by more than the margin, and than chance would make it.
const (
	VerdictWorse           = "worse"
	VerdictWorseExtentOpen = "worse_extent_not_decided" // the interval crosses the margin
	VerdictConfounded      = "confounded"               // time explains the difference as well
)

// EventOOMKill is the value of LabelEvent for processes that were killed because memory ran out.
const EventOOMKill = "oom_kill"

// AlertFiring is the value of LabelAlertState on alerts that fire.
const AlertFiring = "firing"

// Names of the scrape jobs, values of LabelJob.
const (
	JobExporter = "uma-exporter"
	JobLoad     = "uma-load"
	JobResults  = "uma-results"
	JobEngine   = "engine" // histograms of engines, which no collector passes on
)

// Values of LabelMode. Live is the machine as it is now; every other mode must be labelled wherever its figures are
// shown. The counters of a replayed or constructed machine do not move.
const (
	ModeLive        = "live"
	ModeReplay      = "replay"
	ModeConstructed = "constructed"
	ModeSimulated   = "simulated"
)

// Modes lists the values of LabelMode.
func Modes() []string { return []string{ModeLive, ModeReplay, ModeConstructed, ModeSimulated} }

// Values of LabelArm by convention: how the engine of an arm runs.
const (
	ArmNative    = "native"    // as a process of the host
	ArmContainer = "container" // in a container
)
