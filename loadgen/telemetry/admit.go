package telemetry

import (
	"cmp"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
)

// admit returns, by key, the new series of a page that are kept, up to the room that is left: first the ledger and the
// series that evidence is graded by, then families of few series, in the order of the vocabulary among equals. Each
// container of a machine has two dozen series, few of which matter to a run. Families with many series leave the
// reserved part of the room free.
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
			continue // this family may have too many series, a later one not
		}
		admitted[o.key] = true
	}
	return admitted
}

const (
	// few is the largest number of series of a family that may use reserved room. The ledger has 14.
	few = 16
	// engineShare is the part of the room that is kept free for an engine that is away: one in so many. An engine has
	// some fifty series with those of its KV block manager, and its processes a dozen.
	engineShare = 4
)

// evidenceFamilies returns the names of the families that a run's figures and the grades of its evidence are computed
// from.
func evidenceFamilies() map[string]bool {
	first := map[string]bool{}
	for _, family := range []metric.Definer{
		metric.ExporterMode, metric.HostInfo, metric.GPUInfo, metric.NVMeInfo,
		metric.MemoryPoolBytes, metric.MemoryLedgerBytes, metric.MemoryAvailableBytes, metric.MemoryCUDAFreeBytes,
		metric.GPUProcessMemoryBytes, metric.GPUEnergyJoulesTotal, metric.GPUTemperatureCelsius, metric.GPUClockEventSecondsTotal,
		metric.VmstatSwappedInBytesTotal,
		metric.NVMeReadBytesTotal, metric.NVMeWrittenBytesTotal, metric.DiskReadBytesTotal, metric.DiskWrittenBytesTotal,
		metric.ProcessIOBytesTotal, metric.ProcessCPUSecondsTotal, metric.CgroupIOBytesTotal,
		metric.KVBMUp, metric.KVBMBlocksTotal, metric.KVBMBytesTotal, metric.KVBMMatchedTokensTotal,
		metric.KVBMDiskFileBytes, metric.KVBMDiskFileInfo, metric.KVBMDiskFileDirectIO, metric.KVBMConfiguredCacheBytes, metric.KVBMDiskFilterEnabled,
		metric.EngineUp, metric.EngineKVCapacityBytes, metric.EngineKVCapacityTokens, metric.EnginePrefixCacheTokensTotal,
		metric.EngineSpecDraftsTotal, metric.EngineSpecDraftTokensTotal, metric.EngineSpecAcceptedTokensTotal,
	} {
		first[family.Def().Name] = true
	}
	return first
}

// ofOne reports whether a series belongs to one cgroup or process. While the engine is away, such series wait: those of
// an idle machine do not matter to the run, and a series keeps its room once begun, so the engine's own would be
// dropped.
func ofOne(o observation) bool {
	return o.labels[string(metric.LabelCgroup)] != "" || o.labels[string(metric.LabelPID)] != ""
}

// expectsEngine reports whether a page shows an engine, or a KV block manager, that does not answer yet.
func expectsEngine(page []observation) bool {
	return slices.ContainsFunc(page, func(o observation) bool {
		return o.value == 0 && (o.name == metric.EngineUp.Def().Name || o.name == metric.KVBMUp.Def().Name)
	})
}
