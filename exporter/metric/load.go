package metric

// Classic bounds in seconds. They contain those of vLLM's and TensorRT-LLM's own histograms,
// so that a quantile read from the client's and the server's buckets can be compared, and are
// finer where a small machine decodes: 1 to 100 ms per token.
var (
	firstTokenBuckets = []float64{.001, .002, .005, .01, .02, .03, .04, .06, .08, .1, .15, .2, .25, .3, .4, .5, .75, 1, 1.5, 2.5, 5, 7.5, 10, 15, 20, 40, 80, 160, 300, 640}
	tokenGapBuckets   = []float64{.001, .002, .003, .005, .0075, .01, .0125, .015, .02, .025, .03, .04, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	durationBuckets   = []float64{.05, .1, .2, .3, .5, .8, 1, 1.5, 2, 2.5, 5, 7.5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920}
	delayBuckets      = []float64{.00001, .00002, .00005, .0001, .0002, .0005, .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
)

const (
	loadSource = "uma-load, client clock"
	lagsBehind = " Observed when a request ends, so the live view lags by one request; only requests that ended ok."
)

var runPhase = []Label{LabelRun, LabelPhase}

// Values of LabelStatus on requests that the load generator sent: how they ended. Only those that ended ok
// enter any latency figure.
const (
	RequestOK        = "ok"
	RequestHTTP      = "http"      // answered with a status other than 2xx
	RequestInBand    = "in_band"   // an error inside a stream that began well
	RequestTruncated = "truncated" // the stream ended without an end marker
	RequestTimeout   = "timeout"
	RequestCancelled = "cancelled"
	RequestConnect   = "connect" // no connection, or lost before headers
)

// RequestStatuses lists them all.
func RequestStatuses() []string {
	return []string{RequestOK, RequestHTTP, RequestInBand, RequestTruncated, RequestTimeout, RequestCancelled, RequestConnect}
}

// Values of LabelDirection on tokens of the load generator.
const (
	DirectionInput  = "input"
	DirectionOutput = "output"
)

// The load generator, live.
var (
	LoadTimeToFirstTokenSeconds = histogram(Def{Name: "uma_load_time_to_first_token_seconds", Unit: Seconds, Labels: runPhase,
		Help: "From sending the request to its first text, reasoning or tool fragment." + lagsBehind, Source: loadSource}, firstTokenBuckets)
	LoadScheduledTimeToFirstTokenSeconds = histogram(Def{Name: "uma_load_scheduled_time_to_first_token_seconds", Unit: Seconds, Labels: runPhase,
		Help: "From the intended start of the request to its first text, reasoning or tool fragment: what a user who came at that moment waited." + lagsBehind, Source: loadSource}, firstTokenBuckets)
	LoadTimePerOutputTokenSeconds = histogram(Def{Name: "uma_load_time_per_output_token_seconds", Unit: Seconds, Labels: runPhase,
		Help: "From first to last payload, per token after the first chunk; one value a request." + lagsBehind, Source: loadSource}, tokenGapBuckets)
	LoadChunkGapSeconds = histogram(Def{Name: "uma_load_chunk_gap_seconds", Unit: Seconds, Labels: runPhase,
		Help: "Between consecutive payload chunks; a chunk may carry several tokens." + lagsBehind, Source: loadSource}, tokenGapBuckets)
	LoadRequestDurationSeconds = histogram(Def{Name: "uma_load_request_duration_seconds", Unit: Seconds, Labels: runPhase,
		Help: "From sending the request to its last payload." + lagsBehind, Source: loadSource}, durationBuckets)
	LoadScheduledRequestDurationSeconds = histogram(Def{Name: "uma_load_scheduled_request_duration_seconds", Unit: Seconds, Labels: runPhase,
		Help: "From the intended start of the request to its last payload." + lagsBehind, Source: loadSource}, durationBuckets)
	LoadQueueDelaySeconds = histogram(Def{Name: "uma_load_queue_delay_seconds", Unit: Seconds, Labels: runPhase,
		Help: "From the intended start until a slot was free: waiting for a busy server, a result." + lagsBehind, Source: loadSource}, delayBuckets)
	LoadClientLagSeconds = histogram(Def{Name: "uma_load_client_lag_seconds", Unit: Seconds, Labels: runPhase,
		Help: "From the moment a request could go out until it did: the client's own fault." + lagsBehind, Source: loadSource}, delayBuckets)
	LoadRequestsTotal = counter(Def{Name: "uma_load_requests_total", Unit: Count, Labels: []Label{LabelRun, LabelPhase, LabelStatus},
		Help: "Requests ended, by status.", Source: loadSource})
	LoadGoodRequestsTotal = counter(Def{Name: "uma_load_good_requests_total", Unit: Count, Labels: runPhase,
		Help: "Requests ended ok that met every objective of --slo; absent without objectives. Over all requests of uma_load_requests_total it is the goodput.", Source: loadSource})
	LoadTokensTotal = counter(Def{Name: "uma_load_tokens_total", Unit: Count, Labels: []Label{LabelRun, LabelPhase, LabelDirection}, Sum: SumKeeping(LabelDirection),
		Help: "Tokens of requests that ended ok, by direction (input, output), as the server counted them.", Source: "usage object of the response"})
	LoadStreamEventsTotal = counter(Def{Name: "uma_load_stream_events_total", Unit: Count, Labels: runPhase,
		Help: "Server-sent events that carried payload, counted as they arrive.", Source: loadSource})
	LoadRequestsInFlight = gauge(Def{Name: "uma_load_requests_in_flight", Unit: Count, Labels: runPhase,
		Help: "Requests sent and not ended.", Source: loadSource})
	LoadBuildInfo = gauge(Def{Name: "uma_load_build_info", Unit: Info, Sum: SumNever(), Labels: []Label{LabelVersion, LabelRevision, LabelGoVersion},
		Help: "Version of this load generator.", Source: "uma-load"})
	RunActive = gauge(Def{Name: "uma_run_active", Unit: State, Sum: SumNever(), Labels: []Label{LabelHost, LabelRun, LabelArm, LabelScenario},
		Help: "1 while the run lasts, absent otherwise; joins host series to runs by host.", Source: "uma-load"})
	RunPhase = gauge(Def{Name: "uma_run_phase", Unit: State, Sum: SumNever(), Labels: []Label{LabelHost, LabelRun, LabelPhase},
		Help: "Phase of the run, as a state set.", Source: "uma-load"})
	RunSimulated = gauge(Def{Name: "uma_run_simulated", Unit: State, Sum: SumNever(), Labels: []Label{LabelHost, LabelRun},
		Help: "Whether the engine that the run drives is simulated, by its own list of models; its figures are then not those of hardware.", Source: "owner of the model, /v1/models"})
)

func loadDefs() []Definer {
	return []Definer{
		LoadTimeToFirstTokenSeconds, LoadScheduledTimeToFirstTokenSeconds, LoadTimePerOutputTokenSeconds,
		LoadChunkGapSeconds, LoadRequestDurationSeconds, LoadScheduledRequestDurationSeconds,
		LoadQueueDelaySeconds, LoadClientLagSeconds, LoadRequestsTotal, LoadGoodRequestsTotal, LoadTokensTotal,
		LoadStreamEventsTotal, LoadRequestsInFlight, LoadBuildInfo, RunActive, RunPhase, RunSimulated,
	}
}
