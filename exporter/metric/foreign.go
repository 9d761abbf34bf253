package metric

const vllm = "vLLM 0.11 and later, /metrics"

// Series of other programs that umascope reads, or that its simulated engine serves under the same name.
var (
	Up = gauge(Def{Name: "up", Unit: State, Labels: []Label{LabelJob}, Sum: SumNever(),
		Help: "Whether the last scrape of the target worked.", Source: "Prometheus"})
	Alerts = gauge(Def{Name: "ALERTS", Unit: State, Labels: []Label{LabelAlertName, LabelAlertState, LabelSeverity, LabelMode}, Sum: SumNever(),
		Help: "1 for every alert that is pending or firing, with the labels of the alert.", Source: "Prometheus, rules"})
	AlertsForState = gauge(Def{Name: "ALERTS_FOR_STATE", Unit: Timestamp, Labels: []Label{LabelAlertName, LabelSeverity, LabelMode}, Sum: SumNever(),
		Help: "Since when the condition of an alert holds, of every alert that is pending or firing.", Source: "Prometheus, rules"})
	VLLMNumRequestsRunning = gauge(Def{Name: "vllm:num_requests_running", Unit: Count, Labels: []Label{LabelModelName},
		Help: "Requests in the running batch.", Source: vllm})
	VLLMNumRequestsWaiting = gauge(Def{Name: "vllm:num_requests_waiting", Unit: Count, Labels: []Label{LabelModelName},
		Help: "Requests waiting for a place in the batch.", Source: vllm})
	VLLMKVCacheUsagePerc = gauge(Def{Name: "vllm:kv_cache_usage_perc", Unit: Ratio, Labels: []Label{LabelModelName}, Sum: SumNever(),
		Help: "Share of KV cache blocks in use.", Source: vllm})
	VLLMPromptTokensTotal = counter(Def{Name: "vllm:prompt_tokens_total", Unit: Count, Labels: []Label{LabelModelName},
		Help: "Prompt tokens processed.", Source: vllm})
	VLLMGenerationTokensTotal = counter(Def{Name: "vllm:generation_tokens_total", Unit: Count, Labels: []Label{LabelModelName},
		Help: "Tokens generated.", Source: vllm})
	VLLMRequestSuccessTotal = counter(Def{Name: "vllm:request_success_total", Unit: Count, Labels: []Label{LabelModelName, LabelFinishedReason},
		Help: "Requests finished.", Source: vllm})
	VLLMTimeToFirstTokenSeconds = histogram(Def{Name: "vllm:time_to_first_token_seconds", Unit: Seconds, Labels: []Label{LabelModelName},
		Help: "From the arrival of a request to its first token.", Source: vllm}, vllmFirstTokenBuckets)
	VLLMRequestQueueTimeSeconds = histogram(Def{Name: "vllm:request_queue_time_seconds", Unit: Seconds, Labels: []Label{LabelModelName},
		Help: "From the arrival of a request until it entered the batch.", Source: vllm}, vllmDurationBuckets)
	VLLMRequestTimePerOutputTokenSeconds = histogram(Def{Name: "vllm:request_time_per_output_token_seconds", Unit: Seconds, Labels: []Label{LabelModelName},
		Help: "Decode time per token of a request.", Source: vllm}, vllmTokenBuckets)
	VLLME2ERequestLatencySeconds = histogram(Def{Name: "vllm:e2e_request_latency_seconds", Unit: Seconds, Labels: []Label{LabelModelName},
		Help: "From the arrival of a request to its end.", Source: vllm}, vllmDurationBuckets)
)

// Values of LabelSeverity. None is for Alertmanager only: such an alert mutes others while it fires.
const (
	SeverityCritical = "critical"
	SeverityWarning  = "warning"
	SeverityInfo     = "info"
	SeverityNone     = "none"
)

// Labels of the series of other programs.
const (
	LabelAlertName      Label = "alertname"
	LabelAlertState     Label = "alertstate"
	LabelSeverity       Label = "severity"
	LabelModelName      Label = "model_name"
	LabelFinishedReason Label = "finished_reason"
)

// vLLM's own bounds.
var (
	vllmFirstTokenBuckets = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	vllmTokenBuckets      = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	vllmDurationBuckets   = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

// Foreign lists the series of other programs.
func Foreign() []Definer {
	return []Definer{
		Up, Alerts, AlertsForState, VLLMNumRequestsRunning, VLLMNumRequestsWaiting, VLLMKVCacheUsagePerc, VLLMPromptTokensTotal,
		VLLMGenerationTokensTotal, VLLMRequestSuccessTotal, VLLMTimeToFirstTokenSeconds,
		VLLMRequestQueueTimeSeconds, VLLMRequestTimePerOutputTokenSeconds, VLLME2ERequestLatencySeconds,
	}
}
