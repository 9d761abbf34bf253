package telemetry

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// admit returns, by key, the series of a page that are not known yet and are kept: the ledger and what evidence is graded by
// first, then families of few series, in the order of the vocabulary among equals, up to the room that is left. Each container
// of a machine has two dozen series, of which few matter to a run. Families of many leave as much of the room as is reserved.
func admit(page []observation, known map[string]int, room, reserved int) map[string]bool {
	count := map[string]int{}
	var fresh []observation
	for _, o := range page {
		count[o.name]++
		if _, is := known[o.key]; !is {
			fresh = append(fresh, o)
		}
	}
	later := func(o observation) int {
		if o.first {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(fresh, func(a, b observation) int {
		return cmp.Or(cmp.Compare(later(a), later(b)), cmp.Compare(count[a.name], count[b.name]))
	})
	admitted := map[string]bool{}
	for _, o := range fresh {
		left := room - len(admitted)
		if !o.first && count[o.name] > few {
			left -= reserved
		}
		if left <= 0 {
			continue // of its family there may be too many, of a later one not
		}
		admitted[o.key] = true
	}
	return admitted
}

const (
	// few is how many series a family has at most whose place is not what others wait for. The ledger has 14.
	few = 16
	// engineShare is the part of the room that is kept free for an engine that is not there yet: one in so many. It brings
	// some fifty series with those of its KV block manager, and its processes a dozen.
	engineShare = 4
)

// ledgerAndWitnesses are the families, by name, that the figures of a run and the grades of its evidence rest on.
func ledgerAndWitnesses() map[string]bool {
	first := map[string]bool{}
	for _, family := range []metric.Definer{
		metric.ExporterMode, metric.HostInfo, metric.GPUInfo, metric.NVMeInfo,
		metric.MemoryPoolBytes, metric.MemoryLedgerBytes, metric.MemoryAvailableBytes, metric.MemoryCUDAFreeBytes,
		metric.GPUProcessMemoryBytes, metric.GPUEnergyJoulesTotal, metric.GPUTemperatureCelsius, metric.GPUClockEventSecondsTotal,
		metric.VmstatSwappedInBytesTotal,
		metric.NVMeReadBytesTotal, metric.NVMeWrittenBytesTotal,
		metric.ProcessIOBytesTotal, metric.ProcessCPUSecondsTotal, metric.CgroupIOBytesTotal,
		metric.KVBMUp, metric.KVBMBlocksTotal, metric.KVBMBytesTotal, metric.KVBMMatchedTokensTotal,
		metric.KVBMDiskFileBytes, metric.KVBMConfiguredCacheBytes,
		metric.EngineUp, metric.EngineKVCapacityBytes, metric.EngineKVCapacityTokens, metric.EnginePrefixCacheTokensTotal,
	} {
		first[family.Def().Name] = true
	}
	return first
}

// ofOne says whether a series is of one cgroup or process. Those wait for an engine that is away: of a machine at rest they are
// of nobody who matters to the run, and series once begun keep their room, so that the engine's own would find none.
func ofOne(o observation) bool {
	return o.labels[string(metric.LabelCgroup)] != "" || o.labels[string(metric.LabelPID)] != ""
}

// expectsEngine says whether a page tells of an engine, or a KV block manager, that does not answer yet.
func expectsEngine(page []observation) bool {
	return slices.ContainsFunc(page, func(o observation) bool {
		return o.value == 0 && (o.name == metric.EngineUp.Def().Name || o.name == metric.KVBMUp.Def().Name)
	})
}
