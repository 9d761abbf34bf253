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
	notInPool  = "the GPU of this host has memory of its own, or no exporter answers"
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

func poolNow() panel {
	return number(subject{
		title:   "Pool",
		means:   "Physical memory that the kernel manages: what CPU and GPU share on a unified-memory machine.",
		wrong:   "it is less than the machine has by more than a few GiB, or changes between runs.",
		noData:  noExporter,
		queries: []query{{"pool", one(metric.MemoryPoolBytes)}},
	})
}

// heldOfGPUs is the GPU memory of all processes where it is in the pool, else what is in use of the GPUs' own.
func heldOfGPUs() expr.Expr {
	inPool := one(metric.MemoryLedgerBytes, expr.Is(metric.LabelLine, metric.LineGPUProcess))
	return inPool.Or(each(metric.GPUMemoryUsedBytes).Sum(byHost()), expr.On(metric.LabelHost))
}

func heldNow() panel {
	return number(subject{
		title:   "GPU memory held",
		means:   "GPU memory of all processes, by the driver, where it comes from the pool; else what is in use of the memory that the GPUs have of their own. It is charged to no container, so no limit and no `docker stats` shows it.",
		wrong:   "it is not what it was before a server was started, once that has stopped.",
		noData:  "no GPU, or its driver does not tell",
		queries: []query{{"GPU memory", heldOfGPUs()}},
	})
}

func availableNow() panel {
	return number(subject{
		title:   "Available",
		means:   "What new allocations of the CPU can get without swapping, by the kernel's estimate: free memory and cache that can be dropped.",
		wrong:   "it is below the floors that the panel *Available and free memory* draws.",
		noData:  noExporter,
		queries: []query{{"available", one(metric.MemoryAvailableBytes)}},
	})
}

func cudaFreeNow() panel {
	return number(subject{
		title:   "Free",
		means:   "What `cudaMemGetInfo` reports as free, from which engines size their KV cache. Page cache does not count.",
		wrong:   "it is far below *Available* when a server starts: its KV cache will be smaller for no reason but cache.",
		noData:  notInPool,
		queries: []query{{"free", one(metric.MemoryCUDAFreeBytes)}},
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
