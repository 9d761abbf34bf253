package metric

const (
	runSource        = "summary.json of the run"
	comparisonSource = "a saved comparison"
)

var (
	ofRun        = []Label{LabelRun}
	ofComparison = []Label{LabelComparison, LabelMetric, LabelBaseline, LabelCandidate, LabelScenario, LabelModel}
)

// Finished runs and comparisons, as uma-load serve shows them. Nothing here moves: a value that changes is
// another run.
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

	RunTimeToFirstTokenSeconds = summary(Def{Name: "uma_run_time_to_first_token_seconds", Unit: Seconds, Labels: ofRun,
		Help: "From sending a request to its first text, reasoning or tool fragment, over the measured requests that ended ok; a quantile that so few do not support is absent.", Source: runSource})
	RunScheduledTimeToFirstTokenSeconds = summary(Def{Name: "uma_run_scheduled_time_to_first_token_seconds", Unit: Seconds, Labels: ofRun,
		Help: "The same from the intended start of the request.", Source: runSource})
	RunTimePerOutputTokenSeconds = summary(Def{Name: "uma_run_time_per_output_token_seconds", Unit: Seconds, Labels: ofRun,
		Help: "From first to last payload, per token after the first chunk, over the measured requests that ended ok.", Source: runSource})
	RunRequestDurationSeconds = summary(Def{Name: "uma_run_request_duration_seconds", Unit: Seconds, Labels: ofRun,
		Help: "From sending a request to its last payload, over the measured requests that ended ok.", Source: runSource})
	RunScheduledRequestDurationSeconds = summary(Def{Name: "uma_run_scheduled_request_duration_seconds", Unit: Seconds, Labels: ofRun,
		Help: "The same from the intended start of the request.", Source: runSource})

	RunOutputTokensPerSecond = gauge(Def{Name: "uma_run_output_tokens_per_second", Unit: TokensPerSecond, Sum: SumNever(), Labels: ofRun,
		Help: "Tokens that requests ended ok were answered with, over the time that the measured load took.", Source: runSource})
	RunMemoryExcludingKVBytes = gauge(Def{Name: "uma_run_memory_excluding_kv_bytes", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "Pool less free memory less the KV cache when the engine was ready, as it was measured; an engine's own word is another series.", Source: runSource})
	RunEngineReportedPeakBytes = gauge(Def{Name: "uma_run_engine_reported_peak_bytes", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "What the engine itself says that it held at most while it loaded, before its KV cache; nothing of it was measured.", Source: "log of the engine"})
	RunMemoryUsedPeakBytes = gauge(Def{Name: "uma_run_memory_used_peak_bytes", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "The largest pool less available memory while the run measured.", Source: runSource})
	RunKVCapacityBytes = gauge(Def{Name: "uma_run_kv_capacity_bytes", Unit: Bytes, Sum: SumNever(), Labels: ofRun,
		Help: "Room of the engine's KV cache on the GPU.", Source: runSource})
	RunKVCapacityTokens = gauge(Def{Name: "uma_run_kv_capacity_tokens", Unit: Count, Sum: SumNever(), Labels: ofRun,
		Help: "Tokens that the engine's KV cache on the GPU has room for.", Source: runSource})
	RunGPUTemperatureCelsius = gauge(Def{Name: "uma_run_gpu_temperature_celsius", Unit: Celsius, Sum: SumNever(), Labels: ofRun,
		Help: "The highest temperature of the hottest GPU while the run measured.", Source: runSource})
	RunGPUPowerWatts = gauge(Def{Name: "uma_run_gpu_power_watts", Unit: Watts, Sum: SumNever(), Labels: ofRun,
		Help: "Mean power of all GPUs together while the run measured.", Source: "summary.json of the run: energy over the time of the measured phases"})
	RunZScore = gauge(Def{Name: "uma_run_zscore", Unit: Deviations, Sum: SumNever(), Labels: []Label{LabelRun, LabelMetric},
		Help:   "How far a metric of the run is from the median of the valid runs before it in its cell (host, arm, scenario, engine, model and workload), in 1.4826 median absolute deviations of theirs, or 1 % of their median if that is more; absent with fewer than 5.",
		Source: runSource})

	ComparisonRatio = gauge(Def{Name: "uma_comparison_ratio", Unit: Quotient, Sum: SumNever(), Labels: ofComparison,
		Help: "A metric of the candidate over that of the baseline.", Source: comparisonSource})
	ComparisonRatioLower = gauge(Def{Name: "uma_comparison_ratio_lower", Unit: Quotient, Sum: SumNever(), Labels: ofComparison,
		Help: "Lower end of the 95 % confidence interval of the ratio; absent where the analysis is not of ratios.", Source: comparisonSource})
	ComparisonRatioUpper = gauge(Def{Name: "uma_comparison_ratio_upper", Unit: Quotient, Sum: SumNever(), Labels: ofComparison,
		Help: "Upper end of the 95 % confidence interval of the ratio; absent where the analysis is not of ratios.", Source: comparisonSource})
	ComparisonVerdict = gauge(Def{Name: "uma_comparison_verdict", Unit: State, Sum: SumNever(), Labels: append(ofComparison[:len(ofComparison):len(ofComparison)], LabelVerdict),
		Help: "1 for what can be said of the metric: equivalent, irrelevant, better, worse, different, inconclusive or difference_only.", Source: comparisonSource})
	ComparisonConfounded = gauge(Def{Name: "uma_comparison_confounded", Unit: State, Sum: SumNever(), Labels: ofComparison,
		Help: "Whether the runs followed each other in a way in which time explains the difference as well as the arms do.", Source: comparisonSource})
	ComparisonSimulated = gauge(Def{Name: "uma_comparison_simulated", Unit: State, Sum: SumNever(), Labels: []Label{LabelComparison},
		Help: "Whether a run of the comparison was of a simulated engine or machine; it then says nothing of any hardware.", Source: comparisonSource})
	ResultsRuns = gauge(Def{Name: "uma_results_runs", Unit: Count, Labels: []Label{LabelState},
		Help: "Folders of runs by what became of them: shown, left_out (older than those that are shown), unfinished (going on, or killed), unreadable.", Source: "uma-load serve"})
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
		RunMemoryExcludingKVBytes, RunEngineReportedPeakBytes, RunMemoryUsedPeakBytes, RunKVCapacityBytes, RunKVCapacityTokens,
		RunGPUTemperatureCelsius, RunGPUPowerWatts, RunZScore,
		ComparisonRatio, ComparisonRatioLower, ComparisonRatioUpper, ComparisonVerdict, ComparisonConfounded, ComparisonSimulated,
		ResultsRuns,
	}
}
