package metric

// Values of LabelReason on the clock event series, one per reason that the driver names.
const (
	ReasonSWPowerCap   = "sw_power_cap"
	ReasonHWSlowdown   = "hw_slowdown"
	ReasonSyncBoost    = "sync_boost"
	ReasonSWThermal    = "sw_thermal"
	ReasonHWThermal    = "hw_thermal"
	ReasonHWPowerBrake = "hw_power_brake"
)

// Values of LabelLine: the lines of the memory ledger, in the order in which they are shown.
const (
	LineFree              = "free"
	LineAnon              = "anon"
	LinePageCache         = "page_cache"
	LineShmem             = "shmem"
	LineSwapCache         = "swap_cache"
	LineSlabReclaimable   = "slab_reclaimable"
	LineSlabUnreclaimable = "slab_unreclaimable"
	LineKernelStack       = "kernel_stack"
	LinePageTables        = "page_tables"
	LinePercpu            = "percpu"
	LineHugetlb           = "hugetlb"
	LineGPUProcess        = "gpu_process"
	LineManaged           = "managed"
	LineZFSArc            = "zfs_arc"
	LineUnattributed      = "unattributed"
)

// LedgerLines lists the lines of the ledger in that order.
func LedgerLines() []string {
	return []string{
		LineFree, LineAnon, LinePageCache, LineShmem, LineSwapCache, LineSlabReclaimable,
		LineSlabUnreclaimable, LineKernelStack, LinePageTables, LinePercpu, LineHugetlb,
		LineGPUProcess, LineManaged, LineZFSArc, LineUnattributed,
	}
}

// ArchitecturesInPool lists the values of LabelArchitecture of machines whose GPU memory comes
// from the pool in a way that only the driver's process lists can see.
func ArchitecturesInPool() []string {
	return []string{"integrated", "integrated_carveout", "shimmed"}
}

// MinBlockHuge is the value of LabelMinBlock for the 2 MiB blocks that the driver asks for first.
const MinBlockHuge = "2097152"

// ResourceMemory is the value of LabelResource for waits for memory.
const ResourceMemory = "memory"

// PhaseLoad is the value of LabelPhase while a server loads its model.
const PhaseLoad = "load"

// AlertFiring is the value of LabelAlertState on alerts that fire.
const AlertFiring = "firing"

// Names of the scrape jobs, values of LabelJob.
const (
	JobExporter = "uma-exporter"
	JobLoad     = "uma-load"
)

// Values of LabelMode. Live is the machine as it is now; every other mode must be labelled wherever
// its figures are shown. A replayed or constructed machine stands still: its counters do not count.
const (
	ModeLive        = "live"
	ModeReplay      = "replay"
	ModeConstructed = "constructed"
	ModeSimulated   = "simulated"
)
