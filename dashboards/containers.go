package dashboards

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Reasons why a panel of containers may be empty.
const (
	noCgroups     = "the tree of cgroups cannot be read (it has to be version 2), the chosen cgroup is gone, or no exporter answers"
	noLimits      = "none of the chosen cgroups has such a limit of its own"
	noCgroupShare = "no chosen cgroup has a limit, or the GPU of this host has memory of its own"
	noProcess     = "no process uses the GPU or is named by --process, or no exporter answers"
)

// blind is shown next to every limit and charge.
const blind = "Memory that a GPU process holds is charged to no cgroup: limits do not stop it, and `docker stats` does not show it."

// containersPageName is the target of links from other pages.
const containersPageName = "containers"

// containersPage shows how much memory each container, pod or service takes, and the memory that its limit does not
// count. It is of one host: cgroups contain each other and have the same paths on all hosts, and what they share is one
// pool. The fleet sets hosts beside each other.
func containersPage() page {
	return page{
		name:        containersPageName,
		title:       "Containers",
		description: "Which container, pod or service takes what: memory that is charged to it, GPU memory that is not, and what its limit does not see.",
		variables:   []variable{choices("cgroup", "Cgroup", expr.Select(metric.CgroupInfo, onHost()), metric.LabelCgroup)},
		rows: []row{
			{"Now", []tile{{6, 3, sourceBanner(oneHost)}, {18, 3, firingAlerts(oneHost)},
				{24, 9, cgroupList()},
				{16, 6, memoryNow()}, {4, 6, processList()}, {4, 6, cgroupsLeftOut()}}},
			{"Charged and not charged", []tile{{12, 9, footprints()}, {12, 9, chargedAndNot()}}},
			{"Limits, and what they do not see", []tile{{8, 8, limitUncovered()}, {8, 8, limitUsed()}, {8, 8, memoryEvents()}}},
		},
		more: []row{
			{"What the charge is made of", []tile{{24, 7, chargeKinds()}, {12, 8, ownMemory()}, {12, 8, cgroupCache()},
				{12, 7, kernelOther()}, {12, 7, cgroupSwap()}}},
			{"Waiting and storage", []tile{{8, 8, cgroupWaiting()}, {8, 8, cgroupStalled()}, {8, 8, cgroupIO()}}},
			{"Processes of engines", []tile{{8, 8, processResident()}, {8, 8, processCPU()}, {8, 8, processIO()}}},
		},
	}
}

// chosenCgroups matches the chosen cgroups.
func chosenCgroups() expr.Matcher { return expr.Matches(metric.LabelCgroup, "$cgroup") }

// ofCgroups are the series of the chosen cgroups, with short names.
func ofCgroups(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	return named(each(d, slices.Concat([]expr.Matcher{chosenCgroups()}, matchers)...))
}

// cgroupPerSecond is the rate of a counter of the chosen cgroups, with short names.
func cgroupPerSecond(c metric.Counter, matchers ...expr.Matcher) expr.Expr {
	return named(eachPerSecond(c, slices.Concat([]expr.Matcher{chosenCgroups()}, matchers)...))
}

// named adds the label name to series of cgroups: the name of the container where a container runtime reports it, with
// its pod in parentheses; else the end of the path, with the first 12 digits of the ID of a container or the first 8 of
// a pod's.
func named(e expr.Expr) expr.Expr {
	info := expr.Select(metric.CgroupInfo, onHost()).Max(by(metric.LabelCgroup, metric.LabelContainer, metric.LabelPod))
	return e.Times(info, expr.On(metric.LabelHost, metric.LabelCgroup).GroupLeft(metric.LabelContainer, metric.LabelPod)).
		Copied(metric.LabelCgroup, `(.*)`, metric.LabelName, "$1").
		Copied(metric.LabelCgroup, `.*/([^/]+)`, metric.LabelName, "$1").
		Copied(metric.LabelName, `(.*?[0-9a-f]{12})[0-9a-f]{52}(?:\.scope)?`, metric.LabelName, "$1").
		Copied(metric.LabelName, `(.*pod[0-9a-f]{8})[-_][0-9a-f_-]{27}(?:\.slice)?`, metric.LabelName, "$1").
		Copied(metric.LabelContainer, `(.+)`, metric.LabelName, "$1").
		Copied(metric.LabelPod, `(.+)`, metric.LabelPod, " ($1)")
}

