package main

import "github.com/umascope/umascope/exporter/metric"

// Reasons for absent series, where several share one.
const (
	noKVBytes    = "vLLM's page tells how many tokens its KV cache holds, not how many bytes; its log does, and a simulated engine writes none"
	noEngineLog  = "read from the log of an engine, and a simulated engine writes none"
	noNvidiaFS   = "no nvidia-fs is loaded on a simulated machine"
	noNIXL       = "the simulated KVBM moves blocks itself, without NIXL"
	noSMART      = "no drive of a simulated machine can be asked for its health log"
	noNetwork    = "no network card is simulated"
	noLimits     = "the driver of a GB10 gives no such limit"
	noDeviceMem  = "NOT_SUPPORTED on a GB10: absent, not zero"
	noZFS        = "no ZFS is loaded"
	otherMachine = "a GB10 is integrated; the panel asks for each kind"
	otherEngine  = "vLLM has no such figure"
	tooFewRuns   = "needs more runs of an arm or cell than the two here"
	noCampaign   = "known of runs that a campaign starts the engine for"
)

// absent lists the series that are absent here. A listed series that exists, or that no query reads, fails the proof:
// the list cannot outlive its reasons.
func absent() []absence {
	all := func(d metric.Definer, why string) absence { return absence{series: d.Def().Name, why: why} }
	with := func(d metric.Definer, label metric.Label, value, why string) absence {
		return absence{d.Def().Name, string(label), value, why, false}
	}
	return []absence{
		all(metric.EngineKVCapacityBytes, noKVBytes), all(metric.RunKVCapacityBytes, noKVBytes), all(metric.RunMemoryOccupiedWithoutKVBytes, noKVBytes),
		all(metric.EngineKVTierUsedBytes, otherEngine),
		with(metric.EngineRequests, metric.LabelState, "paused", otherEngine), with(metric.EngineRequests, metric.LabelState, "inflight", otherEngine),
		with(metric.EnginePrefixCacheTokensTotal, metric.LabelTier, "host", otherEngine), with(metric.EnginePrefixCacheTokensTotal, metric.LabelTier, "any", otherEngine),
		all(metric.RunEngineReportedPeakBytes, noEngineLog), all(metric.RunFreeAtKVSizingBytes, noEngineLog),
		with(metric.ComparisonMean, metric.LabelMetric, "engine_reported_(memory_occupied_without_kv|peak)_bytes", noEngineLog),
		with(metric.ComparisonMean, metric.LabelMetric, "engine_reported_kv(_capacity)?_bytes", noEngineLog),

		all(metric.RunZScore, tooFewRuns), all(metric.ComparisonDriftCorrelation, tooFewRuns), all(metric.ComparisonDriftSignificant, tooFewRuns),
		all(metric.ComparisonAfterSwitchStandsOut, tooFewRuns), all(metric.RunPowerWattsMedian, tooFewRuns),
		all(metric.RunTemperatureCelsiusMedian, tooFewRuns), all(metric.RunKVCapacityTokensMedian, tooFewRuns),
		{metric.RunTimeToFirstTokenSeconds.Def().Name, string(metric.LabelQuantile), "0.99", "fewer than 100 requests of a run do not support it", true},
		{metric.ComparisonNeededRuns.Def().Name, "", "", "nothing is undecided that more runs would decide", true},
		with(metric.RunLedgerBytes, metric.LabelMoment, metric.MomentStart, noCampaign),
		with(metric.ComparisonLedgerDifferenceBytes, metric.LabelMoment, metric.MomentStart, noCampaign),

		with(metric.RunLedgerBytes, metric.LabelLine, metric.LineZFSArc, noZFS), with(metric.MemoryLedgerBytes, metric.LabelLine, metric.LineZFSArc, noZFS),
		with(metric.HostInfo, metric.LabelArchitecture, "coherent_numa", otherMachine),
		with(metric.HostInfo, metric.LabelArchitecture, "discrete|coherent_driver", otherMachine),
		with(metric.HostInfo, metric.LabelArchitecture, "none|unknown", otherMachine),
		all(metric.GPUMemoryUsedBytes, noDeviceMem), all(metric.GPUMemoryTotalBytes, noDeviceMem),
		all(metric.PageCacheResidentBytes, "no file is named that is to be looked for"),

		all(metric.GPUTemperatureMarginCelsius, noLimits), all(metric.GPUPowerLimitWatts, noLimits), all(metric.GPUFanRatio, "NOT_SUPPORTED on a GB10"),
		all(metric.HwmonPowerLimitWatts, "the simulated sensors of the rails have no limit"),
		all(metric.ThermalTripCelsius, "the simulated thermal zones have no trip points"),
		all(metric.GPUXIDErrorsTotal, "the driver of a simulated machine has no events"),
		all(metric.GPUCallHung, "no call of the driver hangs, and none has"),

		all(metric.CuFileNVFSBytesTotal, noNvidiaFS), all(metric.CuFileNVFSErrorsTotal, noNvidiaFS),
		all(metric.CuFileLogMessagesTotal, "no process of a simulated machine uses cuFile"), all(metric.CuFileProcessInfo, "no process of a simulated machine uses cuFile"),
		all(metric.KVBMNIXLTransferSecondsTotal, noNIXL), all(metric.KVBMNIXLBytesTotal, noNIXL),
		all(metric.KVBMNIXLErrorsTotal, noNIXL), all(metric.KVBMNIXLDroppedEventsTotal, noNIXL),
		all(metric.KVBMTransferFailuresTotal, "the simulated KVBM counts no failed transfers"), all(metric.KVBMTransfersInFlight, "the simulated KVBM does not tell of transfers under way"),
		all(metric.KVBMConfiguredCacheBytes, "read from the environment of the engine's process, and a simulated one has none"),
		all(metric.NVMeOperationSeconds7d, "a median over a week, recorded every five minutes"),
		all(metric.NVMeSMARTUsedRatio, noSMART), all(metric.NVMeSMARTAvailableSpareRatio, noSMART), all(metric.NVMeSMARTAvailableSpareThresholdRatio, noSMART),
		all(metric.NVMeSMARTCriticalWarning, noSMART), all(metric.NVMeSMARTMediaErrorsTotal, noSMART),
		all(metric.NetworkReceiveBytesTotal, noNetwork), all(metric.NetworkTransmitBytesTotal, noNetwork),
		all(metric.InfiniBandPortDataReceivedBytesTotal, noNetwork), all(metric.InfiniBandPortDataTransmittedBytesTotal, noNetwork),
	}
}

// silence is a panel with a query without data although all its series exist, with the reason why that must be so, or
// may be so by chance.
type silence struct {
	panel, why string
	chance     bool
}

// quiet lists them. A stale entry fails the proof, as in the other list.
func quiet() []silence {
	const known = "every line of the ledger is known"
	return []silence{
		{"umascope-compare-runs / Latency", "differences of what has no ratio: as a rule every latency has one", true},
		{"umascope-inference / Runs now", "runs that are of no simulated engine: here every run is of one", false},
		{"umascope-run-detail / What the run was of", "says that the engine is none that is simulated: here it is", false},
		{"umascope-run-detail / Valid, or why not", "the run is valid, unless the machine is very busy", true},
		{"umascope-overview / Collectors that failed", "none fails", false},
		{"umascope-overview / Lines that are unknown", known, false},
		{"umascope-unified-memory / Lines that are unknown", known, false},
	}
}
