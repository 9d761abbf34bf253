package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// ofSource names an engine in the legend: its source and its model.
const ofSource = " {{source}} {{model}}"

func kvRoom() panel {
	return series(subject{
		title:  "Room of the KV cache",
		means:  "Tokens that the KV cache has room for (dashed) and tokens that requests hold, by engine; a frontend counts the engines behind it again. An engine sizes the cache when it starts, from the memory that CUDA then calls free.",
		wrong:  "the room is smaller than in an earlier run of the same model: look at *Free* and page cache at the start, on the page Unified memory.",
		noData: noEngine,
		queries: []query{
			{"room" + ofSource, each(metric.EngineKVCapacityTokens)},
			{"held" + ofSource, each(metric.EngineKVUsedTokens)},
		},
	}).Min(0).OverrideByRegexp("/^room/", dashed())
}

func kvInUse() panel {
	return series(subject{
		title:   "KV cache in use over time",
		means:   "Share of the KV cache that requests hold. " + keptIsFree(),
		wrong:   "it touches 100 %: requests wait for room or are preempted.",
		noData:  noEngine,
		queries: []query{{"{{source}} {{model}}", each(metric.EngineKVUsedRatio)}},
	}).Min(0).Max(1)
}

// foundIn are the tiers of prefix-cache hits, from below as they are stacked: the fast tiers first.
func foundIn() []struct{ tier, title string } {
	return []struct{ tier, title string }{
		{metric.TierDevice, "on the GPU"},
		{metric.TierHost, "in memory of the host"},
		{metric.TierExternal, "by a connector"},
		{metric.TierAny, "in a tier not named"},
		{metric.TierNone, "nowhere: computed"},
	}
}

func promptTokens() panel {
	var found []figure
	for _, f := range foundIn() {
		tokens := eachPerSecond(metric.EnginePrefixCacheTokensTotal, expr.Is(metric.LabelTier, f.tier)).Sum(by(metric.LabelSource)).Max(byHost())
		found = append(found, figure{title: f.title, expr: tokens, look: colored(tierColors()[f.tier])})
	}
	matched := query{"matched by KVBM", eachPerSecond(metric.KVBMMatchedTokensTotal).Sum(byHost())}
	return painted(areas(subject{
		title:   "Prompt tokens, by where they were found",
		means:   "Prompt tokens looked up in the prefix cache, by the tier that had them, as the engine counts; of several engines the one with most. A *connector* is KVBM, LMCache or shared storage. The dashed line is what KVBM counts as found in its tiers (" + called(metric.KVBMMatchedTokensTotal) + ").",
		wrong:   "prompts that repeat are *computed* again, or the dashed line is far from what the connector is said to have had.",
		noData:  noEngine,
		queries: append(queriesOf(found), matched),
	}).OverrideByName(matched.legend, limit("text")), found)
}

func tierBytes() panel {
	return series(subject{
		title:  "KV cache in bytes",
		means:  "Size of the KV cache on the GPU, where the engine reports it, and what LMCache holds in its tiers.",
		wrong:  "a tier has stopped growing far below its size: something throws its blocks away.",
		noData: "the engine reports no bytes: " + countsBytes(),
		queries: []query{
			{"GPU" + ofSource, each(metric.EngineKVCapacityBytes)},
			{"held in {{tier}} {{source}}", each(metric.EngineKVTierUsedBytes)},
		},
	}).Min(0).OverrideByRegexp("/^GPU/", looks(dashed(), colored(tierColors()[metric.TierDevice])))
}

func preemptions() panel {
	return series(subject{
		title:   "Preemptions",
		means:   "Requests preempted for lack of KV cache, to be computed again: " + preempted() + ".",
		wrong:   "it is not 0 in a run whose figures are to be compared: the work was done twice.",
		noData:  "the engine does not count them: " + countsPreempted(),
		queries: []query{{"{{source}} {{model}}", eachPerSecond(metric.EnginePreemptionsTotal)}},
	}).Min(0)
}

