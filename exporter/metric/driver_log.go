package metric

const kernelLog = "/dev/kmsg, lines that begin with NVRM or nvidia"

// What the kernel log has of NVIDIA's driver and of memory, with --collector.host.kernel-log.
var (
	DriverLogLinesTotal = counter(Def{Name: "uma_gpu_driver_log_lines_total", Unit: Count, Telemetry: true,
		Help:   "Warnings and errors of NVIDIA's driver in the kernel log since the exporter began to read it, by kind: xid, fell_off_bus, out_of_memory, init_failed, assertion or other. Their text is on no page.",
		Source: kernelLog, Labels: []Label{LabelKind}})
	DriverLogXIDLinesTotal = counter(Def{Name: "uma_gpu_driver_log_xid_lines_total", Unit: Count, Telemetry: true,
		Help:   "The lines of kind xid by their code; codes that need no action are in other. Not of one GPU: its address is left out.",
		Source: kernelLog, Labels: []Label{LabelXID}})
	DriverLogOverrunsTotal = counter(Def{Name: "uma_gpu_driver_log_overruns_total", Unit: Count, Telemetry: true,
		Help:   "How often the kernel overwrote lines of its log before they were read: some lines may not be counted.",
		Source: "/dev/kmsg, EPIPE"})
	KernelAllocationFailuresTotal = counter(Def{Name: "uma_kernel_allocation_failures_total", Unit: Count, Telemetry: true,
		Help:   "Allocations of memory that the kernel reported as failed since the exporter began to read its log, by kind: page, of a single page, or contiguous, of several in a row. A driver needs contiguous ones; they fail while single pages are still free. Those that may fail quietly are not in the log.",
		Source: "/dev/kmsg, lines with page allocation failure", Labels: []Label{LabelKind}})
)

// Kinds of lines of the driver that alerts name; package hostfs finds them, with others.
const (
	DriverLineFellOffBus  = "fell_off_bus"
	DriverLineOutOfMemory = "out_of_memory"
	DriverLineInitFailed  = "init_failed"
	DriverLineAssertion   = "assertion"
)

// Kinds of failed allocations.
const (
	AllocationOfPage       = "page"
	AllocationOfContiguous = "contiguous"
)

func driverLogDefs() []Definer {
	return []Definer{DriverLogLinesTotal, DriverLogXIDLinesTotal, DriverLogOverrunsTotal, KernelAllocationFailuresTotal}
}
