package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Reasons why a panel about the KV cache may be empty.
const (
	noEngine    = "no page of an engine is read, it does not report this (`uma-exporter doctor`), or no exporter answers"
	noKVBM      = "no page of a KV block manager is read, it does not report this, or no exporter answers"
	noDrive     = "no NVMe drive, or no exporter answers"
	noDriveRule = "no such operation within 5 minutes, no NVMe drive, or Prometheus does not evaluate the recording rules"
)

// storagePage shows whether the KV cache is large enough, which prompts are prefix-cache hits, and whether they were
// read from the SSD.
func storagePage() page {
	return page{
		name:        "kv-cache-and-storage",
		title:       "KV cache and storage",
		description: "How full the KV cache is, from which tier prompts are found again, and whether the bytes that an SSD tier claims to read were really read from the drive.",
		rows: []row{
			{"Now", []tile{{6, 3, sourceBanner(oneHost)}, {18, 3, firingAlerts(oneHost)},
				{6, 4, kvNow()}, {6, 4, foundNow()}, {6, 4, readBackNow()}, {6, 4, readTimeNow()}}},
			{"Was the SSD really read", []tile{{6, 10, offloads()}, {6, 10, onboards()}, {6, 10, readsOfTier()}, {6, 10, readsAgree()}}},
			{"KV cache of the engine", []tile{{12, 8, kvRoom()}, {12, 8, kvInUse()},
				{7, 8, promptTokens()}, {8, 8, tierBytes()}, {9, 8, preemptions()}}},
		},
		more: []row{
			{"KV block manager", []tile{{12, 8, foundByTier()}, {12, 8, transferTimes()},
				{12, 7, inFlight()}, {12, 7, transferErrors()}, {24, 5, tiers()}}},
			{"Between GPU memory and files", []tile{{12, 7, waysToFiles()}, {12, 7, directBytes()}, {24, 5, processesOfFiles()}}},
			{"The drives", []tile{{12, 8, driveBytes()}, {12, 8, driveTimes()},
				{6, 7, driveOperations()}, {6, 7, driveQueue()}, {6, 7, driveBusy()}, {6, 7, driveWear()}}},
			{"Between machines", []tile{{24, 7, networkBytes()}}},
		},
	}
}

// tierColors are the colours of tiers on all pages: a tier on the GPU has the colour of GPU memory, a tier in memory of
// the CPU that of CPU memory.
func tierColors() map[string]string {
	return map[string]string{
		metric.TierDevice: "dark-green", metric.TierHost: "dark-blue", metric.TierDisk: "dark-orange",
		metric.TierObject: "dark-purple", metric.TierExternal: "light-orange", metric.TierAny: "light-green", metric.TierNone: "#808080",
	}
}

// prefixShare is the share of prompt tokens looked up that were prefix-cache hits, by engine. A frontend counts the
// tokens of the engines behind it, so sources are never added up.
func prefixShare(perSecond func(metric.Counter, ...expr.Matcher) expr.Expr) expr.Expr {
	tokens := metric.EnginePrefixCacheTokensTotal
	hits := perSecond(tokens, expr.Is(metric.LabelResult, metric.ResultHit)).Sum(by(metric.LabelSource))
	return shareOf(hits, perSecond(tokens).Sum(by(metric.LabelSource)))
}

func foundNow() panel {
	return trend(subject{
		title:   "Prompt tokens found in a cache",
		means:   "Share of the prompt tokens that need not be computed because a tier of the cache has them, by the engine's own count; of several engines, the one that finds most.",
		wrong:   "it is 0 in a workload that repeats its prompts, or high in one that should not: then the answers are faster than the machine.",
		noData:  "no prompts just now, or the engine does not count what it finds",
		queries: []query{{"found", prefixShare(eachPerSecond).Max(byHost())}},
	})
}

func readBackNow() panel {
	return trend(subject{
		title:   "Read back from the SSD tier",
		means:   "KV blocks that the block manager brought back from disk, in bytes.",
		wrong:   "it is 0 while a run is said to use the SSD tier: nothing proves that it does.",
		noData:  "no KV block manager, the size of its blocks is unknown (--kvbm.bytes-per-block), or no exporter answers",
		queries: []query{{"onboarded from disk", kvbmFromDisk()}},
	})
}

func readTimeNow() panel {
	return trend(subject{
		title:   "Time of a read of the drive",
		means:   "Mean time of a read, waiting included (r_await of iostat), over 5 minutes; of several drives, the slowest.",
		wrong:   "it is far above what the drive usually takes: see *Time of an operation*.",
		noData:  noDriveRule,
		queries: []query{{"read", each(metric.NVMeReadAwaitSeconds5m).Max(byHost())}},
	})
}