func cgroupList() panel {
	return list(board{
		title:  "Who takes what",
		means:  "Each cgroup with all below it, so that lines contain each other. *Footprint* is what it takes from the pool for good: charged memory without page cache that is easily given back, and GPU memory. " + blind + " *Limit misses* is the share of its memory that is held so.",
		wrong:  "*GPU, not charged* is large where a limit is set: the limit does not protect the host from this container.",
		noData: noCgroups,
		keys:   []key{{label: metric.LabelName, title: "Container or cgroup"}, {label: metric.LabelPod, title: "Pod"}, {label: metric.LabelCgroup, title: "Path", look: width(260)}},
		figures: []figure{
			{title: "Footprint", expr: listed(metric.CgroupFootprintBytes)},
			{title: "GPU, not charged", expr: listed(metric.CgroupGPUMemoryBytes)},
			{title: "Charged", expr: listed(metric.CgroupMemoryCurrentBytes)},
			{title: "Limit", expr: listed(metric.CgroupMemoryMaxBytes)},
			{title: "Limit misses", expr: listed(metric.CgroupLimitUncoveredRatio), look: cells("transparent", from(uncovered(), "orange"))},
			{title: "Page cache", expr: listed(metric.CgroupMemoryStatBytes, expr.Is(metric.LabelKind, metric.CgroupKindFile))},
			{title: "Peak charge", expr: listed(metric.CgroupMemoryPeakBytes)},
		},
		sortBy: "Footprint", desc: true,
	})
}

// listed is a figure of the table: one line for a name and path.
func listed(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	return ofCgroups(d, matchers...).Max(expr.By(metric.LabelName, metric.LabelPod, metric.LabelCgroup))
}

func cgroupsLeftOut() panel {
	return number(subject{
		title:   "Cgroups left out",
		means:   "Cgroups that are not shown because there are more than `--cgroup.limit` of them; the exporter keeps those with the most memory.",
		wrong:   "it is above 0 and a container is missing here: raise the limit.",
		noData:  noCgroups,
		queries: []query{{"left out", one(metric.CgroupExcluded)}},
	})
}

func footprints() panel {
	return lines(subject{
		title:   "Footprint",
		means:   "What each cgroup takes from the pool for good: charged memory without page cache that is easily given back, and GPU memory (" + called(metric.CgroupFootprintBytes) + "). For ranking, not for limits. A slice contains what is in it: do not add the lines.",
		wrong:   "one grows while its engine does nothing, or stays after it has stopped.",
		noData:  "the GPU of this host has memory of its own, the driver's process list is incomplete, or the cgroups cannot be read",
		queries: []query{{"{{name}}{{pod}}", ofCgroups(metric.CgroupFootprintBytes)}},
	}).Min(0)
}

func chargedAndNot() panel {
	return lines(subject{
		title:  "Charged memory and GPU memory",
		means:  "The two sides of a container, which together are what it holds: what the kernel charges to it (`memory.current`, with page cache that it was first to touch), and dashed the GPU memory of its processes. " + blind + " The two do not overlap, but for CUDA managed memory, which is charged.",
		wrong:  "you size a container by the charge alone: the GPU memory comes on top.",
		noData: noCgroups,
		queries: []query{
			{"charged: {{name}}{{pod}}", ofCgroups(metric.CgroupMemoryCurrentBytes)},
			{"GPU memory: {{name}}{{pod}}", ofCgroups(metric.CgroupGPUMemoryBytes)},
		},
	}).Min(0).OverrideByRegexp("/^GPU memory: /", dashed())
}
