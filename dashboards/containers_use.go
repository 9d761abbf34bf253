package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// noPressure is the text of an empty panel of pressure.
const noPressure = "this kernel has no pressure stall information for cgroups, or they cannot be read"

func cgroupWaiting() panel {
	return lines(subject{
		title:   "Some task waits, by container",
		means:   "Share of time in which at least one task of the cgroup waited for CPU, I/O or memory.",
		wrong:   "waiting for *memory* shows at all: the cgroup is at its limit or the machine is full. Waiting for *io* is usual while a model loads.",
		noData:  noPressure,
		queries: []query{{"{{resource}}: {{name}}{{pod}}", cgroupPerSecond(metric.CgroupPressureWaitingSecondsTotal)}},
	}).Min(0)
}

func cgroupStalled() panel {
	return lines(subject{
		title:   "All tasks wait, by container",
		means:   "Share of time in which no task of the cgroup could run because all of them waited for CPU, I/O or memory.",
		wrong:   "an engine's container is here during a run: its latencies are those of the waiting.",
		noData:  noPressure,
		queries: []query{{"{{resource}}: {{name}}{{pod}}", cgroupPerSecond(metric.CgroupPressureStalledSecondsTotal)}},
	}).Min(0)
}

func cgroupIO() panel {
	return lines(subject{
		title:   "Storage by container and drive",
		means:   "Bytes a second that each cgroup had whole block devices read and write. What the page cache answered is not in it; a device on top of another, such as of LVM, counts the same I/O again.",
		wrong:   "a container reads during a run that has no tier on disk: its weights or files were dropped from the page cache.",
		noData:  "no I/O was accounted to the chosen cgroups",
		queries: []query{{"{{op}}, {{device}}: {{name}}{{pod}}", cgroupPerSecond(metric.CgroupIOBytesTotal, expr.OneOf(metric.LabelOp, metric.OpRead, metric.OpWrite))}},
	}).Min(0)
}

func processResident() panel {
	return lines(subject{
		title:   "Memory of processes by kind",
		means:   "Memory of the CPU that each process has mapped: *anon* its own, *file* of files, *shmem* shared and pinned for the GPU, *hugetlb*. GPU memory is in none of them. Pages that several processes map count for each.",
		wrong:   "*anon* of an engine grows from run to run.",
		noData:  noProcess,
		queries: []query{{"{{kind}}: {{comm}} ({{pid}})", each(metric.ProcessResidentBytes, chosenCgroups())}},
	}).Min(0)
}

func processCPU() panel {
	return lines(subject{
		title:   "CPU time of processes",
		means:   "CPU time a second of each process, with all its threads: 100 % is one core.",
		wrong:   "an engine's scheduler sits at 100 % while the GPU is not busy: one core is what the tokens wait for.",
		noData:  noProcess,
		queries: []query{{"{{comm}} ({{pid}})", eachPerSecond(metric.ProcessCPUSecondsTotal, chosenCgroups())}},
	}).Min(0)
}

func processIO() panel {
	return lines(subject{
		title:   "Storage of processes",
		means:   "Bytes a second that each process had the storage layer read and write, O_DIRECT included, what the page cache answered not. Whether reads through nvidia-fs are charged to the process is not documented.",
		wrong:   "a KV tier on disk is on and its engine reads nothing, or reads and has no such tier.",
		noData:  noProcess + ", or the exporter may not look into them",
		queries: []query{{"{{op}}: {{comm}} ({{pid}})", eachPerSecond(metric.ProcessIOBytesTotal, chosenCgroups(), expr.OneOf(metric.LabelOp, metric.OpRead, metric.OpWrite))}},
	}).Min(0)
}
