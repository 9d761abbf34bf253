package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Reasons why a panel may be empty.
const (
	noExporter = "no exporter answers for this host"
	noHolder   = "no process holds GPU memory, the driver's list cannot be read, or no exporter answers"
)

// panel is a panel of whatever type.
type panel = cog.Builder[dashboard.Panel]

// memoryPage shows where every GiB of the pool is, whether the rest is enough, and which processes hold it.
func memoryPage() page {
	return page{
		name:        memoryPageName,
		title:       "Unified memory",
		description: "Where every GiB of the memory that CPU and GPU share is, who holds it, and whether what is left can be used.",
		rows: []row{
			{"Now", []tile{{5, 3, sourceBanner(oneHost)}, {4, 3, gpuMemoryIs()}, {15, 3, firingAlerts(oneHost)},
				{24, 4, memoryNow()}}},
			{"Where the pool went", []tile{{17, 13, poolLedger()}, {7, 13, ledgerNow()}}},
			{"What is left, and can it be used", []tile{{12, 9, leftOver()}, {12, 9, contiguous()}}},
			{"Who holds GPU memory", []tile{{8, 9, holders()}, {10, 9, holderList()}, {6, 9, gpuOwnMemory()}}},
		},
		more: []row{
			{"Whose page cache, and which containers", []tile{{12, 9, pageCacheOwners()}, {12, 9, cgroupShares()}}},
			{"Signs of trouble", []tile{{12, 8, unattributed()}, {12, 8, pressure()},
				{6, 7, swap()}, {6, 7, compaction()}, {6, 7, majorFaults()}, {6, 7, oomKills()},
				{8, 3, processList()}, {16, 3, unknownLines()}}},
		},
	}
}
