package metric

const runSource = "summary.json of the run"

var ofRun = []Label{LabelRun}

// Finished runs, as uma-load serve shows them. The values are constant: a value that changes belongs to another run.
var (
	RunInfo = gauge(Def{Name: "uma_run_info", Unit: Info, Sum: SumNever(), Labels: []Label{LabelHost, LabelRun, LabelArm, LabelScenario, LabelEngine, LabelModel},
		Help: "A finished run, and what it was of; the other series of finished runs are joined to it by run.", Source: runSource})
	RunLabel = gauge(Def{Name: "uma_run_label", Unit: State, Sum: SumNever(), Labels: []Label{LabelRun, LabelName, LabelValue},
		Help: "1 for each label that the run was given.", Source: runSource})
	RunValid = gauge(Def{Name: "uma_run_valid", Unit: State, Sum: SumNever(), Labels: ofRun,
		Help: "Whether the figures of the run may be used.", Source: runSource})
	RunTelemetryMode = gauge(Def{Name: "uma_run_telemetry_mode", Unit: State, Sum: SumNever(), Labels: []Label{LabelRun, LabelMode},
		Help: "1 for what the telemetry of the run was of: a machine that is live, replayed, constructed or simulated; absent of a run without telemetry.", Source: runSource})
	RunStartTimestampSeconds = gauge(Def{Name: "uma_run_start_timestamp_seconds", Unit: Timestamp, Sum: SumNever(), Labels: ofRun,
		Help: "When the run started, by the wall clock of its client.", Source: "manifest.json of the run"})
	RunEndTimestampSeconds = gauge(Def{Name: "uma_run_end_timestamp_seconds", Unit: Timestamp, Sum: SumNever(), Labels: ofRun,
		Help: "When the run ended, by the wall clock of its client.", Source: "manifest.json of the run"})

	RunTimeToFirstTokenSeconds = summary(Def{Name: "uma_run_time_to_first_token_seconds", Title: "first token, sent", Unit: Seconds, Labels: ofRun,
		Help: "From sending a request to its first text, reasoning or tool fragment, over the measured requests that ended ok; a quantile that so few do not support is absent.", Source: runSource})
	RunScheduledTimeToFirstTokenSeconds = summary(Def{Name: "uma_run_scheduled_time_to_first_token_seconds", Title: "first token, intended", Unit: Seconds, Labels: ofRun,
		Help: "The same from the intended start of the request.", Source: runSource})
	RunTimePerOutputTokenSeconds = summary(Def{Name: "uma_run_time_per_output_token_seconds", Title: "per token", Unit: Seconds, Labels: ofRun,
		Help: "From first to last payload, per token after the first chunk, over the measured requests that ended ok.", Source: runSource})
	RunRequestDurationSeconds = summary(Def{Name: "uma_run_request_duration_seconds", Title: "whole, sent", Unit: Seconds, Labels: ofRun,
		Help: "From sending a request to its last payload, over the measured requests that ended ok.", Source: runSource})
	RunScheduledRequestDurationSeconds = summary(Def{Name: "uma_run_scheduled_request_duration_seconds", Title: "whole, intended", Unit: Seconds, Labels: ofRun,
		Help: "The same from the intended start of the request.", Source: runSource})

	RunOutputTokensPerSecond = gauge(Def{Name: "uma_run_output_tokens_per_second", Title: "output", Unit: TokensPerSecond, Sum: SumNever(), Labels: ofRun,
		Help: "Tokens that requests ended ok were answered with, over the time that the measured load took.", Source: runSource})
	RunMemoryOccupiedWithoutKVBytes = gauge(Def{Name: "uma_run_memory_occupied_without_kv_bytes", Title: "occupied without KV cache", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "Memory occupied without KV cache: pool minus free memory minus KV cache when the engine was ready, measured; what an engine reports is another series.", Source: runSource})
	RunEngineReportedPeakBytes = gauge(Def{Name: "uma_run_engine_reported_peak_bytes", Title: "engine's own word", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "What the engine itself says that it held at most while it loaded, before its KV cache; nothing of it was measured.", Source: "log of the engine"})
	RunEngineReportedKVCapacityBytes = gauge(Def{Name: "uma_run_engine_reported_kv_capacity_bytes", Unit: Bytes, Sum: SumNever(), Labels: []Label{LabelRun, LabelSource},
		Help: "Room of the KV cache as the engine reports it in its log, or another tool in its results; nothing of it was measured.", Source: "log of the engine; imported results"})
	RunEngineReportedKVCapacityTokens = gauge(Def{Name: "uma_run_engine_reported_kv_capacity_tokens", Unit: Count, Sum: SumNever(), Labels: []Label{LabelRun, LabelSource},
		Help: "Tokens that the KV cache has room for, as the engine reports them in its log, or another tool in its results.", Source: "log of the engine; imported results"})
	RunToolReportedOutputTokensPerSecond = gauge(Def{Name: "uma_run_tool_reported_output_tokens_per_second", Unit: TokensPerSecond, Sum: SumNever(), Labels: []Label{LabelRun, LabelSource},
		Help: "Output tokens per second of a recorded command or an imported run, as its tool reports and defines them; nothing of it was measured.", Source: "output of the tool"})
	RunToolReportedRequestsPerSecond = gauge(Def{Name: "uma_run_tool_reported_requests_per_second", Unit: RequestsPerSecond, Sum: SumNever(), Labels: []Label{LabelRun, LabelSource},
		Help: "Requests per second of a recorded command or an imported run, as its tool reports and defines them; nothing of it was measured.", Source: "output of the tool"})
	RunImported = gauge(Def{Name: "uma_run_imported", Unit: State, Sum: SumNever(), Labels: []Label{LabelRun, LabelFormat},
		Help: "1 for a run that was imported, by the format of its file: another tool measured it.", Source: "manifest.json of the run"})
	RunMemoryUnavailablePeakBytes = gauge(Def{Name: "uma_run_memory_unavailable_peak_bytes", Title: "unavailable, peak", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "The largest pool minus available memory while the run measured. Page cache that can be reclaimed does not count.", Source: runSource})
	RunMemoryAvailableMinBytes = gauge(Def{Name: "uma_run_memory_available_min_bytes", Title: "available, least", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "The least available memory while the run measured; with uma_run_memory_unavailable_peak_bytes it makes the pool.", Source: runSource})
	RunMemoryOccupiedPeakBytes = gauge(Def{Name: "uma_run_memory_occupied_peak_bytes", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "The largest pool minus free memory while the run measured. Page cache counts.", Source: runSource})
	RunMemoryPoolBytes = gauge(Def{Name: "uma_run_memory_pool_bytes", Title: "pool", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "The pool of the run's host: the lines of its memory add up to it.", Source: runSource})
	RunKVCapacityBytes = gauge(Def{Name: "uma_run_kv_capacity_bytes", Title: "KV cache", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "Room of the engine's KV cache on the GPU, by the page of the engine when it was ready; absent of imported runs, which have uma_run_engine_reported_kv_capacity_bytes.", Source: runSource})
	RunKVCapacityTokens = gauge(Def{Name: "uma_run_kv_capacity_tokens", Title: "KV cache, tokens", Unit: Count, Sum: SumNever(), Labels: ofRun,
		Help: "Tokens that the engine's KV cache on the GPU has room for, by the page of the engine when it was ready; absent of imported runs.", Source: runSource})
	RunGPUTemperatureCelsius = gauge(Def{Name: "uma_run_gpu_temperature_celsius", Title: "hottest", Unit: Celsius, Sum: SumNever(), Labels: ofRun,
		Help: "The highest temperature of the hottest GPU while the run measured.", Source: runSource})
	RunGPUPowerWatts = gauge(Def{Name: "uma_run_gpu_power_watts", Title: "power", Unit: Watts, Sum: SumNever(), Labels: ofRun,
		Help: "Mean power of all GPUs of the run's host together while the run measured.", Source: "summary.json of the run: energy over the time of the measured phases"})
	RunZScore = gauge(Def{Name: "uma_run_zscore", Unit: Deviations, Sum: SumNever(), Labels: []Label{LabelRun, LabelMetric},
		Help:   "How far a metric of the run is from the median of the valid runs before it in its cell (host, arm, scenario, engine, model and workload), in 1.4826 median absolute deviations of theirs, or 1 % of their median if that is more; absent with fewer than 5.",
		Source: runSource})

	RunStartGPUTemperatureCelsius = gauge(Def{Name: "uma_run_start_gpu_temperature_celsius", Title: "at start", Unit: Celsius, Sum: SumNever(), Labels: ofRun,
		Help: "Temperature of the hottest GPU when the run began to measure: a machine that is warm already throttles sooner.", Source: runSource})
	RunThrottleSeconds = gauge(Def{Name: "uma_run_throttle_seconds", Unit: Seconds, Sum: SumKeeping(LabelReason), Labels: []Label{LabelRun, LabelReason},
		Help: "Time that the clock of a GPU was held down for this reason while the run measured, of the GPU that has most of it. 0 is counted.", Source: runSource})
	RunEnergyJoules = gauge(Def{Name: "uma_run_energy_joules", Title: "energy", Unit: Joules, Labels: ofRun,
		Help: "Energy that all GPUs used while the run measured, those of further machines of the engine too.", Source: runSource})
	RunRequests = gauge(Def{Name: "uma_run_requests", Unit: Count, Labels: []Label{LabelRun, LabelStatus},
		Help: "Measured requests of the run, by how they ended; absent of a load that was not ours.", Source: runSource})
	RunAchievedRequestsPerSecond = gauge(Def{Name: "uma_run_achieved_requests_per_second", Title: "requests", Unit: RequestsPerSecond, Sum: SumNever(), Labels: ofRun,
		Help: "Requests ended ok, over the time that the measured load took.", Source: runSource})
	RunGoodputRatio = gauge(Def{Name: "uma_run_goodput_ratio", Title: "goodput", Unit: Ratio, Sum: SumNever(), Labels: ofRun,
		Help: "Share of the measured requests, failed ones included, that met every objective of --slo; absent without objectives.", Source: runSource})
	RunFreeAtKVSizingBytes = gauge(Def{Name: "uma_run_free_at_kv_sizing_bytes", Title: "free at KV sizing", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "Free memory when the engine sized its KV cache, from which the cache follows; absent unless the telemetry shows the cache being taken.", Source: runSource})
	RunLedgerBytes = gauge(Def{Name: "uma_run_ledger_bytes", Unit: Bytes, Sum: SumKeeping(LabelRun, LabelMoment), Labels: []Label{LabelRun, LabelMoment, LabelLine},
		Help: "The ledger of the pool at moments of the run: start (before the engine; absent if the run began later), ready (the engine answers and nothing was asked of it) and peak (least memory available while it measured).", Source: runSource})
	RunInvalidReason = gauge(Def{Name: "uma_run_invalid_reason", Unit: State, Sum: SumNever(), Labels: []Label{LabelRun, LabelCode},
		Help: "1 for each rule that makes the run invalid.", Source: runSource})
	RunWarnings = gauge(Def{Name: "uma_run_warnings", Unit: Count, Labels: ofRun,
		Help: "Warnings in the report of the run.", Source: runSource})
	RunSignalGrade = gauge(Def{Name: "uma_run_signal_grade", Unit: State, Sum: SumNever(), Labels: []Label{LabelRun, LabelSignal, LabelGrade, LabelReason},
		Help: "1 for how well each signal of the KV cache is shown: proven, consistent, contradicted or not_observable, and why.", Source: runSource})
	ResultsRuns = gauge(Def{Name: "uma_results_runs", Unit: Count, Labels: []Label{LabelState},
		Help: "Folders of runs by what became of them: shown, left_out (older than those that are shown), unfinished (going on, or killed), unreadable.", Source: "uma-load serve"})
)

