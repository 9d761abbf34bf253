package dashboards

import (
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func leftOver() panel {
	t := metric.AlertThresholds()
	floor := func(f metric.Floor) expr.Expr { return expr.AtFloor(f, onHost()).InPool(onHost()) }
	free := freeNow()
	pool, available := one(metric.MemoryPoolBytes), one(metric.MemoryAvailableBytes)
	return areas(subject{
		title: "Available and free memory",
		means: "The pool as *unavailable* memory, memory that is *available, not free* (page cache that the kernel can reclaim), and *free* memory, which is MemFree: what CUDA reports as free on an integrated GPU. " +
			"Lines: what a driver can allocate if page cache is given up (*can be allocated*: available memory without CMA, not tried on a GB10; only where the GPU takes from the pool), cache not yet written, and the floors at which alerts fire, above which `fit` stays (" + t.AvailableWarning.String() + "; " + t.AvailableCritical.String() + ").",
		wrong:  "*can be allocated* nears a floor, or *free* is far below it while a server loads that sizes its KV cache by it.",
		noData: noExporter,
		queries: []query{
			{"unavailable", pool.Minus(available, expr.On(metric.LabelHost))},
			{"available, not free", available.Minus(free, expr.On(metric.LabelHost))},
			{"free", free},
			{"can be allocated", one(metric.MemoryAllocatableBytes)},
			{"cache not yet written", one(metric.MemoryDirtyBytes)},
			{"warning floor", floor(t.AvailableWarning)},
			{"critical floor", floor(t.AvailableCritical)},
		},
	}).
		OverrideByName("unavailable", colored(ledger.Named(ledger.SlabUnreclaimable).Colour)).
		OverrideByName("available, not free", colored(ledger.Named(ledger.PageCache).Colour)).
		OverrideByName("free", colored(ledger.Named(ledger.Free).Colour)).
		OverrideByName("can be allocated", limit("text")).
		OverrideByName("cache not yet written", limit("yellow")).
		OverrideByName("warning floor", limit("orange")).
		OverrideByName("critical floor", limit("red"))
}

// blocks are the sizes for which the exporter reports the memory that is free in one piece.
func blocks() []struct{ bytes, title string } {
	return []struct{ bytes, title string }{{"65536", "64 KiB"}, {"2097152", "2 MiB"}, {"4194304", "4 MiB"}}
}

func contiguous() panel {
	t := metric.AlertThresholds()
	s := subject{
		title:  "Free memory by size of block",
		means:  "Free memory in contiguous blocks of at least such a size; each line contains the next. The driver asks for blocks of 2 MiB first. The scale is logarithmic above 64 MiB; the dashed line is where MemoryFragmented fires.",
		wrong:  "the lines of large blocks fall away from that of small ones: memory is free but in pieces.",
		noData: noExporter,
	}
	for _, b := range blocks() {
		s.queries = append(s.queries, query{"blocks of " + b.title + " or more", one(metric.MemoryFreeContiguousBytes, expr.Is(metric.LabelMinBlock, b.bytes))})
	}
	return series(s).
		Min(0).
		ScaleDistribution(common.NewScaleDistributionConfigBuilder().
			Type(common.ScaleDistributionSymlog).Log(2).LinearThreshold(64 << 20)).
		Thresholds(steps("transparent", from(t.FragmentedBytes, "orange"))).
		ThresholdsStyle(dashedLine())
}

func unattributed() panel {
	return series(subject{
		title:   "Unattributed over time",
		means:   "Memory of the pool that neither the kernel nor the driver's process list names, signed and never clamped.",
		wrong:   "it keeps growing while no process is on the GPU (a leak, or pools that the driver keeps), or is clearly negative.",
		noData:  noExporter,
		queries: []query{{"unattributed", ledgerLineNow(ledger.Unattributed)}},
	}).AxisCenteredZero(true)
}

func pressure() panel {
	memory := expr.Is(metric.LabelResource, metric.ResourceMemory)
	return series(subject{
		title:  "Waiting for memory",
		means:  "Share of time in which at least one task (waiting) or all tasks (stalled) waited for memory, by the kernel. The dashed line is where MemoryPressure fires.",
		wrong:  "*stalled* is not 0 during a run: its latencies are those of the waiting.",
		noData: "this kernel has no pressure stall information, or no exporter answers",
		queries: []query{
			{"waiting", perSecond(metric.PressureWaitingSecondsTotal, memory)},
			{"stalled", perSecond(metric.PressureStalledSecondsTotal, memory)},
		},
	}).
		Min(0).
		Thresholds(steps("transparent", from(metric.AlertThresholds().StalledRatio, "orange"))).
		ThresholdsStyle(dashedLine())
}

func swap() panel {
	return series(subject{
		title:  "Swap",
		means:  "Memory written to swap and read back. GPU memory cannot be swapped: the CPU side pays.",
		wrong:  "anything is read back during a run: its latencies include waiting for the disk, and more than a little of it makes the run invalid (rule swap_in).",
		noData: noExporter,
		queries: []query{
			{"read back", perSecond(metric.VmstatSwappedInBytesTotal)},
			{"written", perSecond(metric.VmstatSwappedOutBytesTotal)},
		},
	}).Min(0)
}

func compaction() panel {
	return series(subject{
		title:  "Compaction",
		means:  "Allocations that had to wait while the kernel moved pages to make a contiguous block, and how many of them got none.",
		wrong:  "failures climb: large blocks have run out, and a load of the driver may hang.",
		noData: noExporter,
		queries: []query{
			{"waits", perSecond(metric.VmstatCompactionStallsTotal)},
			{"failures", perSecond(metric.VmstatCompactionFailuresTotal)},
		},
	}).Min(0)
}

func majorFaults() panel {
	return series(subject{
		title:   "Major page faults",
		means:   "Page faults that had to read from disk: programs and mapped models whose cache was dropped.",
		wrong:   "they go on after loading: the pool is too small for what runs, and it is read again and again.",
		noData:  noExporter,
		queries: []query{{"major faults", perSecond(metric.VmstatMajorPageFaultsTotal)}},
	}).Min(0)
}

func oomKills() panel {
	kills := expr.Increase(metric.VmstatOOMKillsTotal, expr.Over(10*time.Minute), onHost()).Max(byHost())
	return series(subject{
		title:   "OOM kills in 10 minutes",
		means:   "Processes that the kernel killed because memory ran out. Allocations of the GPU driver fail without killing anybody and are not counted.",
		wrong:   "it is not 0. The process that was killed may be innocent: the choice does not see GPU memory.",
		noData:  noExporter,
		queries: []query{{"kills", kills}},
	}).Min(0)
}
