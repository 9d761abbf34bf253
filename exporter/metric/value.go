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

// ModeLive is the value of LabelMode on series read from the machine as it is now; every other
// mode must be labelled wherever its figures are shown.
const ModeLive = "live"
