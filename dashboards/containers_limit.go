package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func limitUncovered() panel {
	return lines(subject{
		title:   "Share that the limit does not see",
		means:   "GPU memory over all memory of a container that has a limit (" + called(metric.CgroupLimitUncoveredRatio) + "). " + blind + " The dashed line is where ContainerLimitUncovered fires.",
		wrong:   "it is above the line: the container can take the whole machine without reaching its limit. Bound it in the engine (a memory fraction, a fixed KV cache).",
		noData:  noCgroupShare,
		queries: []query{{"{{name}}{{pod}}", ofCgroups(metric.CgroupLimitUncoveredRatio)}},
	}).Min(0).Max(1).
		Thresholds(steps("transparent", from(uncovered(), "orange"))).
		ThresholdsStyle(dashedLine())
}

func limitUsed() panel {
	return lines(subject{
		title:  "Charge over the limit",
		means:  "How much of its limits (`memory.max`, which kills, and dashed `memory.high`, which slows down) the charge of a cgroup reaches. GPU memory is in neither side. Page cache counts and is given back when it must be.",
		wrong:  "it stays near 1: the cgroup lives by giving page cache back, and its files are read again and again.",
		noData: noLimits,
		queries: []query{
			{"of the limit: {{name}}{{pod}}", named(shareOf(chargeOf(), each(metric.CgroupMemoryMaxBytes, chosenCgroups())))},
			{"of the soft limit: {{name}}{{pod}}", named(shareOf(chargeOf(), each(metric.CgroupMemoryHighBytes, chosenCgroups())))},
		},
	}).Min(0).OverrideByRegexp("/^of the soft limit: /", dashed())
}

// chargeOf is the memory that is charged to each chosen cgroup.
func chargeOf() expr.Expr { return each(metric.CgroupMemoryCurrentBytes, chosenCgroups()) }

func memoryEvents() panel {
	events := expr.OneOf(metric.LabelEvent, metric.EventHigh, metric.EventMax, metric.EventOOM, metric.EventOOMKill)
	return lines(subject{
		title:   "Run into limits",
		means:   "How often a second the charge of a cgroup ran into a limit: *high* slowed it down, *max* made it give memory back, *oom* found none, *oom_kill* ended a process. GPU memory causes none of these.",
		wrong:   "*oom* or *oom_kill* rise at all, or *high* and *max* climb during a run.",
		noData:  noCgroups,
		queries: []query{{"{{event}}: {{name}}{{pod}}", cgroupPerSecond(metric.CgroupMemoryEventsTotal, events)}},
	}).Min(0)
}

// chargeKind is a line of memory.stat as a column.
type chargeKind struct{ kind, title string }

// chargeKindColumns are all kinds, each after the kind that contains it.
func chargeKindColumns() []chargeKind {
	return []chargeKind{
		{metric.CgroupKindAnon, "anon"},
		{metric.CgroupKindFile, "file"},
		{metric.CgroupKindShmem, "» shmem"},
		{metric.CgroupKindInactiveFile, "» inactive"},
		{metric.CgroupKindKernel, "kernel"},
		{metric.CgroupKindSlab, "» slab"},
		{metric.CgroupKindPagetables, "» page tables"},
		{metric.CgroupKindSecPagetables, "» of devices"},
		{metric.CgroupKindPercpu, "» per-CPU"},
		{metric.CgroupKindVmalloc, "» vmalloc"},
	}
}

func chargeKinds() panel {
	b := board{
		title:  "Charged memory by kind",
		means:  "Lines of `memory.stat` of each cgroup, up to two seconds old. They overlap, so do not add them: columns with » are parts of *file* or *kernel* before them. *No kind* is the rest of *kernel*, signed: CUDA managed memory and the page tables of the GPU.",
		wrong:  "*shmem* is large without a host tier of the KV cache, or *no kind* is gigabytes in a container whose engine does not use managed memory.",
		noData: noCgroups,
		keys:   []key{{label: metric.LabelName, title: "Container or cgroup", look: width(160)}, {label: metric.LabelPod, title: "Pod"}, {label: metric.LabelCgroup, title: "Path", look: width(120)}},
		sortBy: "Charged", desc: true,
		figures: []figure{{title: "Charged", expr: listed(metric.CgroupMemoryCurrentBytes)}},
	}
	for _, c := range chargeKindColumns() {
		b.figures = append(b.figures, figure{title: c.title, expr: listed(metric.CgroupMemoryStatBytes, expr.Is(metric.LabelKind, c.kind))})
	}
	b.figures = append(b.figures, figure{title: "» no kind", expr: listed(metric.CgroupKernelOtherBytes)})
	return list(b)
}

func ownMemory() panel {
	kinds := expr.OneOf(metric.LabelKind, metric.CgroupKindAnon, metric.CgroupKindShmem)
	return lines(subject{
		title:   "Memory of the processes of a container",
		means:   "Charged memory that processes themselves made: *anon* their own, *shmem* shared, of tmpfs, or pinned for a GPU (on discrete GPUs; on integrated ones that is not verified).",
		wrong:   "*anon* grows without end: a leak.",
		noData:  noCgroups,
		queries: []query{{"{{kind}}: {{name}}{{pod}}", ofCgroups(metric.CgroupMemoryStatBytes, kinds)}},
	}).Min(0)
}

func cgroupCache() panel {
	kind := func(k string) expr.Expr {
		return ofCgroups(metric.CgroupMemoryStatBytes, expr.Is(metric.LabelKind, k))
	}
	return lines(subject{
		title:  "Page cache by container",
		means:  "Files and shared memory in the page cache that are charged to the cgroup which touched them first (*file*), and dashed the part that is given back before anything else (*inactive_file*). It hides memory from CUDA, which counts only free memory.",
		wrong:  "a container holds the weights in the cache while the KV cache of its engine is sized: the cache will be smaller for it.",
		noData: noCgroups,
		queries: []query{
			{"cache: {{name}}{{pod}}", kind(metric.CgroupKindFile)},
			{"easily given back: {{name}}{{pod}}", kind(metric.CgroupKindInactiveFile)},
		},
	}).Min(0).OverrideByRegexp("/^easily given back: /", dashed())
}

func kernelOther() panel {
	return lines(subject{
		title:   "Kernel memory of no named kind",
		means:   "Charged kernel memory less all kinds that `memory.stat` names, signed (" + called(metric.CgroupKernelOtherBytes) + "): CUDA managed memory and the page tables of the GPU are here.",
		wrong:   "it is gigabytes in a container whose engine does not use managed memory.",
		noData:  "the kernel is older than Linux 5.18, or the cgroups cannot be read",
		queries: []query{{"{{name}}{{pod}}", ofCgroups(metric.CgroupKernelOtherBytes)}},
	})
}

func cgroupSwap() panel {
	return lines(subject{
		title:   "Swap by container",
		means:   "Swap space that each cgroup uses. GPU memory cannot be swapped: it is the CPU side of an engine that waits.",
		wrong:   "it grows during a run.",
		noData:  "the kernel does not account swap by cgroup, or the cgroups cannot be read",
		queries: []query{{"{{name}}{{pod}}", ofCgroups(metric.CgroupSwapBytes)}},
	}).Min(0)
}

// uncovered is the ratio from which the page marks a limit as one that leaves out too much memory.
func uncovered() float64 { return metric.AlertThresholds().Container.UncoveredRatio }