// RunLatencies, RunThroughputs, RunHeat and RunMemory list the figures of a run that its dashboard has in one table each,
// in the order of its columns.
func RunLatencies() []Summary {
	return []Summary{
		RunTimeToFirstTokenSeconds, RunScheduledTimeToFirstTokenSeconds, RunTimePerOutputTokenSeconds, RunRequestDurationSeconds, RunScheduledRequestDurationSeconds,
	}
}

// RunThroughputs lists throughput, and the room for it.
func RunThroughputs() []Gauge {
	return []Gauge{RunOutputTokensPerSecond, RunAchievedRequestsPerSecond, RunGoodputRatio, RunKVCapacityTokens}
}

// RunHeat lists heat and energy.
func RunHeat() []Gauge {
	return []Gauge{RunStartGPUTemperatureCelsius, RunGPUTemperatureCelsius, RunGPUPowerWatts, RunEnergyJoules}
}

// RunMemory lists the memory of the host.
func RunMemory() []Gauge {
	return []Gauge{
		RunMemoryOccupiedWithoutKVBytes, RunKVCapacityBytes, RunMemoryUnavailablePeakBytes, RunMemoryAvailableMinBytes, RunMemoryPoolBytes,
		RunFreeAtKVSizingBytes, RunEngineReportedPeakBytes,
	}
}

