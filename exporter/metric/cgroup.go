package metric

// Values of LabelKind on uma_cgroup_memory_stat_bytes: the lines of memory.stat shown for every cgroup. They overlap:
// slab, pagetables and the like are parts of kernel, shmem and inactive_file of file.
const (
	CgroupKindAnon          = "anon"
	CgroupKindFile          = "file"
	CgroupKindShmem         = "shmem"
	CgroupKindKernel        = "kernel"
	CgroupKindPagetables    = "pagetables"
	CgroupKindSecPagetables = "sec_pagetables"
	CgroupKindPercpu        = "percpu"
	CgroupKindVmalloc       = "vmalloc"
	CgroupKindSlab          = "slab"
	CgroupKindInactiveFile  = "inactive_file"
)

// CgroupKinds lists them in that order.
func CgroupKinds() []string {
	return []string{
		CgroupKindAnon, CgroupKindFile, CgroupKindShmem, CgroupKindKernel, CgroupKindPagetables,
		CgroupKindSecPagetables, CgroupKindPercpu, CgroupKindVmalloc, CgroupKindSlab, CgroupKindInactiveFile,
	}
}

// Values of LabelOp on the series of I/O.
const (
	OpRead    = "read"
	OpWrite   = "write"
	OpDiscard = "discard"
)

// Values of LabelMode on uma_cgroup_cpu_seconds_total.
const (
	CPUModeUser   = "user"
	CPUModeSystem = "system"
)

// Values of LabelEvent on uma_cgroup_memory_events_total other than EventOOMKill: the charge was slowed down, had to
// reclaim memory, or failed.
const (
	EventHigh = "high"
	EventMax  = "max"
	EventOOM  = "oom"
)

// perCgroup is the rule of amounts of a cgroup together with all below it: summed over cgroups they would count twice.
func perCgroup(more ...Label) SumRule { return SumKeeping(append([]Label{LabelCgroup}, more...)...) }

