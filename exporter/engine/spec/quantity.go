package spec

// Quantity names a quantity that a log reports; it ends in its unit.
type Quantity string

// The quantities. An engine of several ranks reports its first.
const (
	PeakBytes       Quantity = "engine_peak_bytes"
	TorchBytes      Quantity = "engine_torch_bytes"
	NonTorchBytes   Quantity = "engine_non_torch_bytes"
	WeightsBytes    Quantity = "engine_weights_bytes"
	ActivationBytes Quantity = "engine_activation_bytes"
	GraphBytes      Quantity = "engine_graph_bytes"

	ComputeBytes     Quantity = "engine_compute_bytes"
	HostComputeBytes Quantity = "engine_host_compute_bytes"

	DeviceBytes Quantity = "device_total_bytes"
	FreeBytes   Quantity = "free_at_kv_sizing_bytes"

	KVBytes       Quantity = "kv_bytes"
	KVTokens      Quantity = "kv_tokens"
	KVBlocks      Quantity = "kv_blocks"
	KVHostBlocks  Quantity = "kv_host_blocks"
	KVBlockTokens Quantity = "kv_block_tokens"
	TensorRanks   Quantity = "tensor_parallel_ranks"
	PipelineRanks Quantity = "pipeline_parallel_ranks"

	DurationSeconds       Quantity = "duration_seconds"
	Requests              Quantity = "requests"
	FailedRequests        Quantity = "failed_requests"
	Concurrency           Quantity = "concurrent_requests"
	InputTokens           Quantity = "input_tokens"
	OutputTokens          Quantity = "output_tokens"
	InputTokensEach       Quantity = "input_tokens_per_request"
	OutputTokensEach      Quantity = "output_tokens_per_request"
	RequestsPerSecond     Quantity = "requests_per_second"
	InputTokensPerSecond  Quantity = "input_tokens_per_second"
	OutputTokensPerSecond Quantity = "output_tokens_per_second"
	TotalTokensPerSecond  Quantity = "total_tokens_per_second"
	UserTokensPerSecond   Quantity = "output_tokens_per_second_per_user"
	GPUTokensPerSecond    Quantity = "output_tokens_per_second_per_gpu"

	PrefillTokensPerSecond     Quantity = "prefill_tokens_per_second"
	PrefillTokensPerSecondEach Quantity = "prefill_tokens_per_second_per_request"
	DecodeTokensPerSecond      Quantity = "decode_tokens_per_second"
	PeakTokensPerSecond        Quantity = "peak_output_tokens_per_second"
	PeakTokensPerSecondEach    Quantity = "peak_output_tokens_per_second_per_request"

	FirstEventSeconds Quantity = "first_event_seconds"
	PrefillSeconds    Quantity = "prefill_seconds"
	NetworkSeconds    Quantity = "network_latency_seconds"

	TTFTSeconds Quantity = "ttft_seconds"
	TPOTSeconds Quantity = "tpot_seconds"
	ITLSeconds  Quantity = "itl_seconds"
	E2ESeconds  Quantity = "e2e_seconds"
)

// Unit is how a value is formatted for people.
type Unit string

// The units.
const (
	UnitBytes     Unit = "bytes"
	UnitSeconds   Unit = "seconds"
	UnitCount     Unit = "count"
	UnitPerSecond Unit = "per_second"
)

// Reported is a figure as its tool reports it, in base units.
type Reported struct {
	Name Quantity `json:"name" pack:"word"`
	Unit Unit     `json:"unit" pack:"word"`
	// Meaning is the tool's own definition of the figure.
	Meaning string `json:"meaning" pack:"word"`
	// Statistic is mean, min, max, sd, population_sd (divided by n) or a percentile such as p99; empty if there is only
	// one value.
	Statistic string  `json:"statistic,omitempty" pack:"word"`
	Value     float64 `json:"value"`
	// Values are the single values that a mean is of, in the order of the tool; absent if it reports none.
	Values []float64 `json:"values,omitempty"`
	// Of is the part of the benchmark that the figure belongs to; empty if there is only one.
	Of string `json:"of,omitempty" pack:"word"`
	// From is the stream and line, or the file, with the figure, and Text its text there: the label, the number and the
	// unit. The rest of the line is in the log.
	From string `json:"from" pack:"word"`
	Text string `json:"text,omitempty" pack:"text"`
}