// Values of LabelMetric are the names of the figures of a run. LatencyFigures and ThroughputFigures match those of
// requests that uma-load measured: names of figures that an engine or a tool reported begin otherwise, and a whole name is
// matched.
const (
	LatencyFigures    = `(time_to_first_token|time_to_first_output|time_per_output_token|inter_token_latency|request_duration|queue_delay)_.*`
	ThroughputFigures = `(steady_|goodput_)?(output_tokens|input_tokens|requests)_per_second`
	OccupiedWithoutKV = "memory_occupied_without_kv_bytes"
)

// Values of LabelMoment.
const (
	MomentStart = "start"
	MomentReady = "ready"
	MomentPeak  = "peak"
)

// Values of LabelState on folders of runs.
const (
	ResultsShown      = "shown"
	ResultsLeftOut    = "left_out"
	ResultsUnfinished = "unfinished"
	ResultsUnreadable = "unreadable"
)

func resultsDefs() []Definer {
	return []Definer{
		RunInfo, RunLabel, RunValid, RunTelemetryMode, RunStartTimestampSeconds, RunEndTimestampSeconds,
		RunTimeToFirstTokenSeconds, RunScheduledTimeToFirstTokenSeconds, RunTimePerOutputTokenSeconds,
		RunRequestDurationSeconds, RunScheduledRequestDurationSeconds, RunOutputTokensPerSecond,
		RunMemoryOccupiedWithoutKVBytes, RunEngineReportedPeakBytes, RunEngineReportedKVCapacityBytes, RunEngineReportedKVCapacityTokens,
		RunToolReportedOutputTokensPerSecond, RunToolReportedRequestsPerSecond, RunImported, RunMemoryUnavailablePeakBytes, RunMemoryAvailableMinBytes,
		RunMemoryOccupiedPeakBytes, RunMemoryPoolBytes, RunKVCapacityBytes, RunKVCapacityTokens,
		RunGPUTemperatureCelsius, RunGPUPowerWatts, RunZScore,
		RunStartGPUTemperatureCelsius, RunThrottleSeconds, RunEnergyJoules, RunRequests, RunAchievedRequestsPerSecond, RunGoodputRatio,
		RunFreeAtKVSizingBytes, RunLedgerBytes, RunInvalidReason, RunWarnings, RunSignalGrade,
		ResultsRuns,
	}
}