// Cgroups: containers, pods, slices, and all other holders of GPU memory. All figures of a cgroup contain those of the
// cgroups below it.
var (
	CgroupInfo = gauge(Def{Name: "uma_cgroup_info", Unit: Info, Sum: SumNever(), Telemetry: true,
		Help:   "What a cgroup is: container id and pod UID are in its path, names come from the container runtime or from a file where one is given. Join it by cgroup.",
		Source: "cgroup tree, --cgroup.runtime-socket, --cgroup.names-file",
		Labels: []Label{LabelCgroup, LabelParent, LabelRuntime, LabelContainerID, LabelContainer, LabelImage, LabelPod, LabelPodUID, LabelNamespace}})
	CgroupExcluded = gauge(Def{Name: "uma_cgroup_excluded", Unit: Count,
		Help:   "Cgroups that would be shown if there were not more than --cgroup.limit of them.",
		Source: "cgroup tree"})
	CgroupMemoryCurrentBytes = gauge(Def{Name: "uma_cgroup_memory_current_bytes", Unit: Bytes, Telemetry: true, Sum: perCgroup(),
		Help:   "Memory charged to the cgroup, page cache that it was first to touch included. GPU memory is charged to no cgroup, with the exception of CUDA managed memory.",
		Source: "memory.current", Labels: []Label{LabelCgroup}})
	CgroupMemoryPeakBytes = gauge(Def{Name: "uma_cgroup_memory_peak_bytes", Unit: Bytes, Telemetry: true, Sum: SumNever(),
		Help:   "The most memory that was ever charged to the cgroup.",
		Source: "memory.peak, Linux 5.19 and later", Labels: []Label{LabelCgroup}})
	CgroupMemoryMaxBytes = gauge(Def{Name: "uma_cgroup_memory_max_bytes", Unit: Bytes, Telemetry: true, Sum: perCgroup(),
		Help:   "Limit of what may be charged to the cgroup; something in it is killed when that is not enough. It does not stop GPU memory. Absent without a limit of its own.",
		Source: "memory.max", Labels: []Label{LabelCgroup}})
	CgroupMemoryHighBytes = gauge(Def{Name: "uma_cgroup_memory_high_bytes", Unit: Bytes, Sum: perCgroup(),
		Help:   "Charge above which the cgroup is slowed down and its memory reclaimed. Absent without such a limit.",
		Source: "memory.high", Labels: []Label{LabelCgroup}})
	CgroupSwapBytes = gauge(Def{Name: "uma_cgroup_swap_bytes", Unit: Bytes, Telemetry: true, Sum: perCgroup(),
		Help:   "Swap space that the cgroup uses.",
		Source: "memory.swap.current", Labels: []Label{LabelCgroup}})
	CgroupMemoryStatBytes = gauge(Def{Name: "uma_cgroup_memory_stat_bytes", Unit: Bytes, Telemetry: true, Sum: perCgroup(LabelKind),
		Help:   "Charged memory by kind. Kinds overlap: shmem and inactive_file are parts of file, slab and pagetables are parts of kernel. Memory pinned for a GPU shows as shmem on discrete ones; on integrated ones that is not verified.",
		Source: "memory.stat; it may lag by two seconds", Labels: []Label{LabelCgroup, LabelKind}})
	CgroupKernelOtherBytes = gauge(Def{Name: "uma_cgroup_kernel_other_bytes", Unit: Bytes, Telemetry: true, Sum: perCgroup(),
		Help:   "Charged kernel memory of no kind that memory.stat names, signed: CUDA managed memory and the GPU's page tables are here. Absent before Linux 5.18.",
		Source: "memory.stat: kernel - (slab + kernel_stack + pagetables + sec_pagetables + percpu + vmalloc + zswap)",
		Labels: []Label{LabelCgroup}})
	CgroupMemoryEventsTotal = counter(Def{Name: "uma_cgroup_memory_events_total", Unit: Count, Telemetry: true, Sum: perCgroup(LabelEvent),
		Help:   "How often the charge of the cgroup ran into a protection or limit: high, max, oom, oom_kill and others. GPU memory causes none.",
		Source: "memory.events", Labels: []Label{LabelCgroup, LabelEvent}})
	CgroupPressureWaitingSecondsTotal = counter(Def{Name: "uma_cgroup_pressure_waiting_seconds_total", Unit: Seconds, Telemetry: true, Sum: perCgroup(LabelResource),
		Help:   "Time in which at least one task of the cgroup waited for the resource.",
		Source: "cpu.pressure, io.pressure, memory.pressure, some", Labels: []Label{LabelCgroup, LabelResource}})
	CgroupPressureStalledSecondsTotal = counter(Def{Name: "uma_cgroup_pressure_stalled_seconds_total", Unit: Seconds, Telemetry: true, Sum: perCgroup(LabelResource),
		Help:   "Time in which no task of the cgroup could run because all waited for the resource.",
		Source: "cpu.pressure, io.pressure, memory.pressure, full", Labels: []Label{LabelCgroup, LabelResource}})
	CgroupIOBytesTotal = counter(Def{Name: "uma_cgroup_io_bytes_total", Unit: Bytes, Telemetry: true, Sum: perCgroup(LabelDevice, LabelOp),
		Help:   "Bytes that the cgroup read from a whole block device, wrote to it or discarded on it. A device on top of another, such as of LVM, counts the same I/O again.",
		Source: "io.stat", Labels: []Label{LabelCgroup, LabelDevice, LabelOp}})
	CgroupIOOperationsTotal = counter(Def{Name: "uma_cgroup_io_operations_total", Unit: Count, Telemetry: true, Sum: perCgroup(LabelDevice, LabelOp),
		Help:   "Requests of the cgroup to a whole block device.",
		Source: "io.stat", Labels: []Label{LabelCgroup, LabelDevice, LabelOp}})
	CgroupCPUSecondsTotal = counter(Def{Name: "uma_cgroup_cpu_seconds_total", Unit: Seconds, Sum: perCgroup(),
		Help:   "Time that tasks of the cgroup computed, in mode user or system. 1 a second is one CPU, which other tools call 100 %.",
		Source: "cpu.stat", Labels: []Label{LabelCgroup, LabelMode}})
	CgroupTasks = gauge(Def{Name: "uma_cgroup_tasks", Unit: Count, Sum: perCgroup(),
		Help:   "Tasks of the cgroup: every thread is one, unlike in a list of processes. Absent where the kernel does not count them.",
		Source: "pids.current", Labels: []Label{LabelCgroup}})
	CgroupGPUMemoryBytes = gauge(Def{Name: "uma_cgroup_gpu_memory_bytes", Unit: Bytes, Telemetry: true, Sum: perCgroup(),
		Help:   "GPU memory held by processes of the cgroup and of those below it. It is not charged: no limit of a cgroup counts or stops it. Absent where the driver's process lists may be incomplete.",
		Source: "nvmlDeviceGet{Compute,Graphics,MPSCompute}RunningProcesses, /proc/<pid>/cgroup", Labels: []Label{LabelCgroup}})
	CgroupFootprintBytes = gauge(Def{Name: "uma_cgroup_footprint_bytes", Unit: Bytes, Telemetry: true, Sum: perCgroup(),
		Help:   "What the cgroup takes from the pool for good: charged memory without page cache that is easily reclaimed, and GPU memory. For ranking, not for limits. Only where GPU memory comes from the pool.",
		Source: "memory.current - memory.stat inactive_file + GPU memory held", Labels: []Label{LabelCgroup}})
	CgroupLimitUncoveredRatio = gauge(Def{Name: "uma_cgroup_limit_uncovered_ratio", Unit: Ratio, Telemetry: true, Sum: SumNever(),
		Help:   "Share of the cgroup's memory that its limit does not count, because it is held by a GPU. Only where GPU memory comes from the pool and the cgroup has a limit.",
		Source: "GPU memory held / (GPU memory held + memory.current)", Labels: []Label{LabelCgroup}})
)

func cgroupDefs() []Definer {
	return []Definer{
		CgroupInfo, CgroupExcluded, CgroupMemoryCurrentBytes, CgroupMemoryPeakBytes, CgroupMemoryMaxBytes, CgroupMemoryHighBytes,
		CgroupSwapBytes, CgroupMemoryStatBytes, CgroupKernelOtherBytes, CgroupMemoryEventsTotal,
		CgroupPressureWaitingSecondsTotal, CgroupPressureStalledSecondsTotal, CgroupIOBytesTotal, CgroupIOOperationsTotal,
		CgroupCPUSecondsTotal, CgroupTasks, CgroupGPUMemoryBytes, CgroupFootprintBytes, CgroupLimitUncoveredRatio,
	}
}
