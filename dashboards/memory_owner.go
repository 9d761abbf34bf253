package dashboards

import (
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Values of metric.LabelArchitecture in addition to those of metric.ArchitecturesInPool.
const (
	coherentNode     = "coherent_numa"
	coherentDriver   = "coherent_driver"
	discreteMemory   = "discrete"
	noGPUMemory      = "none"
	unknownGPUMemory = "unknown"
)

func gpuMemoryIs() panel {
	kind := func(architectures ...string) expr.Expr {
		return expr.Select(metric.HostInfo, onHost(), expr.OneOf(metric.LabelArchitecture, architectures...)).Max(byHost())
	}
	return names(subject{
		title:  "GPU memory is",
		means:  "Where the GPUs of this machine get their memory. *In the pool*: CPU and GPU take from the same memory, and what one has the other lacks. *In the pool as a NUMA node*: the GPU's own memory, onlined so that it is in the pool once (by the driver's source, not measured). *Its own*: the pool is memory of the CPU alone; the panels of what CUDA calls free are empty, and *Memory of the GPUs* shows theirs.",
		wrong:  "it is not what the machine is: then the driver answered otherwise than expected (`uma-exporter doctor`).",
		noData: noExporter,
		queries: []query{
			{"in the pool", kind(metric.ArchitecturesInPool()...)},
			{"in the pool as a NUMA node", kind(coherentNode)},
			{"its own", kind(discreteMemory, coherentDriver)},
			{"no GPU, or not known", kind(noGPUMemory, unknownGPUMemory)},
		},
	}, "no exporter answers", steps(colorInfo))
}

func ledgerNow() panel {
	line := each(metric.MemoryLedgerBytes)
	share := line.DividedBy(one(metric.MemoryPoolBytes).Above(expr.Number(0)), expr.On(metric.LabelHost).GroupLeft())
	var shades []shade
	for _, kind := range ledger.Kinds() {
		shades = append(shades, shade{kind.Name, kind.Title, kind.Colour})
	}
	return list(board{
		title:  "Ledger now",
		means:  "The lines of the ledger at the end of the time range, the largest first, in bytes and as a share of the pool. The shares add up to 100 %; a negative remainder is shown as it is.",
		wrong:  "*unattributed* is more than a few percent, or negative by as much.",
		noData: noExporter,
		keys:   []key{{label: metric.LabelLine, title: "Line", look: textCells(shades...)}},
		figures: []figure{
			{title: "Bytes", expr: line.Max(expr.By(metric.LabelLine)), look: width(90)},
			{title: "Share", expr: share.Max(expr.By(metric.LabelLine)), look: looks(width(80), look{{Id: "decimals", Value: 1}})},
		},
		sortBy: "Bytes", desc: true,
	})
}

// pageCacheOf is the page cache that is charged to each cgroup, including all cgroups below it.
func pageCacheOf() expr.Expr {
	kind := func(kind string) expr.Expr {
		return each(metric.CgroupMemoryStatBytes, expr.Is(metric.LabelKind, kind)).Max(by(metric.LabelCgroup))
	}
	return kind(metric.CgroupKindFile).Minus(kind(metric.CgroupKindShmem), expr.On(metric.LabelHost, metric.LabelCgroup))
}

// shownShare is the share of the pool from which on a cgroup's page cache has a line of its own.
const shownShare = 0.01

func pageCacheOwners() panel {
	enough := one(metric.MemoryPoolBytes).Times(expr.Number(shownShare))
	return series(subject{
		title:  "Whose page cache",
		means:  "Page cache by the files it holds (the paths of `--memory.cache-path`, such as the folder of the models; they may overlap), and dashed by the cgroup that was first to read them, from 1 % of the pool on. A cgroup contains those below it. A container that reads its weights is charged for them; the next one that reads the same files is not.",
		wrong:  "the weights of a model that is not served are still here when the next server starts: its KV cache will be smaller by as much, and the order of runs decides their result.",
		noData: "no path is watched (--memory.cache-path), and no cgroup has page cache worth a line",
		queries: []query{
			{"{{path}}", each(metric.PageCacheResidentBytes)},
			{"cgroup {{name}}{{pod}}", named(pageCacheOf().Above(enough, expr.On(metric.LabelHost).GroupLeft()))},
		},
	}).Min(0).OverrideByRegexp("/^cgroup/", dashed())
}

func cgroupShares() panel {
	of := func(e expr.Expr) expr.Expr { return named(e).Max(expr.By(metric.LabelName, metric.LabelPod)) }
	footprint := each(metric.CgroupFootprintBytes)
	share := footprint.DividedBy(one(metric.MemoryPoolBytes).Above(expr.Number(0)), expr.On(metric.LabelHost).GroupLeft())
	return list(board{
		title:  "Share of each cgroup",
		means:  "What cgroups (containers, services, users) have of the pool at the end of the time range; each contains those below it, so that lines do not add up. *Charged* is what their limits count, *GPU* what no limit counts; *footprint* is charged memory without cache that is easily dropped, and GPU memory. Footprint and share are there only where GPU memory comes from the pool.",
		wrong:  "a container that has ended still has a share, or two containers together have more than the pool can give.",
		noData: "no cgroup is shown, or no exporter answers",
		keys:   []key{{label: metric.LabelName, title: "Container or cgroup", look: width(150)}, {label: metric.LabelPod, title: "Pod", look: width(60)}},
		figures: []figure{
			{title: "Share", expr: of(share), look: looks(look{{Id: "decimals", Value: 1}}, width(60))},
			{title: "Footprint", expr: of(footprint), look: width(75)},
			{title: "GPU", expr: of(each(metric.CgroupGPUMemoryBytes)), look: width(75)},
			{title: "Charged", expr: of(each(metric.CgroupMemoryCurrentBytes)), look: width(75)},
			{title: "Page cache", expr: of(pageCacheOf()), look: width(75)},
		},
		sortBy: "Footprint", desc: true,
	})
}

func gpuOwnMemory() panel {
	used := each(metric.GPUMemoryUsedBytes)
	free := each(metric.GPUMemoryTotalBytes).Minus(used, expr.On(metric.LabelHost, metric.LabelUUID))
	return areas(subject{
		title:  "Memory of the GPUs",
		means:  "Memory that GPUs have of their own, in use and free, which together are all of it. On a machine whose GPU takes from the pool there is none, and the driver gives no figure for it: nothing here is not zero.",
		wrong:  "something is in use before a server is started, or after it has stopped.",
		noData: "the GPU has no memory of its own (it takes from the pool), or there is no GPU",
		queries: []query{
			{"in use, GPU {{gpu}}", numbered(used)},
			{"free, GPU {{gpu}}", numbered(free)},
		},
	}).OverrideByRegexp("/^free, /", colored(ledger.Named(ledger.Free).Colour))
}
