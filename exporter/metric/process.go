package metric

// Values of LabelKind on uma_process_resident_bytes.
const (
	ResidentAnon    = "anon"
	ResidentFile    = "file"
	ResidentShmem   = "shmem"
	ResidentHugetlb = "hugetlb"
)

// OpCancelledWrite is the value of LabelOp for bytes that were counted as written and never were.
const OpCancelledWrite = "cancelled_write"

// Processes that hold GPU memory, and those that --process names; the largest only.
var (
	ProcessResidentBytes = gauge(Def{Name: "uma_process_resident_bytes", Unit: Bytes, Telemetry: true, Sum: SumKeeping(LabelPID),
		Help:   "Memory of a process by kind. Host memory that CUDA has pinned is in shmem, memory of the GPU in none. Pages that several processes map count for each of them; kind hugetlb is not part of the RSS that other tools show.",
		Source: "/proc/<pid>/status RssAnon, RssFile, RssShmem, HugetlbPages", Labels: []Label{LabelPID, LabelComm, LabelCgroup, LabelKind}})
	ProcessSwapBytes = gauge(Def{Name: "uma_process_swap_bytes", Unit: Bytes, Telemetry: true,
		Help:   "Private memory of a process that is swapped out; shared memory that is swapped out is not in it.",
		Source: "/proc/<pid>/status VmSwap", Labels: []Label{LabelPID, LabelComm, LabelCgroup}})
	ProcessCPUSecondsTotal = counter(Def{Name: "uma_process_cpu_seconds_total", Unit: Seconds, Telemetry: true,
		Help:   "CPU time of a process, of all its threads, in user and kernel mode.",
		Source: "/proc/<pid>/stat utime + stime", Labels: []Label{LabelPID, LabelComm, LabelCgroup}})
	ProcessThreads = gauge(Def{Name: "uma_process_threads", Unit: Count,
		Help:   "Threads of a process.",
		Source: "/proc/<pid>/stat num_threads", Labels: []Label{LabelPID, LabelComm, LabelCgroup}})
	ProcessStartTimeSeconds = gauge(Def{Name: "uma_process_start_time_seconds", Unit: Timestamp, Sum: SumNever(),
		Help:   "When a process began: the same PID with another time is another process.",
		Source: "/proc/<pid>/stat starttime, /proc/stat btime", Labels: []Label{LabelPID, LabelComm, LabelCgroup}})
	ProcessIOBytesTotal = counter(Def{Name: "uma_process_io_bytes_total", Unit: Bytes, Telemetry: true, Sum: SumKeeping(LabelOp),
		Help:   "Bytes that a process had the storage layer read and write: what the page cache answered is not in it, O_DIRECT is. Op cancelled_write was counted as written and dropped before it was. Whether reads through nvidia-fs are charged to the process is not documented. Absent for processes that the exporter may not look into.",
		Source: "/proc/<pid>/io", Labels: []Label{LabelPID, LabelComm, LabelCgroup, LabelOp}})
)

func processDefs() []Definer {
	return []Definer{
		ProcessResidentBytes, ProcessSwapBytes, ProcessCPUSecondsTotal, ProcessThreads, ProcessStartTimeSeconds,
		ProcessIOBytesTotal,
	}
}
