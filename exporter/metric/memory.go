package metric

// Memory of the machine: the pool, the ledger that splits it, and the remainder.
var (
	MemoryPoolBytes = gauge(Def{Name: "uma_memory_pool_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Physical memory that the kernel manages; memory of a coherent GPU that is onlined as a NUMA node is in it once (by the driver's source and reports of users; not measured here).",
		Source: "/proc/meminfo MemTotal"})
	MemoryLedgerBytes = gauge(Def{Name: "uma_memory_ledger_bytes", Unit: Bytes, Telemetry: true,
		Help:   "The pool split into lines that add up to it; line unattributed is the signed remainder. A line whose input is unknown is absent and its bytes are in unattributed.",
		Source: "/proc/meminfo, driver process lists, memory.stat of top-level cgroups",
		Labels: []Label{LabelLine}})
	MemoryLedgerLineKnown = gauge(Def{Name: "uma_memory_ledger_line_known", Unit: State, Sum: SumNever(),
		Help:   "Whether the input of a ledger line could be read; lines that cannot exist on this machine are absent.",
		Source: "ledger", Labels: []Label{LabelLine}})
	MemoryAvailableBytes = gauge(Def{Name: "uma_memory_available_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Memory that new allocations could get without swapping, by the kernel's estimate.",
		Source: "/proc/meminfo MemAvailable"})
	MemoryCUDAFreeBytes = gauge(Def{Name: "uma_memory_cuda_free_bytes", Unit: Bytes, Telemetry: true,
		Help:   "What cudaMemGetInfo reports as free where GPU memory comes from the pool: page cache does not count as free for it. Absent elsewhere.",
		Source: "/proc/meminfo MemFree"})
	MemoryAllocatableBytes = gauge(Def{Name: "uma_memory_allocatable_bytes", Unit: Bytes, Telemetry: true,
		Help:   "What a driver's allocation can get if the kernel gives up page cache, where GPU memory comes from the pool: available memory without free memory in CMA. Not tried on a GB10, and machines were seen to die well before it is 0. Absent elsewhere.",
		Source: "/proc/meminfo MemAvailable - CmaFree"})
	MemoryHiddenByCacheBytes = gauge(Def{Name: "uma_memory_hidden_by_cache_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Available memory that CUDA does not report as free because it holds reclaimable cache; signed. Absent where GPU memory is not in the pool.",
		Source: "/proc/meminfo MemAvailable - MemFree"})
	MemoryDirtyBytes = gauge(Def{Name: "uma_memory_dirty_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Page cache waiting to be written to disk.",
		Source: "/proc/meminfo Dirty"})
	MemorySwapTotalBytes = gauge(Def{Name: "uma_memory_swap_total_bytes", Unit: Bytes,
		Help:   "Swap space.",
		Source: "/proc/meminfo SwapTotal"})
	MemorySwapFreeBytes = gauge(Def{Name: "uma_memory_swap_free_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Swap space not in use.",
		Source: "/proc/meminfo SwapFree"})
	MemoryFreeContiguousBytes = gauge(Def{Name: "uma_memory_free_contiguous_bytes", Unit: Bytes, Telemetry: true,
		Sum:    SumKeeping(LabelMinBlock),
		Help:   "Free memory in contiguous blocks of at least this size; driver allocations fail when large blocks run out even while memory is free. Cumulative.",
		Source: "/proc/buddyinfo", Labels: []Label{LabelMinBlock}})
	PageCacheResidentBytes = gauge(Def{Name: "uma_page_cache_resident_bytes", Unit: Bytes, Telemetry: true,
		Sum:    SumKeeping(LabelPath),
		Help:   "How much of a file, or of the files below a directory, is in the page cache; looked up every half minute at most, less often where that takes long. Paths are those of --memory.cache-path and may overlap.",
		Source: "cachestat(2), before Linux 6.5 and on overlayfs mincore(2)", Labels: []Label{LabelPath}})
	PageCacheKnown = gauge(Def{Name: "uma_page_cache_known", Unit: State, Sum: SumNever(),
		Help:   "Whether it is known how much of a path is in the page cache: not of one that is missing, holds too many files, or whose files belong to others. Absent until the first look has ended.",
		Source: "exporter", Labels: []Label{LabelPath}})
	PressureWaitingSecondsTotal = counter(Def{Name: "uma_pressure_waiting_seconds_total", Unit: Seconds, Telemetry: true,
		Sum:    SumKeeping(LabelResource),
		Help:   "Time in which at least one task waited for the resource.",
		Source: "/proc/pressure some", Labels: []Label{LabelResource}})
	PressureStalledSecondsTotal = counter(Def{Name: "uma_pressure_stalled_seconds_total", Unit: Seconds, Telemetry: true,
		Sum:    SumKeeping(LabelResource),
		Help:   "Time in which no task could run because all waited for the resource.",
		Source: "/proc/pressure full", Labels: []Label{LabelResource}})
	VmstatSwappedInBytesTotal = counter(Def{Name: "uma_vmstat_swapped_in_bytes_total", Unit: Bytes, Telemetry: true,
		Help:   "Memory read back from swap.",
		Source: "/proc/vmstat pswpin x page size"})
	VmstatSwappedOutBytesTotal = counter(Def{Name: "uma_vmstat_swapped_out_bytes_total", Unit: Bytes, Telemetry: true,
		Help:   "Memory written to swap.",
		Source: "/proc/vmstat pswpout x page size"})
	VmstatCompactionStallsTotal = counter(Def{Name: "uma_vmstat_compaction_stalls_total", Unit: Count, Telemetry: true,
		Help:   "Allocations that had to wait while the kernel moved pages to make a contiguous block.",
		Source: "/proc/vmstat compact_stall"})
	VmstatCompactionFailuresTotal = counter(Def{Name: "uma_vmstat_compaction_failures_total", Unit: Count, Telemetry: true,
		Help:   "Such waits that ended without a block.",
		Source: "/proc/vmstat compact_fail"})
	VmstatOOMKillsTotal = counter(Def{Name: "uma_vmstat_oom_kills_total", Unit: Count, Telemetry: true,
		Help:   "Processes killed because memory ran out. A driver allocation that fails kills no process and is not counted.",
		Source: "/proc/vmstat oom_kill"})
	VmstatMajorPageFaultsTotal = counter(Def{Name: "uma_vmstat_major_page_faults_total", Unit: Count, Telemetry: true,
		Help:   "Page faults that had to read from disk.",
		Source: "/proc/vmstat pgmajfault"})
)

func memoryDefs() []Definer {
	return []Definer{
		MemoryPoolBytes, MemoryLedgerBytes, MemoryLedgerLineKnown, MemoryAvailableBytes,
		MemoryCUDAFreeBytes, MemoryAllocatableBytes, MemoryHiddenByCacheBytes, MemoryDirtyBytes, MemorySwapTotalBytes,
		MemorySwapFreeBytes, MemoryFreeContiguousBytes, PageCacheResidentBytes, PageCacheKnown,
		PressureWaitingSecondsTotal, PressureStalledSecondsTotal, VmstatSwappedInBytesTotal, VmstatSwappedOutBytesTotal,
		VmstatCompactionStallsTotal, VmstatCompactionFailuresTotal, VmstatOOMKillsTotal,
		VmstatMajorPageFaultsTotal,
	}
}