func foundByTier() panel {
	s := subject{
		title:  "Share found, by tier",
		means:  "Share of the blocks asked for that a tier of KVBM had, over its last requests (1000 unless configured) and not over all time, and dashed the share of prompt tokens that the engine found in all its caches since the last point.",
		wrong:  "a tier that is on finds nothing in a workload that repeats itself. 0 is also what KVBM shows before its first request.",
		noData: noKVBM,
	}
	for _, tier := range []string{metric.TierHost, metric.TierDisk, metric.TierObject} {
		s.queries = append(s.queries, query{tier + " {{source}}", each(metric.KVBMWindowHitRatio, expr.Is(metric.LabelTier, tier))})
	}
	s.queries = append(s.queries, query{"engine {{source}}", prefixShare(eachPerSecond)})
	built := series(s).Min(0).Max(1).OverrideByRegexp("/^engine/", looks(dashed(), colored("text")))
	for _, tier := range []string{metric.TierHost, metric.TierDisk, metric.TierObject} {
		built = built.OverrideByRegexp("/^"+tier+"/", colored(tierColors()[tier]))
	}
	return built
}

func transferTimes() panel {
	way := by(metric.LabelOp, metric.LabelFrom, metric.LabelTo)
	mean := shareOf(eachPerSecond(metric.KVBMTransferSecondsTotal).Sum(way), eachPerSecond(metric.KVBMTransfersTotal).Sum(way))
	nixl := shareOf(
		eachPerSecond(metric.KVBMNIXLTransferSecondsTotal).Sum(by(metric.LabelSource)),
		eachPerSecond(metric.KVBMNIXLRequestsTotal).Sum(by(metric.LabelSource)))
	return series(subject{
		title:  "Time of a transfer",
		means:  "Mean time from begin to end of transfers that ended, by way, from the sums that version 2 of KVBM keeps, and of NIXL's requests of both directions. A transfer moves several blocks.",
		wrong:  "the way from *disk* takes longer than the prompt would take to compute: then the tier makes answers slower.",
		noData: "no transfer just now, or KVBM is of version 1, which does not report them",
		queries: []query{
			{"{{op}}, {{from}} to {{to}}", mean},
			{"NIXL {{source}}", nixl},
		},
		as: expr.Unit{Base: metric.Seconds},
	}).Min(0).OverrideByRegexp("/^NIXL/", dashed())
}

func inFlight() panel {
	return series(subject{
		title:  "Under way",
		means:  "Onboards (sequence hashes) and transfers in flight, from version 2 of KVBM.",
		wrong:  "onboards stay above 0 without progress: a guard was leaked, and requests wait for what never comes.",
		noData: "KVBM of version 1 does not report it, or there is none",
		queries: []query{
			{"onboards {{source}}", each(metric.KVBMOnboardsInFlight)},
			{"transfers, {{op}} {{source}}", each(metric.KVBMTransfersInFlight)},
		},
	}).Min(0)
}

func tiers() panel {
	owner := expr.By(metric.LabelComm, metric.LabelPID, metric.LabelCgroup)
	file := expr.By(metric.LabelComm, metric.LabelPID, metric.LabelCgroup, metric.LabelPath)
	configured := func(tier string) expr.Expr {
		return expr.Select(metric.KVBMConfiguredCacheBytes, onHost(), expr.Is(metric.LabelTier, tier)).Max(owner)
	}
	return list(board{
		title:  "Tiers",
		means:  "Tiers of KVBM by the processes that have them: the sizes that they were started with (`DYN_KVBM_CPU_CACHE_GB`, `DYN_KVBM_DISK_CACHE_GB`; 0 is off), and the file of the disk tier. It is allocated whole at the start and has lost its name: `ls` and `du` do not show it, nor does a watched path of the page cache. It is shown once, for the first process that has it open.",
		wrong:  "a tier that should be on is not here, or the file does not bypass the page cache: then the tier takes the memory that it is there to spare.",
		noData: "no process has a tier of KVBM, or the exporter may not look into the processes of others",
		keys: []key{{label: metric.LabelComm, title: "Process"}, {label: metric.LabelPID, title: "PID", look: width(60)},
			{label: metric.LabelCgroup, title: "Cgroup", look: width(200)}, {label: metric.LabelPath, title: "File, deleted", look: width(200)}},
		figures: []figure{
			{title: "Host tier, configured", expr: configured(metric.TierHost), look: width(140)},
			{title: "Disk tier, configured", expr: configured(metric.TierDisk), look: width(140)},
			{title: "Size of the file", expr: expr.Select(metric.KVBMDiskFileBytes, onHost()).Max(file), look: width(110)},
			{title: "O_DIRECT", expr: expr.Select(metric.KVBMDiskFileDirectIO, onHost()).Min(file),
				look: looks(textCells(shade{"0", "no: cached", "dark-orange"}, shade{"1", "yes", "transparent"}), width(150))},
		},
		sortBy: "Process",
	})
}
