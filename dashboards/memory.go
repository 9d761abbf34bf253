package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Reasons why a panel may be empty.
const (
	noExporter = "no exporter answers for this host"
	notInPool  = "GPU memory is not in the pool of this host, or no exporter answers"
	noHolder   = "no process holds GPU memory, or the driver's list cannot be read"
)

// panel is a panel of whatever type.
type panel = cog.Builder[dashboard.Panel]

// memoryPage shows where every GiB of the pool is, whether what is left is enough, and who holds it.
func memoryPage() page {
	return page{
		name:        "unified-memory",
		title:       "Unified memory",
		description: "Where every GiB of the memory that CPU and GPU share is, who holds it, and whether what is left can be used.",
		rows: []row{
			{"Now", []tile{{8, 3, sourceBanner()}, {4, 3, gpuMemoryIs()}, {12, 3, firingAlerts()},
				{4, 4, poolNow()}, {4, 4, heldNow()}, {4, 4, availableNow()},
				{4, 4, cudaFreeNow()}, {4, 4, hiddenNow()}, {4, 4, unattributedNow()}}},
			{"Where the pool went", []tile{{17, 13, ledger()}, {7, 13, ledgerNow()}}},
			{"What is left, and can it be used", []tile{{12, 9, leftOver()}, {12, 9, contiguous()}}},
			{"Who holds GPU memory", []tile{{8, 9, holders()}, {10, 9, holderList()}, {6, 9, gpuOwnMemory()},
				{8, 3, processList()}, {16, 3, unknownLines()}}},
			{"Whose page cache, and which containers", []tile{{12, 9, pageCacheOwners()}, {12, 9, cgroupShares()}}},
			{"Signs of trouble", []tile{{12, 8, unattributed()}, {12, 8, pressure()},
				{6, 7, swap()}, {6, 7, compaction()}, {6, 7, majorFaults()}, {6, 7, oomKills()}}},
		},
	}
}

// one is the one value of a family on the chosen host.
func one(d metric.Definer, matchers ...expr.Matcher) expr.Expr {
	return expr.Select(d, append([]expr.Matcher{onHost()}, matchers...)...).Max(byHost())
}

// perSecond is the rate of a counter on the chosen host.
func perSecond(c metric.Counter, matchers ...expr.Matcher) expr.Expr {
	return expr.Rate(c, expr.RateInterval, append([]expr.Matcher{onHost()}, matchers...)...).Max(byHost())
}

func sourceBanner() panel {
	mode := expr.Select(metric.ExporterMode, onHost()).Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelMode))
	live := []dashboard.DynamicConfigValue{colored("green")}
	return names(subject{
		title:   "Source",
		means:   "Where the figures of this page come from; *live* is this machine now.",
		wrong:   "it says replay, constructed or simulated while you look for a real machine, or shows several: then sources of different kinds share one host name.",
		noData:  noExporter,
		queries: []query{{"{{host}}: {{mode}}", mode}},
	}, steps("orange")).OverrideByRegexp("/: "+metric.ModeLive+"$/", live)
}

func firingAlerts() panel {
	of := func(severity string) query {
		return query{"{{alertname}} (" + severity + ")", firing(expr.Is(metric.LabelSeverity, severity))}
	}
	// Info is red nowhere: some of it is always there on some machines.
	blue := []dashboard.DynamicConfigValue{colored("#0072B2")}
	orange := []dashboard.DynamicConfigValue{colored("#E69F00")}
	return names(subject{
		title:   "Alerts",
		means:   "The alerts that fire for this host; the runbook says what each means and what to do.",
		wrong:   "one is *critical* (now) or a *warning* (today); *info* is for when something else is looked at. Nothing is shown either if Prometheus does not evaluate the rules.",
		noData:  "none fires",
		queries: []query{of(metric.SeverityCritical), of(metric.SeverityWarning), of(metric.SeverityInfo)},
	}, steps("red")).
		OverrideByRegexp(`/\(`+metric.SeverityWarning+`\)$/`, orange).
		OverrideByRegexp(`/\(`+metric.SeverityInfo+`\)$/`, blue)
}

func poolNow() panel {
	return number(subject{
		title:   "Pool",
		means:   "Physical memory that the kernel manages: what CPU and GPU share on a unified-memory machine.",
		wrong:   "it is less than the machine has by more than a few GiB, or changes between runs.",
		noData:  noExporter,
		queries: []query{{"pool", one(metric.MemoryPoolBytes)}},
	})
}

func heldNow() panel {
	held := expr.Select(metric.MemoryLedgerBytes, onHost(), expr.Is(metric.LabelLine, metric.LineGPUProcess))
	return number(subject{
		title:   "Held by GPU processes",
		means:   "GPU memory of all processes, by the driver. It is charged to no container, so no limit and no `docker stats` shows it.",
		wrong:   "it is not 0 before a server is started, or does not return to 0 after it has stopped.",
		noData:  "unknown, or GPU memory is not in the pool",
		queries: []query{{"GPU processes", held.Max(byHost())}},
	})
}

func availableNow() panel {
	return number(subject{
		title:   "Available",
		means:   "What new allocations of the CPU can get without swapping, by the kernel's estimate: free memory and cache that can be dropped.",
		wrong:   "it is below the floors that the panel *Available and free for CUDA* draws.",
		noData:  noExporter,
		queries: []query{{"available", one(metric.MemoryAvailableBytes)}},
	})
}

func cudaFreeNow() panel {
	return number(subject{
		title:   "Free for CUDA",
		means:   "What `cudaMemGetInfo` reports as free, from which engines size their KV cache. Page cache does not count.",
		wrong:   "it is far below *Available* when a server starts: its KV cache will be smaller for no reason but cache.",
		noData:  notInPool,
		queries: []query{{"free for CUDA", one(metric.MemoryCUDAFreeBytes)}},
	})
}

func hiddenNow() panel {
	return number(subject{
		title:   "Hidden by cache",
		means:   "Available minus free: memory that CUDA does not see because it holds cache. Negative when the kernel keeps more in reserve than can be dropped.",
		wrong:   "it differs between the arms of a comparison when their servers start.",
		noData:  notInPool,
		queries: []query{{"hidden by cache", one(metric.MemoryHiddenByCacheBytes)}},
	})
}

func unattributedNow() panel {
	return number(subject{
		title:   "Unattributed",
		means:   "The pool minus all other lines of the ledger, signed: driver pools, network rings, and the bytes of lines whose input is unknown.",
		wrong:   "it is more than a few percent of the pool, or clearly negative: then two lines count the same memory.",
		noData:  noExporter,
		queries: []query{{"unattributed", one(metric.MemoryLedgerBytes, expr.Is(metric.LabelLine, metric.LineUnattributed))}},
	})
}
