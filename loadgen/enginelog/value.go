package enginelog

// Name names a quantity; it ends in its unit.
type Name string

// The quantities. Those of an engine are those of its first rank.
const (
	PeakBytes       Name = "engine_peak_bytes"
	TorchBytes      Name = "engine_torch_bytes"
	NonTorchBytes   Name = "engine_non_torch_bytes"
	WeightsBytes    Name = "engine_weights_bytes"
	ActivationBytes Name = "engine_activation_bytes"
	GraphBytes      Name = "engine_graph_bytes"

	ComputeBytes     Name = "engine_compute_bytes"
	HostComputeBytes Name = "engine_host_compute_bytes"

	DeviceBytes Name = "device_total_bytes"
	FreeBytes   Name = "free_at_kv_sizing_bytes"

	KVBytes       Name = "kv_bytes"
	KVTokens      Name = "kv_tokens"
	KVBlocks      Name = "kv_blocks"
	KVHostBlocks  Name = "kv_host_blocks"
	KVBlockTokens Name = "kv_block_tokens"
	TensorRanks   Name = "tensor_parallel_ranks"
	PipelineRanks Name = "pipeline_parallel_ranks"

	DurationSeconds       Name = "duration_seconds"
	Requests              Name = "requests"
	FailedRequests        Name = "failed_requests"
	Concurrency           Name = "concurrent_requests"
	InputTokens           Name = "input_tokens"
	OutputTokens          Name = "output_tokens"
	InputTokensEach       Name = "input_tokens_per_request"
	OutputTokensEach      Name = "output_tokens_per_request"
	RequestsPerSecond     Name = "requests_per_second"
	InputTokensPerSecond  Name = "input_tokens_per_second"
	OutputTokensPerSecond Name = "output_tokens_per_second"
	TotalTokensPerSecond  Name = "total_tokens_per_second"
	UserTokensPerSecond   Name = "output_tokens_per_second_per_user"
	GPUTokensPerSecond    Name = "output_tokens_per_second_per_gpu"

	PrefillTokensPerSecond     Name = "prefill_tokens_per_second"
	PrefillTokensPerSecondEach Name = "prefill_tokens_per_second_per_request"
	DecodeTokensPerSecond      Name = "decode_tokens_per_second"
	PeakTokensPerSecond        Name = "peak_output_tokens_per_second"
	PeakTokensPerSecondEach    Name = "peak_output_tokens_per_second_per_request"

	FirstEventSeconds Name = "first_event_seconds"
	PrefillSeconds    Name = "prefill_seconds"
	NetworkSeconds    Name = "network_latency_seconds"

	TTFTSeconds Name = "ttft_seconds"
	TPOTSeconds Name = "tpot_seconds"
	ITLSeconds  Name = "itl_seconds"
	E2ESeconds  Name = "e2e_seconds"
)

// Unit is how a value is formatted for people.
type Unit string

// The units.
const (
	Bytes     Unit = "bytes"
	Seconds   Unit = "seconds"
	Count     Unit = "count"
	PerSecond Unit = "per_second"
)

// Quantity describes a name.
type Quantity struct {
	Name    Name
	Unit    Unit
	Meaning string
}

// Quantities returns all quantities, in the order of reports.
func Quantities() []Quantity {
	return []Quantity{
		{RequestsPerSecond, PerSecond, "requests per second"},
		{OutputTokensPerSecond, PerSecond, "output tokens per second"},
		{InputTokensPerSecond, PerSecond, "input tokens per second"},
		{TotalTokensPerSecond, PerSecond, "input and output tokens per second"},
		{UserTokensPerSecond, PerSecond, "output tokens per second of a request"},
		{GPUTokensPerSecond, PerSecond, "output tokens per second of a GPU"},
		{PrefillTokensPerSecond, PerSecond, "prompt tokens per second until the first token"},
		{PrefillTokensPerSecondEach, PerSecond, "prompt tokens per second until the first token, of a request"},
		{DecodeTokensPerSecond, PerSecond, "output tokens per second after the first token"},
		{PeakTokensPerSecond, PerSecond, "output tokens in the best second"},
		{PeakTokensPerSecondEach, PerSecond, "output tokens in the best second, of a request"},
		{DurationSeconds, Seconds, "duration of the benchmark"},
		{Requests, Count, "requests that were answered"},
		{FailedRequests, Count, "requests that failed"},
		{Concurrency, Count, "requests at once, mean"},
		{InputTokens, Count, "input tokens"},
		{OutputTokens, Count, "output tokens"},
		{InputTokensEach, Count, "input tokens of a request"},
		{OutputTokensEach, Count, "output tokens of a request"},
		{FirstEventSeconds, Seconds, "time to first event"},
		{PrefillSeconds, Seconds, "time to first event without the network"},
		{NetworkSeconds, Seconds, "latency of the network"},
		{TTFTSeconds, Seconds, "time to first token"},
		{TPOTSeconds, Seconds, "time per output token"},
		{ITLSeconds, Seconds, "inter-token latency"},
		{E2ESeconds, Seconds, "latency of a request"},
		{PeakBytes, Bytes, "peak of memory before the KV cache"},
		{TorchBytes, Bytes, "memory inside torch with the weights loaded"},
		{NonTorchBytes, Bytes, "memory outside torch"},
		{WeightsBytes, Bytes, "weights"},
		{ActivationBytes, Bytes, "peak of activations"},
		{GraphBytes, Bytes, "CUDA graphs"},
		{ComputeBytes, Bytes, "compute buffers on the devices"},
		{HostComputeBytes, Bytes, "compute buffers in host memory"},
		{DeviceBytes, Bytes, "memory of the device"},
		{FreeBytes, Bytes, "free memory when the KV cache was sized"},
		{KVBytes, Bytes, "KV cache"},
		{KVTokens, Count, "tokens that the KV cache holds"},
		{KVBlocks, Count, "blocks of the KV cache on the device"},
		{KVHostBlocks, Count, "blocks of the KV cache in host memory"},
		{KVBlockTokens, Count, "tokens of a block"},
		{TensorRanks, Count, "tensor parallel ranks"},
		{PipelineRanks, Count, "pipeline parallel ranks"},
	}
}

// Value is a figure as its tool reports it, in base units.
type Value struct {
	Name Name `json:"name"`
	Unit Unit `json:"unit"`
	// Meaning is the tool's own definition of the figure.
	Meaning string `json:"meaning"`
	// Statistic is mean, min, max, sd, population_sd (divided by n) or a percentile such as p99; empty if there is only
	// one value.
	Statistic string  `json:"statistic,omitempty"`
	Value     float64 `json:"value"`
	// Values are the single values that a mean is of, in the order of the tool; absent if it reports none.
	Values []float64 `json:"values,omitempty"`
	// Of is the part of the benchmark that the figure belongs to; empty if there is only one.
	Of string `json:"of,omitempty"`
	// From is the stream and line, or the file, with the figure, and Text its text there: the label, the number and the
	// unit. The rest of the line is in the log.
	From string `json:"from"`
	Text string `json:"text,omitempty"`
}

// NewValue makes a value of a listed quantity.
func NewValue(name Name, statistic string, value float64) Value {
	v := Value{Name: name, Statistic: statistic, Value: value}
	for _, q := range Quantities() {
		if q.Name == name {
			v.Unit, v.Meaning = q.Unit, q.Meaning
		}
	}
	return v
}
